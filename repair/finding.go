package repair

import (
	"slices"

	"mend/change"
	"mend/internal/request"
)

// A Finding is one fault of a session.
type Finding struct {
	Code   string     // of the provider's or the agent's rule that found it
	Ref    change.Ref // the record at fault; the zero Ref if there is none
	Block  int        // the index of the block at fault in the record
	Text   string     // the message of the provider, or a description of the fault
	Detail string     // distinguishes findings with the same code at one record
	Short  string     // what a list shows in the place of the class; "" for that

	// Records are the messages or lines at fault, if Ref is none of them.
	Records []change.Ref

	Class    Class
	Tier     Tier // "" for the class's
	Severity Severity

	Why     string        // why it is a fault, as a sentence; "" for what the rule says
	Fixes   []Fix         // instead of those of the rule; nil for these
	Refusal *RefusalError // why it has no fix; nil if the state says so, see [State].Refuses

	// CountOnly says that this is no finding, but a fault that a fix may turn into one; see [Findings.Count].
	CountOnly bool
	// Unknown says that mend does not know what is at fault: a kind, a field, or the form of one. See [Findings].
	Unknown bool

	of *request.Block // that an error may be about
}

// BesideUnknown reports whether a violation may be due to content that mend does not know: some is in its turn, or in
// the one before or after that.
func BesideUnknown(q request.Request, v request.Violation) bool {
	if v.N < 0 || v.N > len(q.Turns) {
		return false
	}
	return slices.ContainsFunc(q.Turns[max(v.N-1, 0):min(v.N+2, len(q.Turns))], func(t request.Turn) bool {
		return t.Unknown
	})
}

// A key identifies a finding among those of a session.
type key struct {
	code, which string
	ref         change.Ref
}

func (f Finding) key() key { return key{f.Code, f.Detail, f.Ref} }

// at returns the key of the same finding at another record.
func (f Finding) at(ref change.Ref) key { return key{f.Code, f.Detail, ref} }

// A place is where findings are counted to see whether a fix caused new ones: those with a
// code in a message, under a setting.
type place struct {
	code, message string // message is "" for none
	setting       int
}

// InUse is the number of the setting that a session is diagnosed for. It is also that
// of findings that do not depend on the setting.
const InUse = 0

// Findings is all that is wrong with a session, under every setting: each way in which
// it may be sent, such as by another version of the agent. The zero Findings is empty.
type Findings struct {
	list   []Finding
	at     map[key]int // indexes in list
	counts map[place]int

	sharing map[string][]Stored // see [sharing]; nil until it is asked for

	// Newer is the agent with its version, if that is newer than all that mend knows; else "". What is unknown in its
	// sessions is a note without a fix, and a fix that changes it does not hold.
	Newer string
	// Hides, if not nil, reports whether findings with the code may be hidden under the
	// setting by another one, such as a failure of the agent before it sends a request. A
	// fix does not cause what it uncovers.
	Hides func(setting int, code string) bool
	// Once, if not nil, reports whether a message with several findings with the code is
	// no worse than one with a single one.
	Once func(code string) bool
}

// Add adds a finding under a setting. Its severity is the worst under any setting. What
// is added first is fixed first.
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

// Count counts a fault that need not be fixed, and that a fix may turn into a finding
// with that code.
func (fs *Findings) Count(setting int, code, message string) {
	if fs.counts == nil {
		fs.counts = map[place]int{}
	}
	fs.counts[place{code, message, setting}]++
}

// IsWell reports whether nothing is wrong with a message under a setting, as far as its findings are known.
func (fs *Findings) IsWell(setting int, f Finding) bool {
	for p := range fs.counts {
		if p.setting == setting && p.message == f.Ref.Message {
			return false
		}
	}
	return !fs.hides(place{f.Code, f.Ref.Message, setting})
}

// All returns the findings in the order in which they were added. The slice must
// not be changed.
func (fs *Findings) All() []Finding { return fs.list }

// hides reports whether a finding at p may have been hidden.
func (fs *Findings) hides(p place) bool { return fs.Hides != nil && fs.Hides(p.setting, p.code) }

// isOnce reports whether several findings at p are no worse than one.
func (fs *Findings) isOnce(p place) bool { return fs.Once != nil && fs.Once(p.code) }

// Has reports whether there is a finding with the same code at the same record.
func (fs *Findings) Has(f Finding) bool { return fs.has(f.key()) }

func (fs *Findings) has(k key) bool {
	_, ok := fs.at[k]
	return ok
}
