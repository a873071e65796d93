package main

import (
	"errors"
	"fmt"
	"strings"

	"mend/change"
	"mend/journal"
)

// makeJournal makes a journal with that number of repairs, each of one part of 2 KB.
func makeJournal(dir string, repairs int) (err error) {
	j, err := journal.Open(dir, journal.Options{Version: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for n := range repairs {
		p := change.Plan{
			Session: fmt.Sprintf("ses_%08d", n/4), Cause: change.Cause{Kind: change.CauseScan, Diagnoses: []string{"a call never got a result"}},
			Ops: []change.Op{{
				Ref: change.Ref{Kind: change.KindPart, Session: fmt.Sprintf("ses_%08d", n/4), Message: fmt.Sprintf("msg_%08d", n), Part: fmt.Sprintf("prt_%08d", n)},
				Pre: image(n, "running"), Post: image(n, "error"),
			}},
		}
		e, err := j.Begin(p, change.Staged{Store: change.StoreID{Kind: "json", Root: "/store"}, Dir: ".mend/bench/1", Ops: p.Ops})
		if err != nil {
			return err
		}
		if _, err := j.Finish(e, change.Outcome{State: change.Committed}); err != nil {
			return err
		}
	}
	return nil
}

func image(n int, status string) *change.Image {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "%x ", (n+1)*(i+7)*7919)
	}
	return &change.Image{Data: fmt.Appendf(nil, `{"id": "prt_%08d", "type": "tool", "state": {"status": %q, "input": {"command": %q}}}`, n, status, b.String()), Mode: 0o644}
}
