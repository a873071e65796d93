package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mend/change"
	"mend/internal/termjson"
	"mend/journal"
)

// followInterval is the interval between checks of the journal's file. The journal is
// opened only if the file changed, so that writers do not wait.
const followInterval = 300 * time.Millisecond

// followLog shows the entries, oldest first, and then each entry that is added or
// changes its state, until the context ends.
func followLog(ctx context.Context, env *environment, q journal.Query) error {
	dir, err := env.opt.Journal.Folder()
	if err != nil {
		return err
	}
	asJSON := env.JSON
	env.JSON = false // each entry is printed as one object
	shown := map[string]string{}
	var seen time.Time
	for tick := time.NewTicker(followInterval); ; {
		if changed := journalModTime(dir); changed != seen || seen.IsZero() {
			es, err := env.opt.Journal.Log(q)
			var locked *journal.LockedError
			if !errors.As(err, &locked) {
				seen = changed
				showNew(env, es, shown, asJSON)
				if err != nil {
					tick.Stop()
					return err
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
}

// journalModTime returns the modification time of the journal's file, or zero.
func journalModTime(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "journal.db"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// showNew shows the entries that were not shown in their current state.
func showNew(env *environment, es []change.Entry, shown map[string]string, asJSON bool) {
	for _, e := range slices.Backward(es) {
		state := stateOf(e)
		if shown[e.ID] == state {
			continue
		}
		shown[e.ID] = state
		if !asJSON {
			env.PrintRows([][]string{entryRow(env.Terminal, e, "")}, "")
			printEntryList(env.Terminal, "", entryError(e))
			continue
		}
		answer := env.newAnswer()
		answer["repairs"] = entriesJSON([]change.Entry{e})
		if line, err := termjson.Marshal(answer); err == nil { // strings and numbers always marshal
			_, _ = env.Write(append(line, '\n')) // Lost reports it
		}
	}
}
