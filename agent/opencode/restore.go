package opencode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/agent/opencode/diagnose"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
)

// dropMovedSession returns the kept records. If the session was moved within the tree since then, its own record is
// left out.
func (s *store) dropMovedSession(ctx context.Context, head change.Head, kept []change.Op) ([]change.Op, error) {
	if s.tree == nil || head.Ref.Kind == 0 {
		return kept, nil
	}
	own, err := s.Read(ctx, []change.Ref{head.Ref})
	if err != nil || own[0] == nil {
		return kept, err
	}
	isFormer := func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Ref != head.Ref }
	return slices.DeleteFunc(slices.Clone(kept), isFormer), nil
}

// Restore implements [agent.Store]. Ids of messages and parts are unique, so one session can have kept records and
// records that the agent has added since: they are joined unless the exact state is requested. The restored session is
// listed, even if it was archived.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op,
	r agent.RestoreRequest,
) (agent.Restoration, error) {
	result := agent.Restoration{}
	kept, err := s.dropMovedSession(ctx, head, kept)
	if err != nil {
		return result, err
	}
	refs := make([]change.Ref, len(kept))
	keptRefs := make(map[change.Ref]bool, len(kept))
	for i, o := range kept {
		refs[i], keptRefs[o.Ref] = o.Ref, true
	}
	now, err := s.Read(ctx, refs)
	if err != nil {
		return result, err
	}
	var added []change.Ref
	var defects map[change.Ref]bool
	if !r.Gone {
		if added, defects, err = s.addedRecords(ctx, head, keptRefs); err != nil {
			return result, err
		}
	}
	missing, incomplete := 0, false
	for i, o := range kept {
		incomplete = incomplete || now[i] == nil
		if why := ownedByOther(o, now[i]); why != "" {
			return result, fail.New(fail.Refused, "the kept records cannot be stored beside that session",
				"restoring session %s: %s", head.ID, why)
		}
		if now[i] == nil && isMessage(o.Ref) {
			missing++
		}
	}
	if result.Joined = len(added) > 0 && !r.Exact; result.Joined {
		refs = append(refs, added...)
	}
	result.Messages = countMessages(refs)
	if r.Exact && !r.Force && missing > 0 && slices.ContainsFunc(added, isMessage) {
		return result, fail.New(fail.Refused, "without --at mend adds what is missing to the present session; --force "+
			"replaces the session, and undo brings it back",
			"restoring session %s: it has continued differently since then: it has new messages, and "+
				"lacks %d of the old ones", head.ID, missing)
	}
	for i, o := range kept {
		switch shared := o.Ref.Kind == change.KindProject; {
		case now[i] == nil:
			if o.Ref.Kind == change.KindSession {
				o.Post = withoutArchived(o)
			}
		case shared, now[i].Equal(o.Post), !r.Exact && r.Edited[o.Ref.WithoutProject()]:
			continue
		case r.Exact, defects[o.Ref], incomplete && !result.Joined && o.Ref.Kind != change.KindSession,
			hasLostContent(change.RecordOf(o.Ref, now[i]), change.RecordOf(o.Ref, o.Post)):
		default: // the agent's record may be newer
			continue
		}
		result.Ops = append(result.Ops, o)
	}
	if r.Exact {
		for _, ref := range added {
			result.Ops = append(result.Ops, change.Op{Ref: ref})
		}
	}
	return result, nil
}

func isMessage(ref change.Ref) bool { return ref.Kind == change.KindMessage }

func countMessages(refs []change.Ref) (n int) {
	for _, ref := range refs {
		if isMessage(ref) {
			n++
		}
	}
	return n
}

