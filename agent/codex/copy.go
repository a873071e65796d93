package codex

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/agent/sessionfile"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/repair"
)

// Copy implements [agent.Store]. It copies only the rollouts of the session, because Codex rebuilds everything else from
// them. The last one is the current one.
func (s *store) Copy(ctx context.Context, head change.Head) (c agent.Copy, err error) {
	e, err := s.Load(head.Ref)
	if err != nil {
		return c, err
	}
	current, err := s.decode(head.Ref, e)
	if err != nil {
		return c, err
	}
	c.Stamp = sessionfile.StampOf(s.readStamped(head), e)
	for _, ref := range s.rollouts(ctx, head) {
		one := current
		if ref != head.Ref {
			if one, err = s.readOne(ref); err != nil {
				c.Unread = append(c.Unread, fmt.Sprintf("another rollout of the session: %v", err))
				continue
			}
		}
		c.Records = append(c.Records, change.Record{Ref: rollout.PlainRef(ref), Data: one.Plain, Mode: one.Mode})
		n, first := rollout.CountMessages(one.Plain)
		c.Messages, c.First = c.Messages+n, cmp.Or(c.First, first)
		if n == 0 && jsonedit.IsForeign(one.Plain) {
			c.Unread = append(c.Unread, "the rollout: "+jsonedit.Foreign)
		}
		if one.Partial {
			c.Unread = append(c.Unread, "the end of the compressed rollout")
		}
	}
	return c, nil
}

// CountMissing implements [agent.Reader]. Codex only appends to a rollout, even if the user reverts a turn. If the user
// goes back to an earlier prompt, it begins another rollout of the session, and leaves the earlier ones as they are.
func (*store) CountMissing(current, earlier []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	if len(earlier) == 0 {
		return lack
	}
	isEdited := edited[earlier[0].Ref.WithoutProject()]
	records, messages, unnamed := rollout.CountMissing(joined(current), joined(earlier), isEdited)
	if unnamed {
		records++
	}
	return agent.Lack{Records: records, Messages: messages}
}

// joined returns the lines of all rollouts.
func joined(all []change.Record) []byte {
	data := make([][]byte, len(all))
	for i := range all {
		data[i] = all[i].Data
	}
	return bytes.Join(data, []byte("\n"))
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
	present := map[string]change.Ref{}
	for _, ref := range s.rollouts(ctx, head) {
		present[ownID(ref)] = ref
	}
	found, current := false, false // whether the copy has a rollout, and the one that Codex continues
	for _, o := range kept {
		if o.Ref.Kind != change.KindSession || o.Ref.Session != head.ID {
			continue
		}
		found = true
		// The rollout may have been archived, compressed or renamed since.
		ref := cmp.Or(present[ownID(o.Ref)], present[""], o.Ref)
		current = current || ref == head.Ref
		own := r
		own.Exact = r.Exact && ref == head.Ref // Codex changes no other rollout
		one, err := s.restoreRollout(ctx, ref, o.Post, own)
		if err != nil {
			return result, err
		}
		result.Ops = append(result.Ops, one.Ops...)
		result.Messages += one.Messages
		result.Joined = result.Joined || one.Joined
	}
	if !found {
		return result, fmt.Errorf("restoring session %s: the copy has no rollout", head.ID)
	}
	if e, err := s.Stat(head.Ref); err == nil && e.IsFile() && r.Exact && !current {
		return agent.Restoration{}, fail.New(fail.Refused, "without --at, what is missing comes back",
			"restoring session %s: you have gone back to an earlier prompt since the copy was made, and Codex continues there",
			head.ID)
	}
	return result, nil
}

// restoreRollout plans to restore one rollout from its copy.
func (s *store) restoreRollout(ctx context.Context, ref change.Ref, kept *change.Image, r agent.RestoreRequest) (
	result agent.Restoration, err error,
) {
	now, err := s.Read(ctx, []change.Ref{ref})
	if err != nil {
		return result, err
	}
	post := change.RecordOf(rollout.PlainRef(ref), kept)
	var before []*change.Record
	if now[0] != nil {
		src, err := s.readOne(ref)
		if err != nil {
			return result, err
		}
		before = append(before, &src.Record)
		present := src.Plain
		result.Messages, _ = rollout.CountMessages(present)
		lost, _, unnamed := rollout.CountMissing(present, post.Data, r.Edited[ref.WithoutProject()])
		gained, _, _ := rollout.CountMissing(post.Data, present, false)
		cut := len(present) < len(post.Data) && bytes.HasPrefix(post.Data, present)
		switch {
		case bytes.Equal(present, post.Data), !r.Exact && lost == 0 && !cut && !unnamed:
			return result, nil
		case r.Exact && gained > 0 && !r.Force:
			return result, fail.New(fail.Refused, "use --at TIME --force to replace the session with the copy of that time",
				"restoring session %s: it has continued differently since the copy was made", ref.Session)
		case !r.Exact:
			post.Data = rollout.Join(post.Data, present, ref.Session)
			result.Joined = len(post.Data) > len(kept.Data)
		}
	}
	result.Messages, _ = rollout.CountMessages(post.Data)
	result.Ops = change.Diff(slices.Values(before), slices.Values([]*change.Record{&post}))
	return result, nil
}

// Move implements [agent.Store]. It changes the folder in the session's first record, in its newest turn and settings,
// and in its row in the index. Earlier rollouts of the session stay: later ones refer to byte offsets in them.
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
		for _, ref := range s.otherRollouts(ctx, h) {
			other, err := s.readOne(ref)
			if err != nil {
				return nil, err
			}
			ops = append(ops, change.Op{Ref: ref, Pre: change.ImageOf(&other.Record)})
		}
		return ops, nil
	})
}
