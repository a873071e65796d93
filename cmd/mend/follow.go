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
func (a *app) followLog(ctx context.Context, q journal.Query) error {
	dir, err := a.opt.Journal.Folder()
	if err != nil {
		return err
	}
	asJSON := a.asJSON
	a.asJSON = false // each entry is printed as one object
	shown := map[string]string{}
	var seen time.Time
	for tick := time.NewTicker(followInterval); ; {
		if changed := journalModTime(dir); changed != seen || seen.IsZero() {
			es, err := a.opt.Journal.Log(q)
			var locked *journal.LockedError
			if !errors.As(err, &locked) {
				seen = changed
				a.showNew(es, shown, asJSON)
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
func (a *app) showNew(es []change.Entry, shown map[string]string, asJSON bool) {
	for _, e := range slices.Backward(es) {
		state := stateOf(e)
		if shown[e.ID] == state {
			continue
		}
		shown[e.ID] = state
		if !asJSON {
			a.printRows([][]string{a.entryRow(e, "")}, "")
			a.printEntryList("", entryError(e))
			continue
		}
		answer := a.newAnswer()
		answer["repairs"] = entriesJSON([]change.Entry{e})
		if line, err := termjson.Marshal(answer); err == nil { // strings and numbers always marshal
			_, _ = a.Write(append(line, '\n')) // a.writeErr keeps it
		}
	}
}
