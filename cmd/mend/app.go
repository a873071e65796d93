package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mend"
)

// An app is one run of the command: where it reads and writes, and the flags
// that every verb has.
type app struct {
	terminal
	opt    mend.Options
	asJSON bool
	quiet  bool // the error was told already

	entered bool // the command line was understood, and a verb is at work
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mend",
		Short: "Bring broken agent sessions back to life, and take every change back",
		Long: `mend reads the sessions that a coding agent has stored, tells what is wrong with
them and why the provider refuses them, repairs them with the smallest change,
and keeps in its journal all that is needed to undo every byte of it.

Without a verb it tells how things stand.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.status(cmd) },
	}
	a.opt.Version = version()
	f := root.PersistentFlags()
	f.StringVar(&a.opt.Store, "store", "", "the store, by any path in it (default: looked for)")
	f.StringVar(&a.opt.Layout, "layout", "", "the layout of a JSON store (default: found by looking)")
	f.StringVar(&a.opt.AgentVersion, "agent-version", "", "the agent's version to diagnose for (default: the newest that wrote to the store)")
	f.BoolVar(&a.asJSON, "json", false, "answer with one JSON object")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetUsageTemplate(root.UsageTemplate() + "\n" + exitHelp)
	root.AddCommand(a.verbs()...)
	for _, cmd := range append(root.Commands(), root) {
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.entered = true
			return run(cmd, args)
		}
	}
	return root
}

func (a *app) verbs() []*cobra.Command {
	return []*cobra.Command{
		a.scanVerb(), a.repairVerb(), a.undoVerb(), a.redoVerb(), a.logVerb(), a.showVerb(), a.verifyVerb(),
		a.recoverVerb(), a.resolveVerb(), a.gcVerb(), a.forgetVerb(), a.statusVerb(), a.demoVerb(), a.versionVerb(), a.manVerb(),
	}
}

// report tells the error, if it was not told yet, and returns the exit code.
func (a *app) report(err error) int {
	if err != nil && !a.entered {
		err = &usageError{err}
	}
	code := exitCode(err)
	if err == nil || a.quiet || errors.Is(err, errProblems) {
		return code
	}
	if a.asJSON {
		a.printJSON(map[string]any{"error": map[string]string{"code": codeName(code), "message": err.Error(), "hint": hint(err)}})
		return code
	}
	a.tell(err)
	return code
}

// tell prints an error and its hint on stderr.
func (a *app) tell(err error) {
	fmt.Fprintf(a.err, "%s %s\n", bad("mend:"), printable(err.Error()))
	if h := hint(err); h != "" {
		fmt.Fprintf(a.err, "      %s\n", faint(h))
	}
}

func codeName(code int) string {
	if name, ok := codeNames[code]; ok {
		return name
	}
	return "signal"
}

// printJSON writes the one object of a JSON answer.
func (a *app) printJSON(v any) {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // a reader that has gone away is nobody's error
}

// printf writes to the standard output.
func (a *app) printf(format string, args ...any) {
	fmt.Fprintf(a.out, format, args...)
}

// confirm asks a yes-or-no question, with no as the answer of silence. The error
// is errNobody without a terminal, errDeclined after a no.
func (a *app) confirm(question string) error {
	if !a.canAsk {
		return errNobody
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	return errDeclined
}

// open opens the store, and for a verb that writes finishes first what a crash
// left in it.
func (a *app) open(cmd *cobra.Command, write bool) (*mend.Client, error) {
	c, err := mend.Open(a.opt)
	if err != nil {
		return nil, err
	}
	if !write {
		a.warnPending(c)
		return c, nil
	}
	done, err := c.Recover(cmd.Context())
	for _, e := range done {
		fmt.Fprintf(a.err, "Recovered the pending repair %s: %s.\n", e.ID, e.State)
	}
	return c, err
}

// warnPending tells of pending repairs. A verb that only reads leaves them, and
// works beside a journal that cannot be read.
func (a *app) warnPending(c *mend.Client) {
	pending, err := c.Pending()
	if err != nil {
		a.tell(err)
	}
	for _, e := range pending {
		fmt.Fprintf(a.err, "%s repair %s is pending: run \"mend recover\"\n", warn("mend:"), e.ID)
	}
}
