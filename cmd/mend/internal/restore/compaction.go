package restore

import (
	"context"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/term"
	"mend/repair"
)

// Uncompact is the former name of restore --compaction.
func Uncompact(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	r := repair.UncompactRequest{Protected: repair.ProtectedTools()}
	cmd := &cobra.Command{
		Use: "uncompact [SESSION]", Short: "Remove a compaction: mend restore --compaction SESSION", Args: frame.AtMostOne("session"),
		RunE: func(cmd *cobra.Command, names []string) error {
			r.Force = f.Force
			return runUncompact(cmd.Context(), env, names, f, r)
		},
	}
	f.Add(cmd, "uncompact even if the agent is using the session")
	cmd.Flags().BoolVar(&r.Trim, "trim", false, "trim outputs of tools if the next request would be too large")
	return cmd
}

func runUncompact(ctx context.Context, env *frame.Env, names []string, f frame.WriteFlags, r repair.UncompactRequest) error {
	c, head, err := frame.OpenSession(ctx, env, names, env.Command, !f.DryRun)
	if err != nil {
		return err
	}
	u, err := c.ProposeUncompact(ctx, head, r)
	if err != nil {
		return err
	}
	env.SetAnswers(UncompactAnswer{Repairs: []show.RepairJSON{}, Uncompact: &uncompactJSON{
		head.ID, u.Messages, u.Earlier, u.Before, u.After, u.Window, show.TrimmedJSON(u.Outputs),
	}})
	show.Header(env.Terminal, head)
	env.Printf("  %s sent again.\n", term.CountWords(u.Messages, "message is", "messages are"))
	for _, d := range u.Fixed {
		env.SayAt(2, term.OneLine(d.Why+" "+d.Fix, 400))
	}
	show.Trimmed(env.Terminal, u.Outputs)
	show.Sizes(env.Terminal, u.Before, u.After, u.Window)
	if err := frame.ApplyOne(ctx, env, c, f, u.Plan, head, "Remove the newest compaction of %s?"); err != nil {
		return err
	}
	if u.Earlier > 0 {
		env.Say("There is an earlier compaction. Run \"mend restore --compaction %s\" again to remove it, too.", head.ID)
	}
	return nil
}

// A UncompactAnswer is the answer of uncompact.
type UncompactAnswer struct {
	Uncompact *uncompactJSON    `json:"uncompact,omitempty"`
	Repairs   []show.RepairJSON `json:"repairs"`
	frame.ContinueAnswer
}

type uncompactJSON struct {
	Session  string            `json:"session"`
	Messages int               `json:"messages"` // messages that are sent again
	Earlier  int               `json:"earlier"`  // remaining compactions
	Before   int               `json:"before"`
	After    int               `json:"after"`
	Window   int               `json:"window"`
	Outputs  []show.OutputJSON `json:"outputs"`
}
