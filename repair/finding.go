package repair

import "mend/session"

// A Finding is one fault of a session.
type Finding struct {
	Code  string      // of the agent's rule that found it
	Ref   session.Ref // the record at fault; the zero Ref if there is none
	Says  string      // what the provider says, or what was found
	Which string      // tells findings of one code and record apart
	Shows string      // the provider's rule that is broken, if that is not Code

	Class    Class
	Severity Severity
}

// A key identifies a finding among those of a session.
type key struct {
	code, which string
	ref         session.Ref
}

func (f Finding) key() key { return key{f.Code, f.Which, f.Ref} }

// at returns the key of the same finding at another record.
func (f Finding) at(ref session.Ref) key { return key{f.Code, f.Which, ref} }

// A place is where findings are counted to see whether a fix caused new ones.
type place struct {
	setting int
	code    string
	message string // the message of the records, "" for none
}

// InUse is the number of the setting that a session is diagnosed for. It is also that
// of findings that do not depend on the setting.
const InUse = 0

// A Survey is all that is wrong with a session, under every setting: each way in which
// it may be sent, such as by another version of the agent. The zero Survey is empty.
type Survey struct {
	findings []Finding
	counts   map[place]int
	index    map[key]int   // in findings
	settings map[key][]int // that have the finding

	// Hides, if not nil, reports whether under the setting findings with the code may be
	// hidden by another one, such as one that ends the agent before it sends a request.
	// What a fix uncovers there it has not caused.
	Hides func(setting int, code string) bool
	// Once, if not nil, reports whether a message with several findings with the code is
	// no worse than one with a single one.
	Once func(code string) bool
}

// Add adds a finding under a setting. Its severity is the worst under any setting. What
// is added first is fixed first.
func (v *Survey) Add(setting int, f Finding) {
	if v.index == nil {
		v.index, v.settings = map[key]int{}, map[key][]int{}
	}
	k := f.key()
	v.Count(setting, f.Code, f.Ref.Message)
	v.settings[k] = append(v.settings[k], setting)
	if i, ok := v.index[k]; ok {
		v.findings[i].Severity = min(v.findings[i].Severity, f.Severity)
		return
	}
	v.index[k] = len(v.findings)
	v.findings = append(v.findings, f)
}

// Count counts a fault that need not be fixed, and that a fix may turn into a finding
// with that code.
func (v *Survey) Count(setting int, code, message string) {
	if v.counts == nil {
		v.counts = map[place]int{}
	}
	v.counts[place{setting, code, message}]++
}

// Findings returns the findings in the order in which they were added. The slice must
// not be changed.
func (v *Survey) Findings() []Finding { return v.findings }

// hides reports whether a finding at p may have been hidden.
func (v *Survey) hides(p place) bool { return v.Hides != nil && v.Hides(p.setting, p.code) }

func (v *Survey) has(k key) bool {
	_, ok := v.index[k]
	return ok
}
