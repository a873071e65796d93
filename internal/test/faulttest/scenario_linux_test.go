package faulttest_test

import (
	"strings"

	"mend/internal/test/faulttest"
	"mend/testdata"
)

// A scenario is a verb that writes, with the state before it.
type scenario struct {
	name  string
	kind  kind
	many  bool                           // more unfinished calls than files that are synced one by one
	wal   bool                           // the agent left a -wal behind
	pages bool                           // a page of the database is damaged, so each byte counts
	aside bool                           // the only damage has no fix
	setup [][]string                     // the verbs before it
	half  func([]faulttest.Call) (k int) // if set, a repair was killed before this call
	verb  []string
	back  []string // reverts it; nil: nothing does
}

// A kind is a kind of store, named for the program that wrote it.
type kind string

// isFiles reports whether the store is a folder of files, not a database.
func (k kind) isFiles() bool { return k == tree || k == lines || k == rollouts }

const (
	tree   kind = "tree 1.1"
	sqlite kind = "sqlite 1.2"
	newest kind = "sqlite 1.18"
	lines  kind = "transcript of Claude Code"

	rollouts kind = "rollout of Codex" // with its row in the index
)

var archives = map[kind][]byte{tree: testdata.OpenCode1153, sqlite: testdata.OpenCode1227, newest: testdata.OpenCode11833}

// change returns the verb that changes the store.
func (s scenario) change() []string {
	if s.half != nil {
		return repairAll
	}
	return s.verb
}

// The verbs. SESSION, FOLDER, ID and LAST stand for the session, its folder, the first entry and the newest.
var (
	repairOne = []string{"repair", "--yes", "SESSION", "--class", "thinking_block_order"}
	repairAll = []string{"repair", "--yes", "SESSION"}
	undoOne   = []string{"undo", "--yes", "ID"}
	undoAll   = []string{"undo", "--yes", "--session", "SESSION"}
	undoLast  = []string{"undo", "--yes", "LAST"}
	redoOne   = []string{"redo", "--yes", "ID"}
	moveAll   = []string{"move", "FOLDER", "/usr", "--yes"} // the folder of all sessions, to one that exists
)

// repairFirst also creates the journal.
func repairFirst(k kind) scenario {
	return scenario{name: "repair, first", kind: k, verb: repairAll, back: undoAll}
}

func repairSecond(k kind) scenario {
	return scenario{name: "repair, second", kind: k, setup: [][]string{repairOne}, verb: repairAll, back: undoLast}
}

func undo(k kind) scenario {
	return scenario{name: "undo", kind: k, setup: [][]string{repairAll}, verb: undoOne, back: redoOne}
}

// setAside sets aside content that has no fix.
func setAside(k kind) scenario {
	return scenario{name: "set aside", kind: k, aside: true, verb: []string{"repair", "--yes", "SESSION", "--set-aside", "--at-risk"}, back: undoAll}
}

// move assigns another folder to the sessions: a row changes, or a file is moved.
func move(k kind) scenario {
	return scenario{name: "move", kind: k, verb: moveAll, back: []string{"undo", "--yes"}}
}

// clean removes the session with everything that belongs to it.
func clean(k kind) scenario {
	return scenario{name: "clean sessions", kind: k, verb: []string{"clean", "sessions", "SESSION", "--yes"}, back: []string{"undo", "--yes"}}
}

// cleanEvents removes the events, and frees their pages.
func cleanEvents() scenario {
	return scenario{name: "clean events", kind: newest, verb: []string{"clean", "events", "--yes"}, back: []string{"undo", "--yes"}}
}

// salvage builds a new database and exchanges the two.
func salvage() scenario {
	return scenario{name: "salvage", kind: newest, pages: true, verb: []string{"salvage", "--yes"}, back: []string{"undo", "--yes"}}
}

// undoSalvage exchanges the databases back.
func undoSalvage() scenario {
	return scenario{name: "undo of a salvage", kind: newest, pages: true, setup: [][]string{{"salvage", "--yes"}}, verb: undoOne, back: redoOne}
}

// cleanSnapshots removes the snapshots of a project without sessions.
func cleanSnapshots() scenario {
	return scenario{name: "clean snapshots", kind: newest, verb: []string{"clean", "snapshots", "--yes"}, back: []string{"undo", "--yes"}}
}

