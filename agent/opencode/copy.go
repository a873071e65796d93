package opencode

import (
	"context"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/change"
)

// RemovedMessages implements [agent.Store]. A tree does not show it.
func (s *store) RemovedMessages(ctx context.Context, head change.Head) (map[string]bool, error) {
	if db, ok := s.records.(*database.Store); ok {
		return db.RemovedMessages(ctx, head.ID)
	}
	return nil, nil
}

// Copy implements [agent.Store]. From a database it copies the rows of the session, its project, its messages and its
// parts. From a tree it copies their files and the record of the session's file changes. OpenCode needs nothing else to
// list a session and to answer in it. It does not copy data that OpenCode rebuilds (events and their counter, rows of
// project_directory), data outside the conversation (todo, share, queued input, snapshots of the project's files), and
// files in a tree that are not records.
func (s *store) Copy(ctx context.Context, head change.Head) (c agent.Copy, err error) {
	loaded, stamp, err := s.LoadRaw(ctx, head)
	if err != nil {
		return c, err
	}
	c = agent.Copy{Stamp: stamp, Messages: len(loaded.Messages)}
	if len(loaded.Messages) > 0 {
		c.First = loaded.Messages[0].Ref.Message
	}
	n := 3
	for i := range loaded.Messages {
		n += 1 + len(loaded.Messages[i].Parts)
	}
	c.Records = make([]change.Record, 0, n)
	add := func(r *change.Record) {
		if r.Defect != nil && (r.Defect.Kind == change.Unreadable || r.Ref.Validate() != nil) {
			c.Unread = append(c.Unread, r.Ref.String()+": "+r.Defect.Why)
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
		c.Unread = append(c.Unread, "it has no data of its own")
	}
	if loaded.Diff.Ref.Kind != 0 {
		add(&loaded.Diff)
	}
	for i := range loaded.Messages {
		add(&loaded.Messages[i].Record)
		for j := range loaded.Messages[i].Parts {
			add(&loaded.Messages[i].Parts[j].Record)
		}
	}
	for _, stray := range loaded.Stray {
		switch stray.Kind {
		case change.StrayHidden, change.StrayUnread, change.StrayPlace, change.StrayLink, change.StrayIgnored:
			c.Unread = append(c.Unread, stray.Path+": "+stray.Why)
		case change.StrayOther, change.StrayFile, change.StrayRow, change.StraySession:
		}
	}
	return c, nil
}
