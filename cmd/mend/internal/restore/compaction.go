package restore

import (
	"context"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/term"
	"mend/repair"
)

// runUncompact removes the newest compaction of a session.
func runUncompact(ctx context.Context, env *frame.Env, names []string, f frame.WriteFlags, r repair.UncompactRequest) error {
	c, head, err := frame.OpenSession(ctx, env, names, env.Command, !f.DryRun)
	if err != nil {
		return err
	}
	u, err := c.ProposeUncompact(ctx, head, r)
	if err != nil {
		return err
	}
	env.SetAnswers(Answer{Repairs: []show.RepairJSON{}, Uncompact: &uncompactJSON{
		head.ID, u.Messages, u.Earlier, u.Before, u.After, u.Window, show.TrimmedJSON(u.Outputs),
	}})
	show.Header(env.Terminal, head)
	env.Printf("  %s sent again.\n", term.CountWords(u.Messages, "message is", "messages are"))
	for _, d := range u.Fixed {
		env.SayAt(2, "%s", term.OneLine(d.Why+" "+d.Fix, 400))
	}
	show.PrintTrimmed(env.Terminal, u.Outputs)
	show.Sizes(env.Terminal, u.Before, u.After, u.Window)
	if err := frame.ApplyOne(ctx, env, c, f, u.Plan, head, "Remove the newest compaction of %s?"); err != nil {
		return err
	}
	if u.Earlier > 0 {
		env.Say("There is an earlier compaction. Run \"mend restore --compaction %s\" again to remove it, too.", head.ID)
	}
	return nil
}

type uncompactJSON struct {
	Session  string            `json:"session"`
	Messages int               `json:"messages"` // number of messages that are sent again
	Earlier  int               `json:"earlier"`  // number of earlier compactions, which remain
	Before   int               `json:"before"`
	After    int               `json:"after"`
	Window   int               `json:"window"`
	Outputs  []show.OutputJSON `json:"outputs"`
}
