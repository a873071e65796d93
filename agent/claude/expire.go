package claude

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"mend/agent"
	"mend/internal/jsonedit"
	"mend/internal/ownfile"
)

// defaultDays is the default age in days at which the program deletes a transcript.
const defaultDays = 30

// Expiring implements [agent.Reader]. The program uses the mtime of a transcript, in all projects.
func (s *store) Expiring(ctx context.Context, until time.Time) (x agent.Expiry, err error) {
	if x.Days = s.cleanupDays(); x.Days == 0 {
		return x, nil
	}
	age := time.Duration(x.Days) * 24 * time.Hour
	err = s.eachFile(ctx, func(f file) error {
		if _, _, ok := subagent(f.id); ok || f.Why != "" {
			return nil
		}
		if at := time.Unix(0, f.Mtime).Add(age); at.Before(until) {
			if x.Sessions++; x.Sessions == 1 || at.Before(x.First) {
				x.First = at
			}
		}
		return nil
	})
	return x, err
}

// managedSettings has the machine's settings, which take precedence over the user's.
const managedSettings = "/etc/claude-code/managed-settings.json"

// largestSettings is the greatest size in bytes of a settings file that the program reads.
const largestSettings = 2 << 20

// cleanupDays returns the days without use after which the program deletes a transcript; 0 if it deletes none because
// it cannot read its settings.
func (s *store) cleanupDays() int {
	days := defaultDays
	for _, path := range []string{filepath.Join(s.ID().Root, "settings.json"), managedSettings} {
		data, err := ownfile.ReadPlain(path, largestSettings)
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || len(data) > 0 && !jsonedit.IsObject(data) {
			return 0
		}
		raw, ok := jsonedit.Get(data, "cleanupPeriodDays")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(string(raw))
		if err != nil || n < 1 {
			return 0
		}
		days = n
	}
	return days
}