// restore restores the copy made before a repair. It first copies the present session.
func restore(k kind) scenario {
	return scenario{name: "restore", kind: k, setup: [][]string{{"keep"}, repairAll}, verb: []string{"restore", "--yes", "SESSION", "--at", "k1"}, back: undoLast}
}

// keepFirst also creates the file of copies.
func keepFirst(k kind) scenario {
	return scenario{name: "keep, first", kind: k, verb: []string{"keep"}}
}

// keepSecond copies a session that was copied before a repair.
func keepSecond(k kind) scenario {
	return scenario{name: "keep, second", kind: k, setup: [][]string{{"keep"}, repairAll}, verb: []string{"keep"}}
}

// recovery returns a scenario that recovers a repair. The repair was killed before the call that half returns.
func recovery(k kind, name string, half func([]faulttest.Call) int) scenario {
	return scenario{name: "recover, " + name, kind: k, half: half, verb: []string{"recover"}, back: undoAll}
}

func recoveries(k kind) []scenario {
	return []scenario{recovery(k, "begun", lastJournalSync), recovery(k, "halfway", halfway), recovery(k, "written", written)}
}

// besideWal is a repair of a database with a -wal, which is not checkpointed.
func besideWal(k kind) scenario {
	return scenario{name: "repair beside a -wal", kind: k, wal: true, verb: repairAll, back: undoAll}
}

// repairMany is a repair of so many files that the whole file system is synced.
func repairMany() scenario {
	return scenario{name: "repair of many", kind: tree, many: true, verb: []string{"repair", "--yes", "SESSION", "--class", "tool_result_missing"}, back: undoAll}
}

// repairWithFreeSpace is a repair with free space in the journal. If the journal had to grow, its sync would also sync other
// writes of the file system.
func repairWithFreeSpace(k kind) scenario {
	setup := [][]string{repairAll}
	for range 5 {
		setup = append(setup, undoAll, repairAll)
	}
	return scenario{name: "repair, free space in the journal", kind: k, setup: append(setup, undoAll), verb: repairAll, back: undoAll}
}

// all returns all verbs that write.
func all(k kind) []scenario {
	two := [][]string{repairOne, repairAll}
	list := append(recoveries(k),
		repairFirst(k), repairSecond(k), undo(k), restore(k), keepFirst(k), keepSecond(k),
		scenario{name: "undo --session", kind: k, setup: two, verb: undoAll, back: repairAll},
		scenario{name: "redo", kind: k, setup: [][]string{repairAll, undoOne}, verb: redoOne, back: undoAll},
		move(k), clean(k), setAside(k),
		scenario{name: "gc", kind: k, setup: two, verb: []string{"gc", "--older-than", "0h", "--yes"}},
		scenario{name: "forget", kind: k, setup: two, verb: []string{"forget", "SESSION", "--yes"}})
	switch k {
	case tree:
		return append(list, repairMany())
	case lines:
		return list
	case newest:
		list = append(list, cleanEvents(), cleanSnapshots(), salvage(), undoSalvage())
	case sqlite, rollouts:
	}
	return append(list, besideWal(k))
}

// codexVerbs returns the verbs on a rollout with its row.
func codexVerbs() []scenario {
	k := rollouts
	return append(recoveries(k), repairFirst(k), undo(k), restore(k), keepFirst(k), keepSecond(k), clean(k), setAside(k),
		scenario{name: "move", kind: k, setup: [][]string{repairAll}, verb: moveAll, back: undoLast})
}

// changing returns the numbers of the calls that change records: exchanges, and writes to the -wal.
func changing(calls []faulttest.Call) []int {
	var at []int
	for i, c := range calls {
		if c.Name == "renameat2" && !strings.Contains(c.Paths[0], ".new") || c.Name == "write" && strings.HasSuffix(c.Paths[0], ".jsonl") || c.Name == "pwrite64" && strings.HasSuffix(c.Paths[0], "-wal") {
			at = append(at, i+1)
		}
	}
	return at
}

// lastJournalSync returns the last sync of the journal before the first change of a record.
func lastJournalSync(calls []faulttest.Call) int {
	k := changing(calls)[0] - 1
	for !strings.HasSuffix(calls[k-1].Paths[0], "journal.db") {
		k--
	}
	return k
}

// halfway returns a call in the middle of those that change records.
func halfway(calls []faulttest.Call) int {
	at := changing(calls)
	return at[len(at)/2]
}

// written returns the call after the last change of a record.
func written(calls []faulttest.Call) int {
	at := changing(calls)
	return at[len(at)-1] + 1
}
