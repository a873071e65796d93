package show

import (
	"mend/change"
	"mend/internal/term"
)

// OpWord returns a word for the change of an op.
func OpWord(o change.Op) string {
	switch {
	case o.Ref.Kind == change.KindFile && o.Post == nil:
		return "move away"
	case o.Ref.Kind == change.KindFile:
		return "put back"
	}
	return o.Verb()
}

// Ops prints the diff of each op.
func Ops(t *term.Terminal, ops []change.Op) {
	defer t.Buffer()()
	for _, o := range ops {
		if o.Ref.Kind == change.KindFile {
			printFile(t, o)
			continue
		}
		t.Printf("  %s %s\n", term.Bold(opMark(o)+" "+o.Verb()), o.Ref)
		if HasDiff(o.Ref) {
			printDiff(t, o.Pre, o.Post)
		}
	}
}

// printFile prints an op on a user file without its content.
func printFile(t *term.Terminal, o change.Op) {
	i := o.Pre
	if i == nil {
		i = o.Post
	}
	t.Printf("  %s file %s  %s\n", term.Bold(opMark(o)+" "+OpWord(o)), o.Ref, term.Faint(term.Size(int64(len(i.Data)))+", mode "+i.Mode.String()))
}
