package inspect

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
	"mend/internal/report"
	"mend/internal/term"
	"mend/repair"
)

// Report returns the verb report.
func Report(env *frame.Env) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report [SESSION]",
		Short: "Write a page about a session for a bug report",
		Long: `Report writes one HTML page about a session, to attach to a bug report: the next request
as the provider will see it, the findings, the stored data before and after the fix, and the
checks that were made.

The page contains nothing that you or the model wrote. Titles, texts, paths, commands,
inputs, outputs, names and ids are replaced by numbers and sizes. Read it before you
publish it. "mend scan SESSION --request" shows the same request with its texts.

The page is one file. It loads nothing and needs no script.`,
		Example: `  mend report .                           the newest session of this folder: write mend-report.html
  mend report ses_abc -o - | less         print it`,
		Args: frame.AtMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return runReport(cmd.Context(), env, names, file)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "output", "o", "mend-report.html", "write to this `FILE`, or to standard output with -")
	frame.ThinkingFlag(env, fl)
	return cmd
}

// A ReportAnswer is the answer of report.
type ReportAnswer struct {
	Path string `json:"path"`
}

func runReport(ctx context.Context, env *frame.Env, names []string, file string) error {
	if file == "-" && env.JSON {
		return frame.Usagef("--json and --output - cannot be used together")
	}
	c, head, err := frame.OpenSession(ctx, env, names, "report", false)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		s, err := reportSession(ctx, env, c, head)
		if err != nil {
			return err
		}
		if err := report.Write(w, s); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		return nil
	}
	if file == "-" {
		return write(env)
	}
	if err := env.CreateFile(file, write); err != nil {
		return err
	}
	env.SetAnswers(ReportAnswer{file})
	env.Printf("Wrote %s.\n", term.Bold(file))
	env.Say("Texts, titles, paths, commands, names and ids are replaced. Read it before you publish it.")
	return nil
}

// reportSession collects the content of a report: the findings about a session, its next request and its planned repair.
func reportSession(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head) (report.Source, error) {
	commit := frame.BuildCommit()
	s := report.Source{
		Program: fmt.Sprintf("%s (commit %s, %s, %s/%s)", env.Opt.Journal.Version, commit[:min(12, len(commit))], runtime.Version(), runtime.GOOS, runtime.GOARCH),
		Agent:   agentText(c), Layout: c.ID().Kind, Head: head,
	}
	f, err := c.ScanOne(ctx, head)
	if err != nil {
		return s, err
	}
	s.Diagnoses, s.Thinking = f.Diagnoses, f.Thinking
	if forecast, err := c.Forecast(ctx, head); err != nil {
		s.NoRequest = err.Error()
	} else {
		s.Request, s.Violations, s.Thinking = &forecast.Request, forecast.Violations, forecast.Thinking
		s.Provider, s.Turn, s.Block = forecast.Provider, forecast.Place.Turn, forecast.Place.Block
	}
	r, err := c.ProposeRepair(ctx, head, repair.Request{Latent: !show.HasBroken(s.Diagnoses), Force: true})
	if err != nil {
		return s, err
	}
	s.Fixed, s.Remaining, s.Ops = r.Fixed, r.Remaining, r.Plan.Ops
	if len(r.Plan.Ops) == 0 {
		s.Proof = []string{"There is no repair to check. Findings: " + countSeverities(s.Diagnoses) + "."}
		return s, nil
	}
	s.Proof = []string{
		"After the repair it " + show.ProvenText(agents.Title(c.ID()), []show.Proposal{{Head: head, Result: r}}) + ".",
		"mend applied the repair to a copy, built the next request again in every setting, and found no new problem.",
		fmt.Sprintf("Before: %s. After: %s.", countSeverities(s.Diagnoses), countSeverities(r.Remaining)),
		fmt.Sprintf("It would make %s in the store. Nothing has been written.", term.Count(len(r.Plan.Ops), "change")),
	}
	return s, nil
}

// agentText returns the agent with its newest version in the store, and the version that mend checks it as if that
// differs.
func agentText(c *mend.Store) string {
	text := agents.Title(c.ID())
	v := c.Version("")
	if v.Name != "" {
		text += " " + v.Name
	}
	if v.Profile != "" && v.Profile != v.Name {
		text += ", checked as " + v.Profile + " builds requests"
	}
	return text
}

// countSeverities counts findings by severity: "2 broken, 1 at risk, 0 lost, 0 notes".
func countSeverities(ds []repair.Diagnosis) string {
	n := map[repair.Severity]int{}
	for _, d := range ds {
		n[d.Severity]++
	}
	return fmt.Sprintf("%d broken, %d %s, %d lost, %s", n[repair.Broken], n[repair.Latent], show.AtRisk, n[repair.Lost], term.Count(n[repair.Note], "note"))
}
