package mend

import (
	"cmp"
	"context"
	"fmt"

	"mend/agent"
	"mend/change"
	"mend/repair"
)

// A Forecast is what the agent will send for a session when the user types one
// more prompt, and what the provider will refuse of it.
type Forecast = agent.Forecast

// Forecast returns the next request of a session. It reads only. The error wraps
// [errors.ErrUnsupported] if mend does not know the requests of the agent.
func (c *Store) Forecast(ctx context.Context, head change.Head) (Forecast, error) {
	return c.store.Forecast(ctx, head, c.repairOptions())
}

// Profile returns the known version of the agent whose requests are like those of the
// version that diagnoses are made for.
func (c *Store) Profile() string {
	return c.store.Profile(c.AgentVersion())
}

// KnowsVersion reports whether mend was verified with that version of the agent, and whether
// it is newer than all of those; with "", with the version that diagnoses are made for, which
// it returns.
func (c *Store) KnowsVersion(version string) (resolved string, verified, newer bool) {
	version = cmp.Or(version, c.AgentVersion())
	return version, c.store.Verified(version), c.store.Newer(version)
}

// VersionNote says as which version the agent's requests are built, if mend was not verified
// with the version that diagnoses are made for; else "".
func (c *Store) VersionNote() string {
	version, verified, _ := c.KnowsVersion("")
	if version == "" || verified {
		return ""
	}
	return fmt.Sprintf("as %s builds them; %.30s was not verified", c.Profile(), version)
}

// CompareRequest compares the messages of a request that the agent is making with the blocks
// that mend expects in it, and returns the first that differs; "" for none. An answer that has
// begun is not compared, nor is a message of which mend expects nothing, unless it is the first.
func (c *Store) CompareRequest(ctx context.Context, id string, sent []repair.SentMessage) (difference string, err error) {
	head, err := c.Session(ctx, id)
	if err != nil {
		return "", err
	}
	f, err := c.Forecast(ctx, head)
	if err != nil || len(sent) == 0 {
		return "", err
	}
	at := map[string]int{}
	parts := map[string]string{} // types, by message and part
	for i, m := range sent {
		at[m.ID] = i
		for _, p := range m.Parts {
			parts[m.ID+"/"+p.ID] = p.Type
		}
	}
	last := -1
	for _, t := range f.Request.Turns {
		for _, ref := range t.Messages {
			i, ok := at[ref.Message]
			switch {
			case !ok && last == len(sent)-1:
				continue
			case !ok || i < last || last < 0 && i > 0:
				return fmt.Sprintf("where mend expects message %s it sends %.200q", ref.Message, sent[min(last+1, len(sent)-1)].ID), nil
			}
			last = i
		}
		for _, b := range t.Blocks {
			ref := b.Ref()
			if _, ok := at[ref.Message]; !ok || ref.Part == "" {
				continue
			}
			if kind, ok := parts[ref.Message+"/"+ref.Part]; !ok || b.IsThinking() && kind != "reasoning" || b.ToolID != "" && kind != "tool" {
				return fmt.Sprintf("it sends no %s in part %s, which mend expects", b.Type, ref.Part), nil
			}
		}
	}
	if last < 0 { // the store may have changed since
		return "", fmt.Errorf("simulating the request of session %s: it has no messages", id)
	}
	if last < len(sent)-1 {
		return fmt.Sprintf("it sends message %.200q, which mend does not expect", sent[last+1].ID), nil
	}
	return "", nil
}
