package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/agent/claude"
	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/testdata"
)

func demoVerb(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Break, scan, repair and undo a small store in a temporary folder",
		Long: `Demo writes a small conversation of Claude Code, breaks it, then runs scan, fix, log and undo.
It touches only a temporary folder, which it removes.`,
		Args: frame.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runDemo(env) },
	}
}

// A demo is a temporary store with its own journal.
type demo struct {
	*frame.Env
	dir, store, transcript string
}

type demoAnswer struct {
	Steps []stepJSON `json:"steps,omitempty"`
}

type stepJSON struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
}

func runDemo(env *frame.Env) error {
	if name := env.AgentName; name != "" && name != (claude.Agent{}).Name() {
		return frame.Usagef("the demo has only a store of Claude Code: leave out --agent")
	}
	dir, err := os.MkdirTemp("", "mend-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "claude")
	transcript := filepath.Join(store, "projects", "-home-user-project", testdata.ClaudeSession+".jsonl")
	if err := os.MkdirAll(filepath.Dir(transcript), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(transcript, testdata.Claude, 0o600); err != nil {
		return err
	}
	return demo{env, dir, store, transcript}.run()
}

func (d demo) run() error {
	d.printStep("A conversation that Claude Code 2.1.330 wrote: healthy.")
	if err := d.mend(frame.ExitDone, "scan"); err != nil {
		return err
	}
	if err := d.loseLine(); err != nil {
		return err
	}
	d.printStep("A line is lost, as on a full disk. Claude Code shows no error, but has forgotten what came before.")
	damaged, err := os.ReadFile(d.transcript)
	if err != nil {
		return err
	}
	var steps []stepJSON
	for _, step := range []struct {
		text string
		code int
		args []string
		want []byte // the expected transcript; nil if not checked
	}{
		{"mend scan finds it.", frame.ExitProblems, []string{"scan"}, damaged},
		{"A dry run of the repair writes nothing.", frame.ExitDone, []string{"fix", testdata.ClaudeSession, "--dry-run"}, damaged},
		{"The repair itself.", frame.ExitDone, []string{"fix", testdata.ClaudeSession, "--yes"}, nil},
		{"The session is healthy again.", frame.ExitDone, []string{"scan"}, nil},
		{"The log shows the repair.", frame.ExitDone, []string{"log"}, nil},
		{"Undo restores every byte, including the damage.", frame.ExitDone, []string{"undo", "--yes"}, damaged},
		{"The journal is intact.", frame.ExitDone, []string{"verify"}, damaged},
	} {
		d.printStep(step.text)
		if err := d.mend(step.code, step.args...); err != nil {
			return err
		}
		steps = append(steps, stepJSON{step.args[0], step.code})
		if got, err := os.ReadFile(d.transcript); err != nil || step.want != nil && !bytes.Equal(got, step.want) {
			return cmp.Or(err, fmt.Errorf("demo: after mend %s the transcript is not as expected", step.args[0]))
		}
	}
	d.SetAnswers(demoAnswer{steps})
	d.Printf("%s The transcript is again byte for byte as before the repair, with the damage.\n", term.Good("Done."))
	return nil
}

func (d demo) printStep(text string) { d.Printf("\n%s\n", term.Bold("— "+text)) }

// mend runs mend on the demo's store and journal, and prints the command and its output.
func (d demo) mend(code int, args ...string) error {
	d.Printf("%s\n\n", term.Faint("$ mend "+strings.Join(args, " ")))
	a := &frame.Env{Terminal: d.Clone(), Settings: filepath.Join(d.dir, "config.json")}
	if d.JSON {
		a.Out = io.Discard
	}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = filepath.Join(d.dir, "journal"), filepath.Join(d.dir, "cache")
	root.SetArgs(append(args, "--store", d.store))
	if got := a.Report(root.Execute()); got != code {
		return fmt.Errorf("demo: mend %s: exit code %d, want %d", strings.Join(args, " "), got, code)
	}
	return nil
}

// loseLine removes the line of an answer from the transcript.
func (d demo) loseLine() error {
	lines := bytes.SplitAfter(testdata.Claude, []byte("\n"))
	kept := slices.DeleteFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"text":"Done 2."`)) })
	return os.WriteFile(d.transcript, bytes.Join(kept, nil), 0o600)
}
