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

	// CountOnly means that this is not yet a finding, but that a fix may turn it into one.
	CountOnly bool
	// Unknown means that mend does not know the record's kind, the field or the field's type. If the agent is newer than
	// mend knows, it is a note without a fix, and a fix that changes it does not hold.
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

// Findings are all findings of a session, under every [Setting]. They are fixed in the order of the list.
type Findings struct {
	c      *Case
	list   []Finding
	at     map[key]int // indexes in list
	counts map[place]int
	fails  map[int]bool // the settings in which the agent fails before it sends a request

	sharing map[string][]Stored // see [messagesByItem]; nil before the first use
}

// count counts a problem that need not be fixed. A fix may turn it into a finding with the code.
func (fs *Findings) count(setting int, f Finding) { fs.counts[place{f.Code, f.Ref.Message, setting}]++ }

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

// mayHide reports whether a finding at p may have been hidden because the agent fails before it sends a request. Such
// findings do not count against a fix that uncovers them.
func (fs *Findings) mayHide(p place) bool {
	return fs.fails[p.setting] && fs.c.OfRequest != nil && fs.c.OfRequest(p.code)
}

// Has reports whether there is a finding with the same code at the same record.
func (fs *Findings) Has(f Finding) bool { return fs.has(f.key()) }

func (fs *Findings) has(k key) bool {
	_, ok := fs.at[k]
	return ok
}
