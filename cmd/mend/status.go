package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mend"
	"mend/change"
)

func (a *app) statusVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the current status, and what to do next",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return a.status() },
	}
}

// A statusJSON is the answer of status.
type statusJSON struct {
	Stores    []storeJSON    `json:"stores"`
	LastScan  *mend.Summary  `json:"lastScan"`
	Pending   []repairJSON   `json:"pending"`
	Conflicts []repairJSON   `json:"conflicts"` // undecided ones
	Live      recoveryCounts `json:"recoveries"`
	Next      string         `json:"next"`
}

type storeJSON struct {
	Path   string `json:"path"`
	Layout string `json:"layout"`
	InUse  bool   `json:"inUse"`
}

func (a *app) status() error {
	var s statusJSON
	var pending, conflicted []change.Entry
	for _, l := range a.opt.Stores() {
		s.Stores = append(s.Stores, storeJSON{Path: l.Path, Layout: l.Layout})
	}
	c, err := mend.Open(a.opt)
	if err != nil && !errors.Is(err, mend.ErrNoStore) {
		return err
	}
	if err == nil {
		if pending, err = c.Pending(); err != nil {
			return err
		}
		if conflicted, err = c.Conflicted(); err != nil {
			return err
		}
		if last, ok := c.LastScan(); ok {
			s.LastScan = &last
		}
		s.Stores = markUsed(s.Stores, c.Store())
	}
	s.Next = nextCommand(s, pending, conflicted)
	journal, err := a.opt.JournalDir()
	if err != nil {
		return err
	}
	s.Live, err = readCounts(countsPath(journal))
	if err != nil {
		return fmt.Errorf("reading the counters of recoveries: %w", err)
	}
	if a.asJSON {
		s.Stores, s.Pending, s.Conflicts = nonNil(s.Stores), entriesJSON(pending), entriesJSON(conflicted)
		a.answer = map[string]any{"stores": s.Stores, "lastScan": s.LastScan, "pending": s.Pending, "conflicts": s.Conflicts, "recoveries": s.Live, "next": s.Next}
		return nil
	}
	a.printStatus(s, pending, conflicted)
	return nil
}

// markUsed marks the store that the other verbs use. It adds the store if it is not in the
// list.
func markUsed(stores []storeJSON, id change.StoreID) []storeJSON {
	for i := range stores {
		if path, err := filepath.EvalSymlinks(stores[i].Path); err == nil && path == id.Root {
			stores[i].InUse = true
			return stores
		}
	}
	return append(stores, storeJSON{Path: id.Root, Layout: id.Kind, InUse: true})
}

// nextCommand returns the command that the user should run next.
func nextCommand(s statusJSON, pending, conflicted []change.Entry) string {
	switch {
	case len(s.Stores) == 0:
		return "mend scan --store PATH"
	case len(pending) > 0:
		return "mend recover"
	case len(conflicted) > 0:
		return "mend resolve " + conflicted[0].ID
	case s.LastScan == nil:
		return "mend scan"
	case s.LastScan.Broken > 0:
		return "mend repair"
	}
	return "mend scan"
}

func (a *app) printStatus(s statusJSON, pending, conflicted []change.Entry) {
	defer a.bufferOutput()()
	for _, st := range s.Stores {
		mark := " "
		if st.InUse {
			mark = good("*")
		}
		a.printf("%s %s  %s\n", mark, escape(st.Path), faint(st.Layout))
	}
	if len(s.Stores) == 0 {
		a.printf("No session store found.\n")
	}
	if l := s.LastScan; l != nil {
		a.printf("\nLast scan %s: %s, %d broken, %d latent.\n", age(time.Since(l.Time)), count(l.Sessions, "session"), l.Broken, l.Latent)
		for _, w := range l.Worst {
			a.printf("  %s %s  %s\n", bad("broken"), bold(w.ID), oneLine(w.Title, 60))
		}
	}
	for _, e := range pending {
		a.printf("\n%s repair %s of %s was cut off.\n", bad("pending:"), e.ID, e.Session)
	}
	for _, e := range conflicted {
		a.printf("\n%s repair %s of %s waits for your decision.\n", bad("conflict:"), e.ID, e.Session)
	}
	if text := s.Live.String(); text != "" {
		a.printf("\n%s\n", text)
	}
	a.printf("\nNext: %s\n", bold(s.Next))
}
