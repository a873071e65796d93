package main

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
	"mend/journal"
)

// newestEntries returns the entries that q selects: of at most q.Limit operations, or in a JSON answer at
// most q.Limit entries.
func newestEntries(env *frame.Env, q journal.Query) ([]change.Entry, error) {
	limit := q.Limit
	if !env.JSON {
		q.Limit = 0
	}
	es, err := env.Opt.Journal.Log(q)
	if ops := show.Operations(es); !env.JSON && limit > 0 && limit < len(ops) {
		es = slices.Concat(ops[:limit]...)
	}
	return es, err
}

// printLog prints one line for each operation, or with entries one for each entry.
func printLog(env *frame.Env, es []change.Entry, related map[string]mend.Related, none string, entries bool) error {
	if env.JSON || len(es) == 0 {
		return frame.PrintEntries(env, es, related, none)
	}
	defer env.Buffer()()
	var rows [][]string
	for _, op := range show.Operations(es) {
		several := len(op) > 1
		if several {
			rows = append(rows, op.Row(env.Terminal))
		}
		for _, e := range op {
			if row := show.EntryRow(env.Terminal, e, show.EarlierRepair(e, related[e.ID])); !several {
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
func operationText(env *frame.Env, e change.Entry) string {
	op, err := env.Opt.Journal.Find(mend.OperationOf(e))
	if err != nil && !errors.Is(err, journal.ErrDamaged) || len(op) < 2 {
		return ""
	}
	return fmt.Sprintf("%s: %s of %s", mend.OperationOf(e), show.Operation(op).What(), show.Operation(op).Sessions())
}
