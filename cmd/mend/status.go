package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend"
	"mend/change"
	"mend/journal"
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
	Stores     []storeJSON    `json:"stores"`
	LastScan   *mend.Summary  `json:"lastScan"`
	LastRepair *repairJSON    `json:"lastRepair"` // the newest that is not undone
	Pending    []repairJSON   `json:"pending"`
	Conflicts  []repairJSON   `json:"conflicts"` // undecided ones
	Live       recoveryCounts `json:"recoveries"`
	Plugins    []pluginJSON   `json:"plugins"`
	Hooks      int            `json:"hooks"`   // that are running
	GivenUp    []givenUpJSON  `json:"givenUp"` // the newest errors that no repair answered
	Next       string         `json:"next"`
	NextWhy    string         `json:"nextWhy"` // what it does
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
	inForce, err := a.opt.Log(journal.Query{Limit: 1, InForce: true})
	if err != nil {
		return err
	}
	if len(inForce) > 0 {
		last := entryJSON(inForce[0], nil)
		s.LastRepair = &last
	}
	journalDir, err := a.opt.JournalDir()
	if err != nil {
		return err
	}
	s.Live, err = readCounts(countsPath(journalDir))
	if err != nil {
		return fmt.Errorf("reading the counters of recoveries: %w", err)
	}
	s.Plugins = a.pluginStates()
	entries := readHookLog(journalDir)
	s.Hooks, s.GivenUp = runningHooks(entries), givenUp(entries)
	s.Next, s.NextWhy = nextCommand(s, pending, conflicted)
	s.Next = strings.Trim(a.withStore(`"`+s.Next+`"`), `"`)
	s.Stores, s.Pending, s.Conflicts = nonNil(s.Stores), entriesJSON(pending), entriesJSON(conflicted)
	if a.asJSON {
		return a.setAnswers(s)
	}
	a.printStatus(s, inForce, pending, conflicted)
	return nil
}

// setAnswers sets the members of a struct as those of the JSON answer.
func (a *app) setAnswers(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for name, value := range members {
		a.setAnswer(name, value)
	}
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

// nextCommand returns the command that the user should run next, and what it does.
func nextCommand(s statusJSON, pending, conflicted []change.Entry) (command, why string) {
	switch {
	case len(s.Stores) == 0:
		return "mend scan --store PATH", "check a store at another place; mend demo shows how it works"
	case len(pending) > 0:
		return "mend recover", "complete the interrupted repair, or roll it back"
	case len(conflicted) > 0:
		return "mend resolve " + conflicted[0].ID, "resolve the conflict; mend show " + conflicted[0].ID + " shows it"
	case s.LastScan == nil:
		return "mend scan", "check all sessions"
	case s.LastScan.Broken > 0:
		return "mend repair", "preview and fix the broken sessions (asks first)"
	case s.LastScan.Latent > 0:
		return "mend repair --latent", "also fix what would fail with another version or setting (asks first)"
	case !hasPlugin(s.Plugins):
		return "mend plugin install", "let OpenCode repair sessions as they break"
	}
	return "mend scan", "check again"
}

// hasPlugin reports whether a plugin of mend is installed.
func hasPlugin(all []pluginJSON) bool {
	return slices.ContainsFunc(all, func(p pluginJSON) bool { return p.State == pluginCurrent || p.State == pluginOther })
}

func (a *app) printStatus(s statusJSON, inForce, pending, conflicted []change.Entry) {
	defer a.bufferOutput()()
	rows := a.storeRows(s)
	var sessions strings.Builder
	sessions.WriteString(scanText(s.LastScan))
	if s.LastScan != nil {
		for _, w := range s.LastScan.Worst {
			sessions.WriteString("\n" + bad("broken") + "  " + bold(w.ID) + "  " + oneLine(w.Title, 40))
		}
	}
	rows = append(rows, textRow{"Sessions", sessions.String()})
	for _, e := range pending {
		rows = append(rows, textRow{bad("Pending"), "repair " + bold(e.ID) + " of " + entryTitle(e) + " was interrupted"})
	}
	for _, e := range conflicted {
		rows = append(rows, textRow{bad("Conflict"), "repair " + bold(e.ID) + " of " + entryTitle(e) + " needs your decision"})
	}
	for _, e := range inForce {
		rows = append(rows, textRow{"Last repair", fmt.Sprintf("%s, %s: %s\nUndo: %s", bold(e.ID), age(time.Since(e.Time)), entryTitle(e), bold("mend undo "+e.ID))})
	}
	liveRow := liveText(s)
	if text := s.Live.String(); text != "" {
		liveRow += "\n" + text
	}
	rows = append(rows, textRow{"Live repair", liveRow})
	if text := s.Live.givenUp(); text != "" {
		for _, g := range s.GivenUp {
			text += fmt.Sprintf("\n%s: %s", g.Session, oneLine(g.Why, 300))
		}
		rows = append(rows, textRow{"Given up", text})
	}
	a.printf("%s\nNext: %s  %s\n", wrapRows(rows, 0, a.textWidth()), bold(s.Next), faint(s.NextWhy))
}

func (a *app) storeRows(s statusJSON) []textRow {
	if len(s.Stores) == 0 {
		return []textRow{{"Store", "no session store found"}}
	}
	var rows []textRow
	for _, st := range s.Stores {
		text := escape(shortenHome(st.Path)) + "  " + faint(st.Layout)
		if st.InUse && len(s.Stores) > 1 {
			text += "  " + good("in use")
		}
		rows = append(rows, textRow{"Store", text})
	}
	return rows
}

// scanText returns the counts of the last scan.
func scanText(l *mend.Summary) string {
	if l == nil {
		return "not checked since the last change"
	}
	text := count(l.Sessions, "session") + ": "
	switch {
	case l.Broken > 0:
		text += bad(fmt.Sprintf("%d broken", l.Broken))
	default:
		text += good("none broken")
	}
	if l.Latent > 0 {
		text += fmt.Sprintf(", %d latent", l.Latent)
	}
	return text + " (checked " + age(time.Since(l.Time)) + ")"
}

// liveText says what repairs sessions as they break.
func liveText(s statusJSON) string {
	text := "off: the plugin is not installed"
	for _, p := range s.Plugins {
		switch p.State {
		case pluginCurrent:
			text = "the plugin is installed"
		case pluginOther:
			text = "the plugin is of another version (mend plugin install updates it)"
		case pluginForeign, pluginUnreadable:
			text = "mend plugin status shows a problem"
		}
		if p.State != pluginAbsent {
			break
		}
	}
	switch {
	case s.Hooks > 0:
		text += "; " + count(s.Hooks, "hook") + " running"
	case hasPlugin(s.Plugins):
		text += "; no hook is running now"
	}
	return text
}