// addedRecords returns the session's messages and parts that were not kept, and its unusable records.
func (s *store) addedRecords(ctx context.Context, head change.Head, previous map[change.Ref]bool) (added []change.Ref,
	defects map[change.Ref]bool, err error,
) {
	heads, err := s.List(ctx)
	i := slices.IndexFunc(heads, func(h change.Head) bool { return h.ID == head.ID })
	if err != nil || i < 0 {
		return nil, nil, err
	}
	loaded, _, err := s.Load(ctx, heads[i])
	if err != nil {
		return nil, nil, err
	}
	defects = map[change.Ref]bool{}
	for r := range loaded.AllRecords {
		if r.Defect != nil {
			defects[r.Ref] = true
		}
		if !previous[r.Ref] && (r.Ref.Kind == change.KindMessage || r.Ref.Kind == change.KindPart) {
			added = append(added, r.Ref)
		}
	}
	return added, defects, nil
}

// ownedByOther returns why a kept record cannot be restored: its id now belongs to a row of another session or message.
func ownedByOther(o change.Op, now *change.Image) string {
	parent := map[change.Kind]string{change.KindMessage: "session_id", change.KindPart: "message_id"}[o.Ref.Kind]
	if parent == "" || now == nil || now.Mode != 0 {
		return ""
	}
	then, err := change.RowOf(o.Ref, o.Post)
	row, err2 := change.RowOf(o.Ref, now)
	if errors.Join(err, err2) != nil {
		return ""
	}
	a, _ := then.Col(parent)
	b, _ := row.Col(parent)
	if string(a.Bytes) == string(b.Bytes) {
		return ""
	}
	return fmt.Sprintf("its %v %s has an id that OpenCode has used again, for %.60s", o.Ref.Kind, o.Ref, b.Bytes)
}

// withoutArchived returns the image of a session's record without its archive mark.
func withoutArchived(o change.Op) *change.Image {
	listed, err := diagnose.WithoutArchived(change.RecordOf(o.Ref, o.Post))
	if err != nil {
		return o.Post
	}
	return change.ImageOf(&listed)
}

func (*store) CountMissing(now, then []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	present := make(map[change.Ref]*change.Record, len(now))
	for i := range now {
		present[now[i].Ref.WithoutProject()] = &now[i]
	}
	lastGone := false         // the last message is missing
	elsewhere := false        // something before the missing last messages is missing, too
	gone := map[string]bool{} // missing messages
	for i := range then {
		ref := then[i].Ref.WithoutProject()
		r := present[ref]
		isContent := ref.Kind == change.KindMessage || ref.Kind == change.KindPart
		if !isContent || edited[ref] || r != nil && !hasLostContent(*r, then[i]) {
			if isMessage(ref) {
				lastGone = false
				elsewhere = elsewhere || len(gone) > 0 // a present message follows a missing one
			}
			continue
		}
		lack.Records++
		if isMessage(ref) {
			lack.Messages++
			lastGone = r == nil
			gone[ref.Message] = lastGone
		}
		elsewhere = elsewhere || r != nil || !gone[ref.Message]
	}
	lack.TakenBack = lastGone && !elsewhere
	return lack
}

// contents are the members of a message or a part that have the content of the conversation.
var contents = []string{"role", "type", "text", "url", "tool", "callID"}

// hasLostContent reports whether a message or a part has lost content, or is no longer a record. An output of a tool
// that the agent itself has cleared does not count as lost.
func hasLostContent(now, then change.Record) bool {
	if now.Ref.Kind != change.KindMessage && now.Ref.Kind != change.KindPart || bytes.Equal(now.Data, then.Data) &&
		now.Class == then.Class {
		return false
	}
	old, current := jsonedit.Parse(then.Data), jsonedit.Parse(now.Data)
	if old.Kind() != '{' {
		return false
	}
	if current.Kind() != '{' {
		return true
	}
	for _, name := range contents {
		if jsonedit.HasLostText(current.Get(name), old.Get(name)) {
			return true
		}
	}
	old, current = old.Get("state"), current.Get("state")
	compacted := current.Get("time").Get("compacted").Kind() == '0'
	for _, name := range []string{"input", "output", "attachments"} {
		if (name == "input" || !compacted) && jsonedit.HasLostText(current.Get(name), old.Get(name)) {
			return true
		}
	}
	return false
}

// RemovedMessages implements [agent.Store]. It is nil for a tree, where a removal leaves no trace.
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
