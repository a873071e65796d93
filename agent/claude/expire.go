package claude

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mend/agent"
	"mend/internal/jsonedit"
	"mend/internal/ownfile"
)

// defaultDays is the default age in days at which Claude Code deletes a transcript.
const defaultDays = 30

// Expiring implements [agent.Reader]. Claude Code uses the mtime of a transcript, in all projects. It reads the
// settings of the project that it is started in, so the shortest time of all projects counts.
func (s *store) Expiring(ctx context.Context, until time.Time) (x agent.Expiry, err error) {
	var used []time.Time
	projects := map[string]string{} // the folder of each project, by its name in the store
	err = s.eachFile(ctx, func(f file) error {
		if _, _, ok := subagent(f.id); ok || f.Why != "" {
			return nil
		}
		used = append(used, time.Unix(0, f.Mtime))
		if projects[f.folder] == "" {
			if h, err := readHead(f); err == nil {
				projects[f.folder] = h.Directory
			}
		}
		return nil
	})
	if x.Days = s.cleanupDays(slices.Collect(maps.Values(projects))); x.Days == 0 {
		return x, err
	}
	age := time.Duration(x.Days) * 24 * time.Hour
	for _, at := range used {
		if at = at.Add(age); at.Before(until) {
			if x.Sessions++; x.Sessions == 1 || at.Before(x.First) {
				x.First = at
			}
		}
	}
	return x, err
}

// managedSettings has the machine's settings, which take precedence over the user's.
const managedSettings = "/etc/claude-code/managed-settings.json"

// largestSettings is the greatest size in bytes of a settings file that Claude Code reads.
const largestSettings = 2 << 20

// cleanupDays returns the days without use after which Claude Code deletes a transcript if it is started in any of the
// projects; 0 if it deletes none because it cannot read its settings.
func (s *store) cleanupDays(projects []string) int {
	days, machine := daysIn(filepath.Join(s.ID().Root, "settings.json"), defaultDays), daysIn(managedSettings, -1)
	switch {
	case days == 0:
		return 0
	case machine >= 0:
		return machine
	}
	shortest := days
	for _, dir := range projects {
		if !filepath.IsAbs(dir) {
			continue
		}
		shared := daysIn(filepath.Join(dir, folder, "settings.json"), days)
		own := daysIn(filepath.Join(dir, folder, "settings.local.json"), shared)
		if shared > 0 && own > 0 {
			shortest = min(shortest, own)
		}
	}
	return shortest
}

// daysIn returns the days in a file of settings; missing if the file or the field does not exist; 0 if Claude Code
// cannot read the file.
func daysIn(path string, missing int) int {
	data, err := ownfile.ReadPlain(path, largestSettings)
	if os.IsNotExist(err) {
		return missing
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err != nil || len(data) > 0 && !jsonedit.IsObject(data) {
		return 0
	}
	raw, ok := jsonedit.Get(data, "cleanupPeriodDays")
	if !ok {
		return missing
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return max(n, 0)
}
