package diagnose

import (
	"errors"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// renameFixes returns the fixes of a part whose id does not begin like that of a part:
// the agent omits it or cannot show the session (docs/opencode.md F12). The part gets
// another id that keeps its position as far as that is known.
func (k *facts) renameFixes(f finding) []repair.Fix {
	g, ok := k.contextOf(f.Ref)
	if !ok || g.p == nil {
		return nil
	}
	var fixes []repair.Fix
	for _, place := range []struct {
		text string
		id   func(recordContext) string
	}{
		{"The part gets the id that follows the wrong prefix.", recordContext.innerID},
		{"The part gets an id before the end of the last step.", recordContext.beforeFinish},
		{"The part gets an id that sorts last.", recordContext.lastID},
	} {
		if id := place.id(g); id != "" && (g.m.Free(id) || id == g.p.Ref.Part) {
			fixes = append(fixes, repair.Fix{Text: place.text, Edit: g.rename(id)})
		}
	}
	return fixes
}

// rename returns the edit that gives the part another id, and completes it.
func (g recordContext) rename(id string) func(repair.Draft) error {
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

// beforeFinish returns an id directly before the end of the last step, "" if there is
// none.
func (g recordContext) beforeFinish() string {
	ids := g.ids(func(*record.Part) bool { return true })
	ends := g.ids(func(p *record.Part) bool { return p.Type == record.TypeStepFinish })
	if len(ends) == 0 {
		return ""
	}
	end := ends[len(ends)-1]
	i := slices.Index(ids, end)
	if i == 0 {
		return ""
	}
	if id := ids[i-1] + "_" + g.p.ID; id < end {
		return id
	}
	return ""
}

// lastID returns an id that sorts after all others of the message.
func (g recordContext) lastID() string {
	ids := g.ids(func(*record.Part) bool { return true })
	if len(ids) == 0 {
		return partPrefix + g.p.ID
	}
	return ids[len(ids)-1] + "_" + g.p.ID
}

// ids returns the valid ids of those other parts of the message that accept accepts.
func (g recordContext) ids(accept func(*record.Part) bool) []string {
	var ids []string
	for i := range g.m.Parts {
		if p := &g.m.Parts[i]; p.Ref != g.p.Ref && strings.HasPrefix(p.ID, partPrefix) && accept(p) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
