package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/term"
	"mend/journal"
)

func verifyVerb(env *environment) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check the journal and the copies, or an exported journal",
		Long: `Check every checksum and the hash chain of the journal, and print the head of the chain.
This detects damage and tampering. Keep the printed head somewhere else: with --head, verify
also detects a truncated or rebuilt journal, or an older copy of it. Verify also checks the
copies of "mend keep" and the files beside the stores that an undo needs: archives of "mend
clean", folders, and databases of "mend salvage".

With FILE, verify checks a file of "mend log --export FILE", on any machine, without a
journal or a store; - is standard input.

mend never writes to a damaged journal.`,
		Args: atMostOne("file"),
		RunE: func(cmd *cobra.Command, files []string) error { return runVerify(cmd.Context(), env, files, head) },
	}
	cmd.Flags().StringVar(&head, "head", "", "a `HASH` that an earlier verify printed; it must be in the chain")
	return cmd
}

type verifyAnswer struct {
	Of      string      `json:"of,omitempty"` // what was checked
	Entries int         `json:"entries"`
	Events  int         `json:"events"`
	Images  int         `json:"images"`
	Bytes   int64       `json:"bytes"`            // of the images, compressed
	Head    string      `json:"head"`             // hash of the newest event, for verify --head
	Beside  int         `json:"beside,omitempty"` // repairs whose undo needs data kept beside the store
	Kept    *keptCounts `json:"kept,omitempty"`   // the copies of sessions
}

type keptCounts struct {
	Sessions int   `json:"sessions"`
	States   int   `json:"states"`
	Bytes    int64 `json:"bytes"`
}

func runVerify(ctx context.Context, env *environment, files []string, head string) error {
	what, check := "journal", func() (journal.Report, error) { return env.opt.Journal.Verify(head) }
	if len(files) == 1 {
		what, check = "export", func() (journal.Report, error) { return verifyExport(ctx, env.Terminal, files[0], head) }
	}
	r, err := check()
	if err != nil {
		return err
	}
	a := verifyAnswer{Of: what, Entries: r.Entries, Events: r.Events, Images: r.Images, Bytes: r.Bytes, Head: r.Head}
	defer func() { env.setAnswers(a) }()
	env.Printf("%s: %s, %s, %s (%s).\n", term.Good("The "+what+" is intact"), term.Count(r.Entries, "repair"),
		term.Count(r.Events, "event"), term.Count(r.Images, "image"), term.Size(r.Bytes))
	if r.Head != "" {
		env.Printf("head %s\n", r.Head)
	}
	if len(files) == 1 {
		return nil
	}
	return env.both(ctx, a.checkBeside(ctx, env), a.checkKept(ctx, env))
}

// checkBeside checks the files beside the stores that undo needs: archives of rows, folders, whole
// databases.
func (a *verifyAnswer) checkBeside(ctx context.Context, env *environment) error {
	es, err := env.opt.Journal.Log(journal.Query{State: change.Committed, InForce: true})
	if err != nil {
		return err
	}
	n, b := 0, newBatch(ctx, env, 2)
	for _, e := range es {
		if e.Forgotten || !e.Kind().WholeFiles() {
			continue
		}
		c, err := openStoreOf(ctx, env, e, false)
		if err == nil {
			err = c.CheckKept(ctx, e)
		}
		if n++; err != nil {
			hint := fmt.Sprintf("nothing of your sessions is touched. \"mend forget %s\" removes what is left of it", e.ID)
			b.fail(step{name: "repair " + e.ID + " cannot be undone", ids: []string{e.ID}}, fail.New(fail.Unusable, hint, "%w", err))
		}
	}
	a.Beside = n
	if n > 0 && len(b.failed) == 0 {
		env.Printf("%s: of %s.\n", term.Good("What is kept beside the stores is intact"), term.Count(n, "repair"))
	}
	return b.result()
}

// checkKept checks the copies of sessions, if there are any.
func (a *verifyAnswer) checkKept(ctx context.Context, env *environment) error {
	return env.opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		r, err := k.Verify()
		if errors.Is(err, keep.ErrDamaged) {
			return fail.WithHint(err, "nothing of your sessions is touched. \"mend keep\" checks all of the file once an hour: it sets the file aside then, and begins a new one with what can be read of it")
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
