package opencode

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
)

// timeout is the limit of one run on a busy machine; on a quiet one a run takes two seconds.
const timeout = 3 * time.Minute

// sessionID finds the session in the events of a run.
var sessionID = regexp.MustCompile(`\bses_[0-9A-Za-z]+`)

// Alive and Dead are the verdicts besides the endpoint's rules.
const (
	Alive = damage.Alive // the endpoint accepted the last request
	Dead  = damage.Dead  // the program ended, or hung, before it sent one
)

// A Result is the result of a prompt.
type Result struct {
	Verdict  string          // Alive, Dead, or the rule that the last request broke: "R1" to "R17"
	Session  string          // the session's id, "" if the program did not print it
	Calls    []endpoint.Call // the requests that the prompt caused, without those for a title
	Output   string          // output of both streams; its events are JSON objects, one per line
	Code     int             // its exit code; -1 if it was killed
	TimedOut bool
}

// Run sends a prompt in a new session.
func (h *Home) Run(prompt string) Result {
	h.t.Helper()
	return h.prompt("--format", "json", "--", prompt)
}

// Continue sends a prompt in an existing session.
func (h *Home) Continue(session, prompt string) Result {
	h.t.Helper()
	return h.prompt("--format", "json", "-s", session, "--", prompt)
}

// ContinueOnScreen is Continue with the output that a user sees.
func (h *Home) ContinueOnScreen(session, prompt string) Result {
	h.t.Helper()
	return h.prompt("-s", session, "--", prompt)
}

// prompt runs "opencode run" to its end.
func (h *Home) prompt(args ...string) Result {
	h.t.Helper()
	before := len(h.api.Calls())
	ctx, cancel := context.WithTimeout(h.t.Context(), timeout)
	defer cancel()
	cmd := h.command(ctx, append([]string{"run"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		h.t.Fatalf("starting opencode: %v", err)
	}
	r := h.resultSince(before)
	r.Output, r.Code, r.TimedOut = out.String(), cmd.ProcessState.ExitCode(), ctx.Err() != nil
	r.Session = sessionID.FindString(r.Output)
	return r
}

// resultSince returns the result of the requests after the first n.
func (h *Home) resultSince(n int) Result { return Result{}.withCalls(h.api.Calls()[n:]) }

// withCalls returns the result with calls and the verdict on them.
func (r Result) withCalls(calls []endpoint.Call) Result {
	r.Verdict, r.Calls = Dead, nil
	for _, c := range calls {
		if c.Request.IsTitle() && c.Rule != "json" {
			continue
		}
		r.Calls = append(r.Calls, c)
		if r.Verdict = Alive; c.Rule != "" {
			r.Verdict = c.Rule
		}
	}
	return r
}

// command returns a command for the program. When ctx ends, the program and its children are killed.
func (h *Home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.exe, args...)
	cmd.Dir, cmd.Env = h.Project(), h.env()
	cmd.WaitDelay = 5 * time.Second
	setProcessGroup(cmd)
	return cmd
}

// Shell runs a shell command in a folder, with the program on the search path, and returns its output.
func (h *Home) Shell(dir, command string) (string, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), timeout)
	defer cancel()
	cmd := h.command(ctx)
	cmd.Path, cmd.Args, cmd.Dir = "/bin/sh", []string{"sh", "-c", command}, dir
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(h.exe)+string(filepath.ListSeparator)+os.Getenv("PATH"), "PWD="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
