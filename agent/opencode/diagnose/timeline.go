package diagnose

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"mend/agent/opencode/record"
	"mend/session"
)

// A timeline has the messages of a session in order, damaged ones included, and an
// index of the facts that they show. It finds the nearest message with a fact without a
// search.
type timeline struct {
	messages []*record.Message          // nil if nothing of the message can be read
	places   map[string]int             // indexes in messages, by the ids of refs
	byID     map[string]*record.Message // the first message with each id
	byFact   map[fact][]int             // indexes of the messages that show the fact, in order
}

// A fact is a kind of value that a message may have. An empty field stands for any
// value.
type fact struct{ what, role, parent, provider, model string }

// timed is the fact that a message has a time.
var timed = fact{what: "time"}

// textOf returns the fact that a message of that role has a text at path.
func textOf(role string, path ...string) fact {
	return fact{what: strings.Join(path, "."), role: role}
}

// sharedTexts are the paths of texts that a message may take from another one.
var sharedTexts = [...][]string{{"agent"}, {"mode"}, {"path", "cwd"}, {"path", "root"}}

// factsOf returns the facts that the message shows.
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

// An entry is a message while its place in a timeline is determined.
type entry struct {
	message *record.Message // nil if nothing of it can be read
	ref     string          // the id of its ref
	id      string
	time    int64 // 0 for none
	behind  int   // number of placed entries before it
}

// newTimeline returns the timeline of the session. A damaged message is placed by its
// time; one without a time is placed after the message with the id before its own.
func newTimeline(s *record.Session) *timeline {
	var line, damaged, timeless []entry
	for i := range s.Messages {
		m := &s.Messages[i]
		e := entry{message: readable(s, m), ref: m.Ref.Message, id: m.ID, time: m.Created}
		if e.message != nil {
			e.id, e.time = e.message.ID, e.message.Created
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
	t := &timeline{places: map[string]int{}, byID: map[string]*record.Message{}, byFact: map[fact][]int{}}
	for i, e := range line {
		t.messages = append(t.messages, nil)
		t.places[e.ref] = i
		if e.message != nil {
			t.set(i, e.message)
		}
	}
	return t
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.time, o.time), cmp.Compare(e.id, o.id))
}

// byTimeIn returns a function that returns how many entries of the line are before an
// entry by time: those before the first later one.
func byTimeIn(line []entry) func(entry) int {
	latest := slices.Clone(line) // the latest of those up to each
	for i := 1; i < len(latest); i++ {
		if latest[i].compare(latest[i-1]) < 0 {
			latest[i] = latest[i-1]
		}
	}
	return func(e entry) int {
		return sort.Search(len(latest), func(i int) bool { return latest[i].compare(e) > 0 })
	}
}

// byIDIn returns a function that does the same by ids: it counts the entries up to the
// one with the id before the entry's own.
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

// mergeEntries inserts entries into the line.
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

// set replaces the message at that index, nil for none, and its facts.
func (t *timeline) set(at int, m *record.Message) {
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
		if i, there := slices.BinarySearch(t.byFact[f], at); there && !slices.Contains(is, f) {
			t.byFact[f] = slices.Delete(t.byFact[f], i, i+1)
		}
	}
	for _, f := range is {
		if i, there := slices.BinarySearch(t.byFact[f], at); !there {
			t.byFact[f] = slices.Insert(t.byFact[f], i, at)
		}
	}
	t.messages[at] = m
}

// around returns the nearest messages with the fact before and after the record, nil
// for none, and their distances.
func (g recordContext) around(f fact) (before, behind *record.Message, back, on int) {
	t := g.known.timeline()
	at, there := t.places[g.m.Ref.Message]
	if !there {
		at = -1
	}
	having := t.byFact[f]
	i, own := slices.BinarySearch(having, at)
	if i > 0 {
		before, back = t.messages[having[i-1]], at-having[i-1]
	}
	if own {
		i++
	}
	if i < len(having) {
		behind, on = t.messages[having[i]], having[i]-at
	}
	return before, behind, back, on
}

// nearest returns the nearest message with the fact, the one before the record of two;
// nil for none.
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
