package repair

import (
	"slices"

	"mend/change"
	"mend/internal/request"
)

// A Finding is one problem of a session.
type Finding struct {
	Code   string     // code of the provider's or the agent's rule that it breaks
	Ref    change.Ref // the affected record; the zero Ref if there is none
	Block  int        // the index of the affected block in the record
	Text   string     // the provider's error, or a description of the problem
	Detail string     // distinguishes findings with the same code at one record
	Short  string     // shown in lists instead of the class; "" for the class

	// Records are the affected messages or lines, if Ref is not one of them.
	Records []change.Ref

	Class    Class
	Tier     Tier // "" for the class's
	Severity Severity

	Why     string        // why it is a problem, as a sentence; "" for the rule's text
	Fixes   []Fix         // instead of the rule's fixes; nil for the rule's
	Refusal *RefusalError // why it has no fix; nil to ask the state, see [State].Refuses

	// CountOnly means that this is not yet a finding, but that a fix may turn it into one; see [Findings.Count].
	CountOnly bool
	// Unknown means that mend does not know the record's kind, the field or the field's type. See [Findings].
	Unknown bool

	candidate *request.Block // the block that an error may be about
}

// IsNearUnknown reports whether unknown content in the turn of a violation, or in an adjacent turn, may be its cause.
func IsNearUnknown(q request.Request, v request.Violation) bool {
	if v.N < 0 || v.N > len(q.Turns) {
		return false
	}
	return slices.ContainsFunc(q.Turns[max(v.N-1, 0):min(v.N+2, len(q.Turns))], func(t request.Turn) bool {
		return t.Unknown
	})
}

// A key identifies a finding in a session.
type key struct {
	code, detail string
	ref          change.Ref
}

func (f Finding) key() key { return key{f.Code, f.Detail, f.Ref} }

// keyAt returns the key of the same finding at another record.
func (f Finding) keyAt(ref change.Ref) key { return key{f.Code, f.Detail, ref} }

// A place identifies the findings with one code in one message under one setting. A fix that raises their number has
// caused new ones.
type place struct {
	code, message string // message is "" for none
	setting       int
}

// InUse is the number of the setting that a session is diagnosed for. Findings that do not depend on a setting have it,
// too.
const InUse = 0

// Findings are all findings of a session, under every [Setting]. The zero Findings is empty.
type Findings struct {
	list   []Finding
	at     map[key]int // indexes in list
	counts map[place]int

	sharing map[string][]Stored // see [messagesByItem]; nil before the first use

	// Newer is the name and version of the agent if mend knows only older versions; else "". Unknown content in its
	// sessions is a note without a fix, and a fix that changes it does not hold.
	Newer string
	// Hides, if not nil, reports whether another finding may hide findings with the code under the setting, for example
	// because the agent fails before it sends a request. Findings that a fix uncovers do not count against it.
	Hides func(setting int, code string) bool
	// Once, if not nil, reports whether several findings with the code in a message are no worse than one.
	Once func(code string) bool
}

// Add adds a finding under a setting. Its severity is the worst under any setting. Findings are fixed in the order in
// which they are added.
func (fs *Findings) Add(setting int, f Finding) {
	if f.Unknown = f.Unknown && fs.Newer != ""; f.Unknown {
		f.Severity = Note
	}
	fs.Count(setting, f.Code, f.Ref.Message)
	i, ok := fs.at[f.key()]
	if !ok {
		if fs.at == nil {
			fs.at = map[key]int{}
		}
		i = len(fs.list)
		fs.at[f.key()] = i
		fs.list = append(fs.list, f)
	}
	fs.list[i].Severity = min(fs.list[i].Severity, f.Severity)
}

// Count counts a problem that need not be fixed. A fix may turn it into a finding with the code.
func (fs *Findings) Count(setting int, code, message string) {
	if fs.counts == nil {
		fs.counts = map[place]int{}
	}
	fs.counts[place{code, message, setting}]++
}

// IsWell reports whether the message of a finding has no findings under a setting, not even hidden ones.
func (fs *Findings) IsWell(setting int, f Finding) bool {
	for p := range fs.counts {
		if p.setting == setting && p.message == f.Ref.Message {
			return false
		}
	}
	return !fs.mayHide(place{f.Code, f.Ref.Message, setting})
}

// All returns the findings in the order they were added. The caller must not change the slice.
func (fs *Findings) All() []Finding { return fs.list }

// mayHide reports whether a finding at p may have been hidden.
func (fs *Findings) mayHide(p place) bool { return fs.Hides != nil && fs.Hides(p.setting, p.code) }

// countsOnce reports whether several findings at p are no worse than one.
func (fs *Findings) countsOnce(p place) bool { return fs.Once != nil && fs.Once(p.code) }

// Has reports whether there is a finding with the same code at the same record.
func (fs *Findings) Has(f Finding) bool { return fs.has(f.key()) }

func (fs *Findings) has(k key) bool {
	_, ok := fs.at[k]
	return ok
}
