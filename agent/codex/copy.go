package codex

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/repair"
)

// Copy implements [agent.Store]. It copies only the rollout, because Codex rebuilds everything else from it.
func (s *store) Copy(_ context.Context, head change.Head) (c agent.Copy, err error) {
	src, stamp, err := s.read(head)
	if err != nil {
		return c, err
	}
	c = agent.Copy{
		Records: []change.Record{{Ref: rollout.PlainRef(head.Ref), Data: src.Plain, Mode: src.Mode}},
		Stamp:   stamp,
	}
	c.Messages, c.First = rollout.CountMessages(src.Plain)
	if c.Messages == 0 && jsonedit.IsForeign(src.Plain) {
		c.Unread = []string{"the rollout: " + jsonedit.Foreign}
	}
	if src.Torn {
		c.Unread = []string{"the end of the compressed rollout"}
	}
	return c, nil
}

// CountMissing implements [agent.Reader]. Codex only appends to a rollout, even if the user reverts a turn.
func (*store) CountMissing(current, earlier []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	var data []byte
	for _, r := range current {
		data = append(data, r.Data...)
	}
	for _, r := range earlier {
		if len(current) > 0 && ownID(r.Ref) != ownID(current[0].Ref) {
			continue // see RemovedMessages
		}
		records, messages, unnamed := rollout.CountMissing(data, r.Data, edited[r.Ref.WithoutProject()])
		lack.Records, lack.Messages = lack.Records+records, lack.Messages+messages
		if unnamed {
			lack.Records++
		}
	}
	return lack
}

// RemovedMessages implements [agent.Store]. If the user goes back to an earlier prompt, Codex begins another rollout of
// the session, and leaves the one that mend may have kept as it is. No message of a rollout has a record of its own.
func (*store) RemovedMessages(_ context.Context, head change.Head) (map[string]bool, error) {
	return map[string]bool{"": ownID(head.Ref) != head.ID}, nil
}

// Restore implements [agent.Store]. Later lines of the session stay after the kept ones, unless the exact state is
// requested.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op,
	r agent.RestoreRequest,
) (agent.Restoration, error) {
	result := agent.Restoration{}
	if len(kept) == 1 && kept[0].Ref.Kind == change.KindTranscript { // the file does not exist, see [agent.Store]
		result.Ops = kept
		return result, nil
	}
	i := slices.IndexFunc(kept, func(o change.Op) bool {
		return o.Ref.Kind == change.KindSession && o.Ref.Session == head.ID
	})
	if i < 0 {
		return result, fmt.Errorf("restoring session %s: the copy has no rollout", head.ID)
	}
	now, err := s.Read(ctx, []change.Ref{head.Ref})
	if err != nil {
		return result, err
	}
	// The rollout may have been archived, or compressed, since.
	post := change.RecordOf(rollout.PlainRef(head.Ref), kept[i].Post)
	var before []*change.Record
	if now[0] != nil && ownID(kept[i].Ref) != ownID(head.Ref) {
		return result, nil // the user went back since, which begins another rollout and leaves this one as it is
	}
	if now[0] != nil {
		src, _, err := s.read(head)
		if err != nil {
			return result, err
		}
		before = append(before, &src.Record)
		present := src.Plain
		result.Messages, _ = rollout.CountMessages(present)
		lost, _, unnamed := rollout.CountMissing(present, post.Data, r.Edited[head.Ref.WithoutProject()])
		gained, _, _ := rollout.CountMissing(post.Data, present, false)
		cut := len(present) < len(post.Data) && bytes.HasPrefix(post.Data, present)
		switch {
		case bytes.Equal(present, post.Data), !r.Exact && lost == 0 && !cut && !unnamed:
			return result, nil
		case r.Exact && gained > 0 && !r.Force:
			return result, fail.New(fail.Refused, "use --at TIME --force to replace the session with the copy of that time",
				"restoring session %s: it has continued differently since the copy was made", head.ID)
		case !r.Exact:
			post.Data = rollout.Join(post.Data, present, head.ID)
			result.Joined = len(post.Data) > len(kept[i].Post.Data)
		}
	}
	result.Messages, _ = rollout.CountMessages(post.Data)
	result.Ops = change.Diff(slices.Values(before), slices.Values([]*change.Record{&post}))
	return result, nil
}

// Move implements [agent.Store]. It changes the folder in the session's first record, in its newest turn and in its
// row in the index.
func (s *store) Move(ctx context.Context, all []agent.Relocation, each func(change.Plan) error) error {
	return agent.PlanMoves(ctx, all, each, func(r agent.Relocation) ([]change.Op, error) {
		if r.Head.Directory == r.To {
			return nil, nil
		}
		c, err := s.Case(ctx, r.Head, repair.Request{})
		if err != nil {
			return nil, err
		}
		after, err := c.State.(*rollout.State).WithFolder(r.To)
		if err != nil {
			return nil, err
		}
		return change.Diff(c.Records, after.Records), nil
	})
}

func (s *store) Space(ctx context.Context, _ func(done, total int64)) (agent.Space, error) {
	return agent.SpaceOf(ctx, s, [][2]string{
		{rollout.Sessions, agent.Conversations},
		{rollout.Archived, agent.Conversations},
		{".mend", "kept by mend beside the sessions"},
		{"", "other files of Codex"},
	})
}

func ownID(ref change.Ref) string {
	p, _ := rollout.PathOf(ref)
	_, own := rollout.NameIDs(p)
	return own
}

// Clean implements [agent.Store]: it removes the rollouts of the session and its row.
func (s *store) Clean(ctx context.Context, r agent.CleanRequest) (agent.Cleaned, error) {
	return r.RemoveFiles(ctx, func(h change.Head, _ *agent.Cleaned) ([]change.Op, error) {
		c, err := s.Case(ctx, h, repair.Request{})
		if err != nil {
			return nil, err
		}
		ops := change.Diff(c.Records, func(func(*change.Record) bool) {})
		for _, p := range s.namedAfter(ofSession + h.ID) {
			one, err := s.SessionAt(ctx, p)
			if err != nil || one.Ref == h.Ref {
				continue
			}
			e, err := s.Load(one.Ref)
			if err != nil {
				return nil, err
			}
			image := change.ImageOf(&change.Record{Ref: one.Ref, Data: e.Data, Mode: e.Mode.Perm()})
			ops = append(ops, change.Op{Ref: one.Ref, Pre: image})
		}
		return ops, nil
	})
}
