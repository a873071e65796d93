package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"

	"mend/change"
	"mend/internal/term"
)

// A patchEntry is what a patch shows at once: an op, or two that move a record.
type patchEntry struct {
	op   change.Op
	from *change.Op // the deletion, if the record was moved: op creates it under another id
}

// verb returns what happens to the record.
func (e patchEntry) verb() string {
	switch {
	case e.from != nil:
		return "move"
	case e.op.Ref.Kind == change.KindFile && e.op.Post == nil:
		return "move away"
	case e.op.Ref.Kind == change.KindFile:
		return "put back"
	}
	return e.op.Verb()
}

// patchEntries returns the ops in their order. A record that is created with the content of one
// that is deleted was moved: the id of a part is its position.
func patchEntries(ops []change.Op) []patchEntry {
	deleted := map[[sha256.Size]byte][]int{}
	for i, o := range ops {
		if isMovable(o) && o.Post == nil {
			k := contentKey(o.Ref, o.Pre)
			deleted[k] = append(deleted[k], i)
		}
	}
	from := map[int]int{} // by the index of the creation
	moved := map[int]bool{}
	for i, o := range ops {
		if !isMovable(o) || o.Pre != nil {
			continue
		}
		k := contentKey(o.Ref, o.Post)
		if same := deleted[k]; len(same) > 0 {
			from[i], deleted[k] = same[0], same[1:]
			moved[same[0]] = true
		}
	}
	var entries []patchEntry
	for i, o := range ops {
		if at, ok := from[i]; ok {
			entries = append(entries, patchEntry{o, &ops[at]})
		} else if !moved[i] {
			entries = append(entries, patchEntry{op: o})
		}
	}
	return entries
}

// isMovable reports whether the op creates or deletes a message or a part.
func isMovable(o change.Op) bool {
	return (o.Pre == nil) != (o.Post == nil) && (o.Ref.Kind == change.KindPart || o.Ref.Kind == change.KindMessage)
}

// contentKey returns a key that is equal for records of one session with the same data, apart from
// their ids.
func contentKey(r change.Ref, i *change.Image) (key [sha256.Size]byte) {
	data := i.Data
	if row, err := change.RowOf(change.Ref{}, i); err == nil {
		data = row.Data
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", r.Kind, r.Session)
	writeWithoutIDs(sum, r, data)
	return [sha256.Size]byte(sum.Sum(nil))
}

// writeWithoutIDs writes data in which names stand for the ids of the record.
func writeWithoutIDs(sum hash.Hash, r change.Ref, data []byte) {
	for _, id := range [...]struct{ id, name string }{{r.Part, "PART"}, {r.Message, "MESSAGE"}} {
		if id.id != "" {
			data = bytes.ReplaceAll(data, []byte(`"`+id.id+`"`), []byte(id.name))
		}
	}
	sum.Write(data)
}

// printOps prints the diff of each op.
func printOps(t *term.Terminal, ops []change.Op) {
	defer t.Buffer()()
	for _, e := range patchEntries(ops) {
		switch {
		case e.op.Ref.Kind == change.KindFile:
			printFile(t, e.op)
		case e.from != nil:
			t.Printf("  %s %s → %s\n", term.Bold("→ move"), e.from.Ref, e.op.Ref)
		default:
			t.Printf("  %s %s\n", term.Bold(opMark(e.op)+" "+e.op.Verb()), e.op.Ref)
			if hasDiff(e.op.Ref) {
				printDiff(t, e.op.Pre, e.op.Post)
			}
		}
	}
}

// printFile prints an op on a user file without its contents.
func printFile(t *term.Terminal, o change.Op) {
	verb, i := "move away", o.Pre
	if i == nil {
		verb, i = "put back", o.Post
	}
	t.Printf("  %s file %s  %s\n", term.Bold(opMark(o)+" "+verb), o.Ref, term.Faint(term.Size(int64(len(i.Data)))+", mode "+i.Mode.String()))
}
