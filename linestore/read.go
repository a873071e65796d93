package linestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mend/change"
	"mend/internal/safedir"
)

// Read returns the content of the records, in the order of refs: nil for a missing record. The error
// is about the first record that cannot be read.
func (s *Store) Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
	byPath, err := s.locateAll(refs)
	if err != nil {
		return nil, fmt.Errorf("reading records: %w", err)
	}
	images := make(map[change.Ref]*change.Image, len(refs))
	for p, ops := range byPath {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading records: %w", err)
		}
		if err := s.readTranscript(p, ops, images); err != nil {
			return nil, fmt.Errorf("reading %v %s: %w", ops[0].Ref.Kind, ops[0].Ref, err)
		}
	}
	list := make([]*change.Image, len(refs))
	for i, ref := range refs {
		list[i] = images[ref]
	}
	return list, nil
}

// locateAll returns ops on the records without images, by the path of their transcript.
func (s *Store) locateAll(refs []change.Ref) (map[string][]lineOp, error) {
	byPath := map[string][]lineOp{}
	for _, ref := range refs {
		p, op, err := s.locate(change.Op{Ref: ref})
		if err != nil {
			return nil, err
		}
		byPath[p] = append(byPath[p], op)
	}
	return byPath, nil
}

// CheckLinks returns a [*change.LinkedError] about the first transcript that cannot be changed, or whose change
// could not be undone.
func (s *Store) CheckLinks(ctx context.Context, refs []change.Ref) error {
	byPath, err := s.locateAll(refs)
	if err != nil {
		return fmt.Errorf("checking the links of records: %w", err)
	}
	root, err := safedir.OpenRoot(s.id.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		why, err := root.WriteProblem(p) // an append needs permission to write the file, its undo permission to replace it
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return fmt.Errorf("checking the links of %s: %w", p, err)
		}
		if why != "" {
			ref := byPath[p][0].Ref
			ref.Kind = change.KindSession
			return &change.LinkedError{Ref: ref, Why: why}
		}
	}
	return nil
}

func (s *Store) readTranscript(p string, ops []lineOp, images map[change.Ref]*change.Image) error {
	tx, err := s.open(p, ops)
	if err != nil {
		return err
	}
	defer tx.close()
	e, err := tx.readTarget()
	if err != nil || !e.Exists {
		return err
	}
	if why := e.ReadProblem(); why != "" {
		return errors.New(why)
	}
	t := tx.newTranscript(e.Data)
	for i := range ops {
		now := t.image(&ops[i])
		if ops[i].whole() {
			now.Mode = e.Mode.Perm()
		}
		images[ops[i].Ref] = now
	}
	return nil
}

func (tx *transaction) readTarget() (safedir.Entry, error) {
	if tx.dir == nil {
		return safedir.Entry{}, nil
	}
	return tx.dir.Read(tx.name, change.MaxText)
}

// conflicts returns the ops on records that hold other content than their Pre.
func (tx *transaction) conflicts(e *safedir.Entry) (t transcript, list []change.Conflict) {
	why := e.ReplaceProblem()
	if !e.Exists {
		why = "the transcript no longer exists"
	}
	t = tx.newTranscript(e.Data)
	for i := range tx.ops {
		op := &tx.ops[i]
		now := t.image(op)
		if why == "" && t.state(op) == holdsPre {
			continue
		}
		list = append(list, tx.conflict(op, now, why))
	}
	return t, list
}

func (tx *transaction) conflict(op *lineOp, now *change.Image, why string) change.Conflict {
	switch {
	case why != "":
	case now == nil:
		why = "another program removed it"
	case op.Pre == nil:
		why = "another program wrote it"
	default:
		why = "another program changed it"
	}
	return change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: now, Why: why}
}

const changedMeanwhile = "another program changed the transcript at the same time"
