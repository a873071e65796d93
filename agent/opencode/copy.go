package opencode

import (
	"context"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/change"
)

// Copy implements [agent.Store]. Of a database the rows of session, project, messages and parts are copied, of
// a tree their files. That is all that OpenCode needs to list a session and to answer in it with
// everything. Not copied are what it makes anew (events and their counter, rows of project_directory), what
// is no part of the conversation (todo, share, queued input, diffs, snapshots of the project's files), and
// files in a tree that are no records.
func (s *store) Copy(ctx context.Context, head change.Head) (agent.Copy, error) {
	load := s.Load
	if db, ok := s.records.(*database.Store); ok {
		load = db.LoadRaw
	}
	loaded, stamp, err := load(ctx, head)
	if err != nil {
		return agent.Copy{}, err
	}
	c := agent.Copy{Stamp: stamp, Messages: len(loaded.Messages)}
	if len(loaded.Messages) > 0 {
		c.First = loaded.Messages[0].Ref.Message
	}
	n := 2
	for i := range loaded.Messages {
		n += 1 + len(loaded.Messages[i].Parts)
	}
	c.Records = make([]change.Record, 0, n)
	add := func(r *change.Record) {
		if r.Defect != nil && (r.Defect.Kind == change.Unreadable || r.Ref.Validate() != nil) {
			c.Unread = r.Ref.String() + ": " + r.Defect.Why
			return
		}
		c.Records = append(c.Records, *r)
	}
	if loaded.ProjectRow.Ref.Kind != 0 {
		add(&loaded.ProjectRow)
	}
	if loaded.Info.Ref.Kind != 0 {
		add(&loaded.Info)
	} else {
		c.Unread = "it has no record of its own"
	}
	for i := range loaded.Messages {
		add(&loaded.Messages[i].Record)
	}
	for i := range loaded.Messages {
		for j := range loaded.Messages[i].Parts {
			add(&loaded.Messages[i].Parts[j].Record)
		}
	}
	for _, stray := range loaded.Stray {
		switch stray.Kind {
		case change.StrayHidden, change.StrayUnread, change.StrayPlace, change.StrayLink:
			c.Unread = stray.Path + ": " + stray.Why
		case change.StrayOther, change.StrayIgnored, change.StrayFile, change.StrayRow, change.StraySession:
		}
	}
	return c, nil
}
