package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mend/agent/opencode"
	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/testdata"
)

func demoVerb(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Break, scan, repair and undo a small store in a temporary folder",
		Long: `Demo unpacks a small store that OpenCode 1.1.53 wrote, breaks it, then runs scan, repair, log
and undo. It touches only a temporary folder, which it removes.`,
		Args: frame.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runDemo(env) },
	}
}

// A demo is a temporary store with its own journal.
type demo struct {
	*frame.Env
	dir, storage, session string
}

type demoAnswer struct {
	Steps []stepJSON `json:"steps,omitempty"`
}

type stepJSON struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
}

func runDemo(env *frame.Env) error {
	if name := env.AgentName; name != "" && name != (opencode.Agent{}).Name() {
		return frame.Usagef("the demo has only a store of OpenCode: leave out --agent")
	}
	dir, err := os.MkdirTemp("", "mend-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	session, err := testdata.Unpack(testdata.OpenCode1153, dir)
	if err != nil {
		return err
	}
	return demo{Env: env, dir: dir, session: session, storage: filepath.Join(dir, "opencode", "storage")}.run()
}

func (d demo) run() error {
	d.printStep("A store that OpenCode 1.1.53 wrote: one healthy session.")
	if err := d.mend(frame.ExitDone, "scan"); err != nil {
		return err
	}
	healthy, err := d.snapshot()
	if err != nil {
		return err
	}
	what, err := d.blankText()
	if err != nil {
		return err
	}
	d.printStep("%s", what)
	damaged, err := d.snapshot()
	if err != nil {
		return err
	}
	var steps []stepJSON
	for _, step := range []struct {
		say  string
		code int
		args []string
		want map[string][]byte // the expected store; nil if not checked
	}{
		{"mend scan finds it.", frame.ExitProblems, []string{"scan"}, damaged},
		{"A dry run of the repair writes nothing.", frame.ExitDone, []string{"fix", d.session, "--dry-run"}, damaged},
		{"The repair itself.", frame.ExitDone, []string{"fix", d.session, "--yes"}, nil},
		{"The session is healthy again.", frame.ExitDone, []string{"scan"}, nil},
		{"The log shows the repair.", frame.ExitDone, []string{"log"}, nil},
		{"Undo restores every byte, including the damage.", frame.ExitDone, []string{"undo", "--session", d.session, "--yes"}, damaged},
		{"The journal is intact.", frame.ExitDone, []string{"verify"}, damaged},
	} {
		d.printStep("%s", step.say)
		if err := d.mend(step.code, step.args...); err != nil {
			return err
		}
		steps = append(steps, stepJSON{step.args[0], step.code})
		if err := d.compare(step.want); err != nil {
			return err
		}
	}
	d.SetAnswers(demoAnswer{steps})
	d.Printf("%s All files were compared: the store is byte for byte as before the repair\n(%s; %d still differs from the healthy store, as it should: the damage is back).\n", term.Good("Done."), term.Count(len(damaged), "file"), countDifferences(healthy, damaged))
	return nil
}

func (d demo) printStep(format string, args ...any) {
	d.Printf("\n%s\n", term.Bold("— "+fmt.Sprintf(format, args...)))
}

// mend runs mend on the demo's store and journal, and prints the command and its output.
func (d demo) mend(code int, args ...string) error {
	d.Printf("%s\n\n", term.Faint("$ mend "+strings.Join(args, " ")))
	a := &frame.Env{Terminal: d.Clone()}
	if d.JSON {
		a.Out = io.Discard
	}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = filepath.Join(d.dir, "journal"), filepath.Join(d.dir, "cache")
	root.SetArgs(append(args, "--store", d.storage))
	if got := a.Report(root.Execute()); got != code {
		return fmt.Errorf("demo: mend %s: exit code %d, want %d", strings.Join(args, " "), got, code)
	}
	return nil
}

// blankText makes the text of the last answer blank.
func (d demo) blankText() (string, error) {
	files, err := d.snapshot()
	for path, data := range files {
		if !bytes.Contains(data, []byte(`"Hello 6."`)) || filepath.Base(filepath.Dir(filepath.Dir(path))) != "part" {
			continue
		}
		rel, _ := filepath.Rel(d.storage, path)
		return fmt.Sprintf("Now a stream is cut: the text in\n  %s\nis only whitespace. The provider refuses every further prompt with HTTP 400.", rel), os.WriteFile(path, bytes.Replace(data, []byte(`"Hello 6."`), []byte(`" "`), 1), 0o644)
	}
	return "", fmt.Errorf("demo: finding an answer to damage: %w", err)
}

func (d demo) snapshot() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(d.storage, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	return files, err
}

func (d demo) compare(want map[string][]byte) error {
	if want == nil {
		return nil
	}
	got, err := d.snapshot()
	if err != nil {
		return err
	}
	if n := countDifferences(want, got); n > 0 {
		return fmt.Errorf("demo: %s not as expected", term.Count(n, "file"))
	}
	return nil
}

func countDifferences(a, b map[string][]byte) int {
	n := 0
	all := maps.Clone(a)
	maps.Copy(all, b)
	for path := range all {
		if before, after := a[path], b[path]; (before == nil) != (after == nil) || !bytes.Equal(before, after) {
			n++
		}
	}
	return n
}
