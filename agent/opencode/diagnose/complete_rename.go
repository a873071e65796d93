package diagnose

import (
	"errors"
	"fmt"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// renameFixes returns the fixes of a part whose id does not begin like that of a part: the agent omits
// it or cannot show the session (docs/opencode.md F12). The part gets the id behind a wrong prefix,
// or one that sorts last.
func (k *facts) renameFixes(f finding) (fixes []repair.Fix) {
	g, ok := k.contextOf(f.Ref)
	if !ok || g.p == nil {
		return nil
	}
	for _, id := range [...]string{g.innerID(), g.lastID()} {
		if id != "" && (g.m.Free(id) || id == g.p.Ref.Part) {
			fixes = append(fixes, repair.Fix{Text: fmt.Sprintf("It gets the id %s.", id), Edit: g.rename(id)})
		}
	}
	return fixes
}

// rename returns the edit that gives the part another id, and completes it.
func (g recordContext) rename(id string) func(repair.Editor) error {
	return draftEdit(func(d *draft) error {
		to := g.p.Ref
		to.Part = id
		r, err := record.Move(&g.p.Record, to)
		if err != nil {
			return err
		}
		m, err := d.message(g.p.Ref)
		if err != nil {
			return err
		}
		moved := record.NewPart(r)
		if data, _, err := completedPart(g.m, &moved); err == nil {
			moved = record.NewPart(with(r, data))
		}
		if change.ValidateID(id) != nil {
			return errors.New("no id for the part")
		}
		m.Remove(g.p.Ref)
		m.Insert(moved)
		return nil
	})
}

// innerID returns the valid id of the part that follows a wrong prefix, or under which
// the record is stored; "" if there is none.
func (g recordContext) innerID() string {
	if strings.HasPrefix(g.p.Ref.Part, partPrefix) {
		return g.p.Ref.Part
	}
	if i := strings.Index(g.p.ID, partPrefix); i >= 0 {
		return g.p.ID[i:]
	}
	return ""
}

// lastID returns an id that sorts after all others of the message.
func (g recordContext) lastID() string {
	last := ""
	for i := range g.m.Parts {
		if p := &g.m.Parts[i]; p.Ref != g.p.Ref && strings.HasPrefix(p.ID, partPrefix) {
			last = max(last, p.ID)
		}
	}
	if last == "" {
		return partPrefix + g.p.ID
	}
	return last + "_" + g.p.ID
}
