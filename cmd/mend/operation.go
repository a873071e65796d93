package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// An operation has the listed entries of one run of mend, newest first.
type operation []change.Entry

// operationsOf groups entries by operation, each at the position of its newest entry.
func operationsOf(es []change.Entry) (all []operation) {
	at := map[uint64]int{}
	for _, e := range es {
		i, ok := at[e.Operation]
		if !ok {
			i = len(all)
			at[e.Operation], all = i, append(all, nil)
		}
		all[i] = append(all[i], e)
	}
	return all
}

// state returns the state of the entries in its colour. If the states differ, it is the most urgent one.
func (op operation) state() string {
	undone := 0
	for _, e := range op {
		switch {
		case e.Damage != "", e.State == change.Pending, e.State == change.Conflicted:
			return stateWord(e)
		case e.State == change.Committed && e.UndoneBy != "":
			undone++
		}
	}
	if undone > 0 && undone < len(op) {
		return fmt.Sprintf("%d undone", undone)
	}
	return stateWord(op[0])
}

// what describes how many repairs the operation made, undid or applied again.
func (op operation) what() string {
	records := 0
	for _, e := range op {
		records += len(e.Ops)
	}
	text := term.Count(len(op), "repair")
	switch op[0].Cause.Kind {
	case change.CauseUndo, change.CauseRedo:
		text = fmt.Sprintf("%s of %s", op[0].Cause.Kind, text)
	case change.CauseOrphans:
		text = "orphans moved to the journal"
	case change.CauseMove:
		text = "moved to " + term.OneLine(op[0].Cause.Text, 80)
	case change.CauseClean:
		text = causeText(op[0])
	default:
	}
	return text + ", " + term.Count(records, "change")
}

// sessions names the sessions of the operation, and the databases that it changed as a whole.
func (op operation) sessions() string {
	sessions, first := map[string]bool{}, change.Entry{}
	var all []string
	for _, e := range op {
		switch title := entryTitle(e); {
		case e.Session == change.NoSession: // it accompanies sessions
		case e.Session == "" && !slices.Contains(all, title):
			all = append(all, title)
		case e.Session != "":
			if len(sessions) == 0 {
				first = e
			}
			sessions[e.Session] = true
		}
	}
	switch {
	case len(sessions) == 1 && len(all) == 0:
		return entryTitle(first)
	case len(sessions) > 0:
		all = append([]string{term.Count(len(sessions), "session")}, all...)
	case len(all) == 0:
		return entryTitle(op[0])
	}
	return strings.Join(all, ", ")
}

// row returns the line of an operation with several entries.
func (op operation) row(t *term.Terminal) []string {
	return []string{term.Bold(mend.OperationOf(op[0])), term.Faint(t.AgeCell(term.Age(time.Since(op[0].Time)))), op.state(), op.what(), "", op.sessions()}
}

// newestEntries returns the entries that q selects: of at most q.Limit operations, or in a JSON answer at
// most q.Limit entries.
func newestEntries(env *environment, q journal.Query) ([]change.Entry, error) {
	limit := q.Limit
	if !env.JSON {
		q.Limit = 0
	}
	es, err := env.opt.Journal.Log(q)
	if ops := operationsOf(es); !env.JSON && limit > 0 && limit < len(ops) {
		es = slices.Concat(ops[:limit]...)
	}
	return es, err
}

// showOperation shows one run of mend.
func showOperation(env *environment, op operation, release func()) error {
	related, err := env.opt.Journal.Related(op)
	if err != nil {
		return err
	}
	if env.JSON {
		list := []repairJSON{}
		for _, e := range op {
			e, ops, err := env.opt.Journal.Show(e.ID)
			if err != nil {
				return err
			}
			r := entryJSON(e, ops)
			r.relate(related[e.ID])
			list = append(list, r)
		}
		env.setAnswers(repairsAnswer{list})
		return nil
	}
	release() // a person may read the page for a long time
	first, id := op[len(op)-1], mend.OperationOf(op[0])
	env.Printf("%s %s  %s\n", term.Bold("operation"), term.Bold(id), op.state())
	printEntryRow(env.Terminal, "Time", first.Time.Local().Format(time.RFC1123)+", "+term.Age(time.Since(first.Time))+", by mend "+term.Escape(first.Version))
	printEntryList(env.Terminal, "By", actorTexts(first.Actor))
	printEntryRow(env.Terminal, "Changed", op.what()+" of "+op.sessions())
	if slices.ContainsFunc(op, func(e change.Entry) bool { return e.State == change.Committed && e.UndoneBy == "" }) {
		printEntryRow(env.Terminal, "Undo", term.Bold("mend undo "+id))
	}
	if slices.ContainsFunc(op, func(e change.Entry) bool { return e.UndoneBy != "" }) {
		printEntryRow(env.Terminal, "Redo", term.Bold("mend undo --redo "+id))
	}
	env.Printf("\n")
	return printEntries(env, op, related, "")
}

// printLog prints one line for each operation, or with entries one for each entry.
func printLog(env *environment, es []change.Entry, related map[string]mend.Related, none string, entries bool) error {
	if env.JSON || len(es) == 0 {
		return printEntries(env, es, related, none)
	}
	defer env.Buffer()()
	var rows [][]string
	for _, op := range operationsOf(es) {
		several := len(op) > 1
		if several {
			rows = append(rows, op.row(env.Terminal))
		}
		for _, e := range op {
			if row := entryRow(env.Terminal, e, earlierRepair(e, related[e.ID])); !several {
				rows = append(rows, row)
			} else if entries {
				row[0] = "  " + row[0]
				rows = append(rows, row)
			}
		}
	}
	env.PrintRows(rows, "")
	return nil
}

// operationText names the operation of an entry if it has other entries, otherwise "".
func operationText(env *environment, e change.Entry) string {
	op, err := env.opt.Journal.Find(mend.OperationOf(e))
	if err != nil && !errors.Is(err, journal.ErrDamaged) || len(op) < 2 {
		return ""
	}
	return fmt.Sprintf("%s: %s of %s", mend.OperationOf(e), operation(op).what(), operation(op).sessions())
}
