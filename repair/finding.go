package repair

import (
	"hash/maphash"

	"mend/session"
)

// A Finding is one fault of a session.
type Finding struct {
	Code      string      // of the agent's rule that found it
	Ref       session.Ref // the record at fault; the zero Ref if there is none
	Block     int         // the index of the block at fault in the record
	Text      string      // the message of the provider, or a description of the fault
	Detail    string      // distinguishes findings with the same code at one record
	ShownCode string      // the code that is shown to users, if it is not Code: the provider's rule that is broken

	Class    Class
	Severity Severity
}

// A key identifies a finding among those of a session.
type key struct {
	code, which string
	ref         session.Ref
}

func (f Finding) key() key { return key{f.Code, f.Detail, f.Ref} }

// at returns the key of the same finding at another record.
func (f Finding) at(ref session.Ref) key { return key{f.Code, f.Detail, ref} }

// A place is where findings are counted to see whether a fix caused new ones: those with a
// code in a message, under a setting.
type place struct {
	codeIn
	setting int
}

// A codeIn is the code of findings and the message of their records, "" for none.
type codeIn struct{ code, message string }

// counts is how many findings there are, by the number of the setting.
type counts map[codeIn][]int32

func (c counts) add(p place, n int32) {
	bySetting := c[p.codeIn]
	if more := p.setting + 1 - len(bySetting); more > 0 {
		bySetting = append(bySetting, make([]int32, more)...)
		c[p.codeIn] = bySetting
	}
	bySetting[p.setting] += n
}

func (c counts) at(p place) int32 {
	if bySetting := c[p.codeIn]; p.setting < len(bySetting) {
		return bySetting[p.setting]
	}
	return 0
}

func (c counts) all(yield func(place, int32) bool) {
	for at, bySetting := range c {
		for setting, n := range bySetting {
			if n > 0 && !yield(place{at, setting}, n) {
				return
			}
		}
	}
}

// InUse is the number of the setting that a session is diagnosed for. It is also that
// of findings that do not depend on the setting.
const InUse = 0

// Findings is all that is wrong with a session, under every setting: each way in which
// it may be sent, such as by another version of the agent. The zero Findings is empty.
type Findings struct {
	list     []Finding
	settings []settings // that have each of them
	counts   counts
	// numbers are the indexes in list, plus one, by the hash of the key, which is much
	// smaller than the key: the last with that hash. same has the one before each with the
	// same hash, 0 for none.
	numbers map[uint64]int32
	same    []int32
	seed    maphash.Seed

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
	if fs.numbers == nil {
		fs.numbers, fs.seed = map[uint64]int32{}, maphash.MakeSeed()
	}
	fs.Count(setting, f.Code, f.Ref.Message)
	i := fs.find(f.key())
	if i < 0 {
		i = len(fs.list)
		hash := maphash.Comparable(fs.seed, f.key())
		fs.same = append(fs.same, fs.numbers[hash])
		fs.numbers[hash] = int32(i + 1)
		fs.list, fs.settings = append(fs.list, f), append(fs.settings, nil)
	}
	fs.list[i].Severity = min(fs.list[i].Severity, f.Severity)
	fs.settings[i] = fs.settings[i].with(setting)
}

// find returns the index of the finding with that key, -1 if there is none.
func (fs *Findings) find(k key) int {
	if fs.numbers == nil {
		return -1
	}
	n := fs.numbers[maphash.Comparable(fs.seed, k)]
	for n > 0 && fs.list[n-1].key() != k {
		n = fs.same[n-1]
	}
	return int(n) - 1
}

// settingsOf returns the settings that have the finding.
func (fs *Findings) settingsOf(k key) settings {
	if i := fs.find(k); i >= 0 {
		return fs.settings[i]
	}
	return nil
}

// settings is a set of settings with one bit for each. A bit set is small, and there may be many findings.
type settings []uint64

const wordSize = 64

func (s settings) with(setting int) settings {
	for len(s) <= setting/wordSize {
		s = append(s, 0)
	}
	s[setting/wordSize] |= 1 << (setting % wordSize)
	return s
}

func (s settings) has(setting int) bool {
	return setting/wordSize < len(s) && s[setting/wordSize]&(1<<(setting%wordSize)) != 0
}

func (s settings) all(yield func(int) bool) {
	for i := range len(s) * wordSize {
		if s.has(i) && !yield(i) {
			return
		}
	}
}

// Count counts a fault that need not be fixed, and that a fix may turn into a finding
// with that code.
func (fs *Findings) Count(setting int, code, message string) {
	if fs.counts == nil {
		fs.counts = counts{}
	}
	fs.counts.add(place{codeIn{code, message}, setting}, 1)
}

// All returns the findings in the order in which they were added. The slice must
// not be changed.
func (fs *Findings) All() []Finding { return fs.list }

// hides reports whether a finding at p may have been hidden.
func (fs *Findings) hides(p place) bool { return fs.Hides != nil && fs.Hides(p.setting, p.code) }

// Has reports whether there is a finding with the same code at the same record.
func (fs *Findings) Has(f Finding) bool { return fs.has(f.key()) }

func (fs *Findings) has(k key) bool { return fs.find(k) >= 0 }
