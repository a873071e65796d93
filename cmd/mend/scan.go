package main

import (
	"context"

	"github.com/spf13/cobra"

	"mend"
	"mend/repair"
	"mend/session"
)

func (a *app) scanVerb() *cobra.Command {
	var all, request bool
	cmd := &cobra.Command{
		Use:   "scan [SESSION...]",
		Short: "Tell which sessions are broken, and why",
		Long: `Scan reads every session, or those that are named, and tells what is wrong.

  broken  the provider refuses the session, or the agent dies on reading it
  latent  another version or setting would refuse it, or it is stuck on the screen
  note    untidy, harmless

It writes nothing to the store. It exits with 1 if a session is broken.

With --request it prints what the agent will send to its model for one session,
and marks what the provider refuses of it.`,
		Example: `  mend scan                    every session
  mend scan ses_abc --request  what will be sent for this one`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if !request {
				return a.scan(cmd, ids, all)
			}
			if len(ids) != 1 {
				return usagef("--request needs one session")
			}
			return a.scanRequest(cmd, ids[0])
		},
	}
	cmd.Flags().BoolVar(&request, "request", false, "print the request that the agent will send")
	a.thinkingFlag(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "show healthy sessions and notes too")
	return cmd
}

func (a *app) scanRequest(cmd *cobra.Command, id string) error {
	c, err := a.open(cmd, false)
	if err != nil {
		return err
	}
	head, err := c.Session(cmd.Context(), id)
	if err != nil {
		return err
	}
	return a.printForecast(cmd.Context(), c, head)
}

func (a *app) scan(cmd *cobra.Command, ids []string, all bool) error {
	c, err := a.open(cmd, false)
	if err != nil {
		return err
	}
	c = c.Cached()
	heads, err := selectSessions(cmd.Context(), c, ids)
	if err != nil {
		return err
	}
	var s mend.Summary
	var shown []sessionJSON
	a.printStore(c)
	progress := a.progress(len(heads), "scanning")
	scan := c.Scan
	if len(ids) == 0 {
		scan = c.ScanAll
	}
	for f := range scan(cmd.Context(), heads) {
		s.Add(f.Session, f.Severity(), f.Busy, f.Err)
		progress.step()
		switch {
		case a.asJSON:
			shown = append(shown, findingJSON(f))
		case all || f.Err != nil || f.Severity() != 0 && f.Severity() <= repair.Latent:
			progress.clear()
			a.printFinding(f, all)
		}
	}
	progress.clear()
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if a.asJSON {
		a.answer = map[string]any{"store": c.Store().Root, "agentVersion": c.AgentVersion(), "profile": c.Profile(), "sessions": nonNil(shown)}
	} else {
		a.printSummary(s)
	}
	if len(ids) == 0 {
		if err := a.scanOrphans(cmd.Context(), c, all); err != nil {
			return err
		}
	}
	return scanError(s)
}

func scanError(s mend.Summary) error {
	switch {
	case s.Failed > 0:
		return &unreadableError{s.Failed}
	case s.Broken > 0:
		return errProblems
	}
	return nil
}

// An unreadableError is returned if sessions could not be examined.
type unreadableError struct{ n int }

func (e *unreadableError) Error() string {
	return "reading the store: " + count(e.n, "session") + " could not be examined"
}

// selectSessions returns the sessions with these ids, or all if ids is empty.
func selectSessions(ctx context.Context, c *mend.Client, ids []string) ([]session.Head, error) {
	heads, err := c.Sessions(ctx)
	if err != nil || len(ids) == 0 {
		return heads, err
	}
	heads = heads[:0:0]
	for _, id := range ids {
		h, err := c.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		heads = append(heads, h)
	}
	return heads, nil
}

func (a *app) printStore(c *mend.Client) {
	if a.asJSON {
		return
	}
	line := escape(shortenHome(c.Store().Root))
	if v := c.AgentVersion(); v != "" {
		line += ", diagnosed for version " + oneLine(v, 30) + " (profile " + c.Profile() + ")"
	}
	a.printf("%s\n", faint(line))
	if other := c.LegacyTree(); other != "" {
		a.printf("%s\n", faint("(the agent no longer reads "+escape(shortenHome(other))+")"))
	}
	a.printf("\n")
}

// printFinding prints a session and its faults. With all it also prints notes, and the setting
// for which it was diagnosed.
func (a *app) printFinding(f mend.Finding, all bool) {
	defer a.bufferOutput()()
	word := severityWord(f.Severity())
	if f.Err != nil {
		word = bad("unknown")
	}
	a.printf("%s  %s\n", word, a.sessionLine(f.Session))
	if f.Err != nil {
		a.printf("    %s %s\n", bad("cannot be examined:"), escape(f.Err.Error()))
	}
	if f.Busy {
		a.printf("    %s\n", warn("busy: the agent is at work in it"))
	}
	if all && f.Err == nil {
		a.printf("    %s\n", faint("diagnosed with thinking "+onOrOff(f.Thinking)))
	}
	for _, d := range f.Diagnoses {
		if all || d.Severity <= repair.Latent {
			a.printDiagnosis(d)
		}
	}
	a.printf("\n")
}

func (a *app) printDiagnosis(d repair.Diagnosis) {
	a.printf("    %s %s  %s  %s\n", severityWord(d.Severity), d.Rule, faint(string(d.Class)), faint(d.Ref))
	a.printf("      %s\n", escape(d.Why))
	if d.Fix == "" {
		a.printf("      %s %s\n", warn("no fix:"), escape(d.WhyNot))
		return
	}
	a.printf("      %s %s", good("fix:"), escape(d.Fix))
	if d.Loses != "" {
		a.printf(" %s", warn("It loses: "+escape(d.Loses)))
	}
	a.printf("\n")
}

func (a *app) printSummary(s mend.Summary) {
	defer a.bufferOutput()()
	a.printf("%s: %d broken, %d latent, %d healthy", count(s.Sessions, "session"), s.Broken, s.Latent, s.Healthy())
	if s.Busy > 0 {
		a.printf(", %d busy", s.Busy)
	}
	a.printf(".\n")
	if s.Broken > 0 {
		a.printf("Next: %s shows what it would change, and asks before it writes.\n", bold("mend repair"))
	}
}
