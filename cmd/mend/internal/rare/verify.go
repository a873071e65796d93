package rare

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/term"
	"mend/journal"
)

// Verify returns the verb verify.
func Verify(env *frame.Env) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Check the journal and the copies, or an exported journal",
		Long: `Check every checksum and the hash chain of the journal, and print the head of the chain.
This detects damage, and edits that do not rebuild the chain. Keep the printed head somewhere
else: with --head, verify also detects a truncated or rebuilt journal, or an older copy of it.
Verify also checks the copies of "mend keep" and the files beside the stores that an undo
needs: archives of "mend clean", folders, and databases of "mend salvage".

With FILE, verify checks files of "mend log --export FILE", on any machine, without a
journal or a store; - is standard input.

mend never writes to a damaged journal.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) > 1 && head != "" {
				return frame.Usagef("--head belongs to one journal: name one file")
			}
			return runVerify(cmd.Context(), env, files, head)
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "a `HASH` that an earlier verify printed; it must be in the chain")
	return cmd
}

// A VerifyAnswer is the answer of verify.
type VerifyAnswer struct {
	Of      string      `json:"of,omitempty"` // what was checked
	Entries int         `json:"entries"`
	Events  int         `json:"events"`
	Images  int         `json:"images"`
	Bytes   int64       `json:"bytes"`            // of the images, uncompressed
	Head    string      `json:"head"`             // hash of the newest event, for verify --head
	Beside  int         `json:"beside,omitempty"` // repairs whose undo needs data kept beside the store
	Kept    *keptCounts `json:"kept,omitempty"`   // the copies of sessions

	Exports []verifiedJSON `json:"exports,omitempty"` // of files; the numbers are their sums
}

// A verifiedJSON is an intact export.
type verifiedJSON struct {
	File    string `json:"file"`
	Entries int    `json:"entries"`
	Head    string `json:"head"`
}

type keptCounts struct {
	Sessions int   `json:"sessions"`
	States   int   `json:"states"`
	Bytes    int64 `json:"bytes"`
}

func runVerify(ctx context.Context, env *frame.Env, files []string, head string) (left error) {
	a := VerifyAnswer{Of: map[bool]string{true: "export", false: "journal"}[len(files) > 0]}
	defer func() {
		if a.Events > 0 || left == nil {
			env.SetAnswers(a)
		}
	}()
	if len(files) == 0 {
		r, err := env.Opt.Journal.Verify(head)
		if err != nil {
			return err
		}
		a.add(env, "The journal is intact", r)
	}
	for _, file := range files {
		r, err := verifyExport(ctx, env.Terminal, file, head)
		if err != nil {
			left = env.SkipStore(ctx, left, err)
			continue
		}
		a.Exports = append(a.Exports, verifiedJSON{file, r.Entries, r.Head})
		a.add(env, file+" is intact", r)
	}
	if len(files) > 0 {
		return left
	}
	return env.Both(ctx, a.checkKeptFiles(ctx, env), a.checkKept(ctx, env))
}

// add adds the counts of an intact journal or export to the answer, and prints them.
func (a *VerifyAnswer) add(env *frame.Env, what string, r journal.Report) {
	a.Entries, a.Events, a.Images, a.Bytes, a.Head = a.Entries+r.Entries, a.Events+r.Events, a.Images+r.Images, a.Bytes+r.Bytes, r.Head
	env.Printf("%s: %s, %s, %s (%s).\n", term.Good(what), term.Count(r.Entries, "repair"),
		term.Count(r.Events, "event"), term.Count(r.Images, "image"), term.Size(r.Bytes))
	if r.Head != "" {
		env.Printf("head %s\n", r.Head)
	}
}

// checkKeptFiles checks the files beside the stores that undo needs: archives of rows, folders, whole
// databases.
func (a *VerifyAnswer) checkKeptFiles(ctx context.Context, env *frame.Env) error {
	es, err := env.Opt.Journal.Log(journal.Query{State: change.Committed, InForce: true, Agent: env.AgentName})
	if err != nil {
		return err
	}
	n, b := 0, frame.NewBatch(ctx, env, 2)
	for _, e := range es {
		if e.Forgotten || !e.Kind().WholeFiles() {
			continue
		}
		c, err := frame.OpenEntryStore(ctx, env, e, false)
		if err == nil && c.ID().Root != e.Store.Root && !c.Owns(ctx, e) { // the user named another store
			continue
		}
		if n++; err != nil { // the kept files may still be intact
			b.Fail(frame.Step{Name: "the files of repair " + e.ID + " are not checked", IDs: []string{e.ID}}, err)
			continue
		}
		if err := c.CheckKept(ctx, e); err != nil {
			hint := fmt.Sprintf("your sessions are not touched. \"mend forget %s\" removes what is left of its files", e.ID)
			b.Fail(frame.Step{Name: "repair " + e.ID + " cannot be undone", IDs: []string{e.ID}}, fail.New(fail.Unusable, hint, "%w", err))
		}
	}
	a.Beside = n
	if n > 0 && len(b.Failed) == 0 {
		env.Printf("%s: of %s.\n", term.Good("The files beside the stores are intact"), term.Count(n, "repair"))
	}
	return b.Result()
}

// checkKept checks the copies of sessions, if there are any.
func (a *VerifyAnswer) checkKept(ctx context.Context, env *frame.Env) error {
	return env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		r, err := k.Verify()
		if errors.Is(err, keep.ErrDamaged) {
			return fail.WithHint(err, "your sessions are not touched. \"mend keep\" checks the whole file once an hour: then it sets the file aside, and begins a new one with the readable copies")
		}
		if err != nil {
			return err
		}
		a.Kept = &keptCounts{r.Sessions, r.States, r.Bytes}
		if r.States > 0 {
			env.Printf("%s: %s of %s (%s).\n", term.Good("The kept copies are intact"), term.CountWords(r.States, "copy", "copies"), term.Count(r.Sessions, "session"), term.Size(r.Bytes))
		}
		return nil
	})
}

// verifyExport checks an export in a file, or on standard input for "-".
func verifyExport(ctx context.Context, t *term.Terminal, path, head string) (journal.Report, error) {
	in := t.In
	r, err := term.Await(ctx, func() (r journal.Report, err error) {
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return r, err
			}
			defer f.Close()
			in = f
		}
		return journal.VerifyExport(ctx, in, head)
	})
	if err != nil {
		err = fmt.Errorf("verifying the export %s: %w", path, err)
	}
	return r, err
}
