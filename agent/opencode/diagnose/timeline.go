package diagnose

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"mend/agent/opencode/record"
	"mend/session"
)

// A timeline is the messages of a session in their order, damaged ones included,
// with what each of them tells: the nearest message that tells something is found
// without a look at the others.
type timeline struct {
	messages []*record.Message          // nil where nothing of the message can be read
	places   map[string]int             // in messages, by the ids of refs
	byID     map[string]*record.Message // the first with that id
	told     map[fact][]int             // the places of the messages that tell it, in order
}

// A fact is a kind of value that a message may tell. A field that is "" stands for
// any value of it.
type fact struct{ what, role, parent, provider, model string }

// timed is told by messages that say when they were written.
var timed = fact{what: "time"}

// textOf returns the fact that a message of that role has a text at path.
func textOf(role string, path ...string) fact {
	return fact{what: strings.Join(path, "."), role: role}
}

// sharedTexts are the paths of texts that one message has from another.
var sharedTexts = [...][]string{{"agent"}, {"mode"}, {"path", "cwd"}, {"path", "root"}}

// factsOf returns what the message tells.
func factsOf(m *record.Message) (all []fact) {
	if m.Created > 0 {
		all = append(all, timed)
	}
	if m.Role == session.RoleUser || m.Role == session.RoleAssistant {
		all = append(all, fact{what: "role"}, fact{what: "role", role: m.Role})
	}
	for _, path := range sharedTexts {
		if textIn(m, path...) != nil {
			all = append(all, textOf(m.Role, path...))
		}
	}
	parent := textAt(m.Data, "parentID")
	if parent != "" {
		all = append(all, fact{what: "answer", parent: parent})
	}
	if n, ok := modelOf(m); ok {
		provider, model := string(n.provider), string(n.model)
		if parent != "" {
			all = append(all, fact{what: "model", parent: parent})
		}
		for _, role := range [...]string{"", m.Role} {
			all = append(all, fact{"model", role, "", "", ""}, fact{"model", role, "", provider, ""}, fact{"model", role, "", "", model}, fact{"model", role, "", provider, model})
		}
	}
	return all
}

// An entry is a message that gets its place in a timeline.
type entry struct {
	told   *record.Message // nil where nothing can be read of it
	ref    string          // the id of its ref
	id     string
	time   int64 // 0 for none
	behind int   // how many of those that have their places it stands behind
}

// newTimeline returns the timeline of the session. A damaged message stands where its time
// says, and one of which that is not known behind the message with the id before its
// own.
func newTimeline(s *record.Session) *timeline {
	var line, damaged, timeless []entry
	for i := range s.Messages {
		m := &s.Messages[i]
		e := entry{told: readable(s, m), ref: m.Ref.Message, id: m.ID, time: m.Created}
		if e.told != nil {
			e.id, e.time = e.told.ID, e.told.Created
		}
		switch {
		case e.time <= 0:
			timeless = append(timeless, e)
		case m.Malformed():
			damaged = append(damaged, e)
		default:
			line = append(line, e)
		}
	}
	line = mergeEntries(line, damaged, byTimeIn(line))
	line = mergeEntries(line, timeless, byIDIn(line))
	t := &timeline{places: map[string]int{}, byID: map[string]*record.Message{}, told: map[fact][]int{}}
	for i, e := range line {
		t.messages = append(t.messages, nil)
		t.places[e.ref] = i
		if e.told != nil {
			t.put(i, e.told)
		}
	}
	return t
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.time, o.time), cmp.Compare(e.id, o.id))
}

// byTimeIn tells of how many entries of the line one stands behind by its time: those
// before the first that is later.
func byTimeIn(line []entry) func(entry) int {
	latest := slices.Clone(line) // of those up to each
	for i := 1; i < len(latest); i++ {
		if latest[i].compare(latest[i-1]) < 0 {
			latest[i] = latest[i-1]
		}
	}
	return func(e entry) int {
		return sort.Search(len(latest), func(i int) bool { return latest[i].compare(e) > 0 })
	}
}

// byIDIn tells the same by ids: those up to the one with the id before its own.
func byIDIn(line []entry) func(entry) int {
	sorted := make([]int, len(line))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Or(cmp.Compare(line[a].id, line[b].id), cmp.Compare(b, a)) })
	return func(e entry) int {
		i := sort.Search(len(sorted), func(i int) bool { return line[sorted[i]].id >= e.id })
		if i == 0 {
			return 0
		}
		return sorted[i-1] + 1
	}
}

// mergeEntries returns the line with more entries at their places.
func mergeEntries(line, more []entry, behind func(entry) int) []entry {
	for i := range more {
		more[i].behind = behind(more[i])
	}
	slices.SortStableFunc(more, func(a, b entry) int { return cmp.Or(cmp.Compare(a.behind, b.behind), a.compare(b)) })
	all := make([]entry, 0, len(line)+len(more))
	from := 0
	for _, e := range more {
		all = append(append(all, line[from:e.behind]...), e)
		from = e.behind
	}
	return append(all, line[from:]...)
}

// put notes what the message at that place tells; what was told there before is
// forgotten.
func (t *timeline) put(at int, m *record.Message) {
	was, is := []fact(nil), []fact(nil)
	if before := t.messages[at]; before != nil {
		was = factsOf(before)
	}
	if m != nil {
		is = factsOf(m)
		if first := t.byID[m.ID]; first == nil || first == t.messages[at] {
			t.byID[m.ID] = m
		}
	}
	for _, f := range was {
		if i, there := slices.BinarySearch(t.told[f], at); there && !slices.Contains(is, f) {
			t.told[f] = slices.Delete(t.told[f], i, i+1)
		}
	}
	for _, f := range is {
		if i, there := slices.BinarySearch(t.told[f], at); !there {
			t.told[f] = slices.Insert(t.told[f], i, at)
		}
	}
	t.messages[at] = m
}

// around returns the nearest messages before and behind the record that tell the fact, nil
// for none, and how far away they are.
func (g recordContext) around(f fact) (before, behind *record.Message, back, on int) {
	t := g.known.timeline()
	at, there := t.places[g.m.Ref.Message]
	if !there {
		at = -1
	}
	told := t.told[f]
	i, own := slices.BinarySearch(told, at)
	if i > 0 {
		before, back = t.messages[told[i-1]], at-told[i-1]
	}
	if own {
		i++
	}
	if i < len(told) {
		behind, on = t.messages[told[i]], told[i]-at
	}
	return before, behind, back, on
}

// nearest returns the message nearest to the record that tells the fact, the one before it of
// two; nil if none does.
func (g recordContext) nearest(f fact) *record.Message {
	before, behind, back, on := g.around(f)
	if before == nil || behind != nil && on < back {
		return behind
	}
	return before
}

func (g recordContext) before(f fact) *record.Message {
	m, _, _, _ := g.around(f)
	return m
}

func (g recordContext) behind(f fact) *record.Message {
	_, m, _, _ := g.around(f)
	return m
}
