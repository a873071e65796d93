package repair

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
)

// A search looks for fixes of a session's findings on a copy. It applies the next fix of all findings of one
// rule and examines the copy once. Only fixes that hold stay ([search.judge]); if it is unknown which ones
// fail, each half of them is tried. So a session is examined only a few times, however many findings it has.
type search struct {
	fixed, failed []Diagnosis // with the refs of the original session
	changed       bool        // a fix was kept

	c         *Case // with the fixes kept so far
	refs      *refSet
	findings  *Findings
	filter    filter
	depth     int  // of nested searches for fixes of caused findings, including this one
	lossless  bool // only fixes that lose nothing are tried
	auto      bool // only fixes of findings with the tier [Auto] are tried
	aside     bool // findings are set aside, see [search.setAside]
	leftOut   asideItems
	originals originalRefs
	original  map[key]Diagnosis     // of the findings that the first fixes left; nil before a fix is kept
	tried     map[key]int           // number of failed attempts, or noMore
	reasons   map[key]*RefusalError // why the last of them failed
	refused   string                // why fixes of several messages are not tried
	examined  *int                  // how many outcomes were examined, including those of nested searches
}

// maxExamined limits the drafts that a search examines, so that its cost grows with the session and not with the
// square of its findings. No session of the agents' tests needs 50.
const maxExamined = 300

// A filter reports whether a finding should be fixed.
type filter func(Finding) bool

// An originalRefs maps the refs of records with new ids to their original refs.
type originalRefs map[change.Ref]change.Ref

// first returns the original ref of a record.
func (o originalRefs) first(ref change.Ref) change.Ref {
	if original, ok := o[ref]; ok {
		return original
	}
	return ref
}

// noMore is the attempt number of a finding that is not tried again: it exceeds the number of fixes of any finding.
const noMore = 1 << 20

// newSearch runs a search that fixes the wanted findings; with auto only those with the tier [Auto]. It adds the refs
// of records that fixes rename to originals.
func newSearch(c *Case, originals originalRefs, w filter, auto bool) *search {
	return (&search{c: c, filter: w, originals: originals, auto: auto}).run()
}

// run tries fixes until none is left, and then explains for each remaining finding why it was not fixed.
func (s *search) run() *search {
	s.refs, s.findings = &refSet{c: s.c}, s.c.Findings()
	s.tried, s.reasons = map[key]int{}, map[key]*RefusalError{}
	s.examined = cmp.Or(s.examined, new(int))
	for *s.examined < maxExamined {
		group, n := s.next()
		if len(group) == 0 {
			break
		}
		s.try(group, n)
	}
	why, advice, canSetAside := whyNone, "", map[key]bool(nil)
	if *s.examined >= maxExamined {
		why = fmt.Sprintf("mend stopped after %d attempts. Repair what it found, then run it again.", maxExamined)
	}
	for _, f := range s.findings.list {
		if !s.filter(f) {
			continue
		}
		d, r := s.originalDiagnosis(f), cmp.Or(s.reasons[f.key()], &RefusalError{})
		d.WhyNot = cmp.Or(r.Why, s.refused, d.WhyNot, why)
		if f.Severity <= Latent && s.depth == 0 && !r.Helps && d.WhyNot != s.refused {
			if canSetAside == nil {
				canSetAside = s.canSetAside()
			}
			// Without the error, the command would not find what only an error reveals.
			switch d.CanSetAside = canSetAside[f.key()] && !s.c.Rules.Fault(s.c, f).Rule.Asked; {
			case d.CanSetAside:
				d.WhyNot += asideAdvice(d)
			case f.Severity == Broken:
				advice = cmp.Or(advice, s.forkAdvice(), " Continue in a new session.")
				d.WhyNot += advice
			}
		}
		s.failed = append(s.failed, d)
	}
	return s
}

// maxDepth limits a chain of fixes that are kept or rejected together; each fixes a finding that the previous one
// caused.
const maxDepth = 3

// next returns findings of one rule, and the number n of their next attempt; none at the end.
func (s *search) next() (group []Finding, n int) {
	for _, f := range s.findings.list {
		tried := s.tried[f.key()]
		if tried == noMore || len(group) > 0 && (f.Code != group[0].Code || tried != n) || !s.filter(f) {
			continue
		}
		group, n = append(group, f), tried
	}
	return group, n
}

// describe returns the diagnosis of a finding with its original ref.
func describe(c *Case, originals originalRefs, f Finding) Diagnosis {
	d := c.Describe(f)
	d.Ref, d.finding = originals.first(d.Ref), f.keyAt(originals.first(f.Ref))
	return d
}

// A trial is an attempt that was applied.
type trial struct {
	Finding
	attempt

	breaksLoop bool // see [search.breaksLoop]
}

type attempt struct {
	fix      Fix
	together bool // with fixes of the findings that it causes, if necessary
}

// attempts returns the attempts for these fixes. Of fixes with the same loss, each is first tried alone.
func attempts(fixes []Fix) (all []attempt) {
	for i, x := range fixes {
		same := slices.DeleteFunc(slices.Clone(fixes), func(y Fix) bool { return y.Loses != x.Loses })
		if len(same) > 1 {
			all = append(all, attempt{x, false})
		}
		if slices.ContainsFunc(fixes[i+1:], func(y Fix) bool { return y.Loses == x.Loses }) {
			continue
		}
		for _, y := range same {
			all = append(all, attempt{y, true})
		}
	}
	return all
}

// A trialResult is the session after the fixes of some trials.
type trialResult struct {
	c    *Case
	refs *refSet
	to   map[change.Ref]change.Ref // the new refs of renamed records, by old ref
	also []Diagnosis               // findings that the trials caused and that were fixed with them
}

// A refSet contains the refs of the records of a case. It is built on first use.
type refSet struct {
	c      *Case
	all    map[change.Ref]bool
	unread map[string]bool // the messages with an unreadable record
}

func (r *refSet) has(ref change.Ref) bool {
	r.make()
	return r.all[ref]
}

func (r *refSet) isReadable(message string) bool {
	r.make()
	return !r.unread[message]
}

func (r *refSet) make() {
	if r.all != nil {
		return
	}
	r.all, r.unread = map[change.Ref]bool{}, map[string]bool{}
	for x := range r.c.Records {
		r.all[x.Ref] = true
		if x.Unreadable() {
			r.unread[x.Ref.Message] = true
		}
	}
}

// try makes attempt number n for the findings and keeps the fixes that hold.
func (s *search) try(group []Finding, n int) {
	trials, res := s.apply(group, n)
	if len(trials) == 0 {
		return
	}
	bad, sure := s.judge(trials, res, false)
	if len(bad) == len(trials) && trials[0].together && s.depth < maxDepth {
		res = s.fixCaused(trials, res)
		bad, sure = s.judge(trials, res, true)
	}
	good := slices.DeleteFunc(slices.Clone(trials), func(tr *trial) bool { return slices.Contains(bad, tr) })
	switch {
	case len(bad) == 0:
		s.keep(s.spoilLeast(trials, res, n))
	case len(good) > 0:
		s.try(findingsOf(good), n)
		s.try(findingsOf(bad), n)
	case !sure:
		first, rest := halves(trials)
		s.try(findingsOf(first), n)
		s.try(findingsOf(rest), n)
	default:
		for _, tr := range trials {
			s.tried[tr.key()] = n + 1
		}
	}
}

// halves splits the trials of each message, or else the messages.
func halves(trials []*trial) (first, rest []*trial) {
	all, seen := map[string]int{}, map[string]int{}
	for _, tr := range trials {
		all[tr.Ref.Message]++
	}
	for _, tr := range trials {
		id := tr.Ref.Message
		if seen[id]++; 2*seen[id] <= all[id]+1 {
			first = append(first, tr)
		} else {
			rest = append(rest, tr)
		}
	}
	if len(rest) == 0 {
		half := (len(trials) + 1) / 2
		return trials[:half], trials[half:]
	}
	return first, rest
}

// fixCaused fixes the findings that the trials caused. If the trials lose nothing, these fixes must not lose anything.
func (s *search) fixCaused(trials []*trial, res trialResult) trialResult {
	originals := originalRefs{} // old refs of renamed records, by new ref
	for old, ref := range res.to {
		originals[ref] = old
	}
	caused := func(f Finding) bool {
		if f.Severity != Broken && s.findings.mayHide(place{f.Code, originals.first(f.Ref).Message, InUse}) {
			return false
		}
		i, before := s.findings.at[f.keyAt(originals.first(f.Ref))]
		return !before || f.Severity < s.findings.list[i].Severity
	}
	lossless := !slices.ContainsFunc(trials, func(tr *trial) bool { return tr.fix.Loses != "" })
	sub := &search{
		c: res.c, filter: caused, originals: originals, depth: s.depth + 1,
		lossless: lossless, auto: s.auto, examined: s.examined,
	}
	sub.run()
	res = trialResult{c: sub.c, refs: &refSet{c: sub.c}, to: map[change.Ref]change.Ref{}, also: sub.fixed}
	for ref, old := range originals {
		if res.refs.has(ref) {
			res.to[old] = ref
		}
	}
	return res
}

func findingsOf(trials []*trial) (fs []Finding) {
	for _, tr := range trials {
		fs = append(fs, tr.Finding)
	}
	return fs
}

// apply applies attempt number n to as many of the findings as one draft allows: one per message, or all in a
// message that share a fix. A fix that changes more than its message is applied alone, or with others that
// move or remove messages.
func (s *search) apply(group []Finding, n int) (trials []*trial, res trialResult) {
	if *s.examined >= maxExamined {
		return nil, res
	}
	d := s.c.Draft()
	alike, busy := map[string]bool{}, map[change.Ref]bool{} // by messages and records with a trial
	for _, f := range group {
		sameFix, begun := alike[f.Ref.Message]
		if begun && (!sameFix || busy[f.Ref]) || !s.findings.has(f.key()) || !s.filter(f) {
			continue
		}
		all := attempts(s.fixes(f))
		if n >= len(all) {
			s.tried[f.key()] = noMore
			continue
		}
		x := all[n].fix
		if len(trials) > 0 && !trials[0].isCompatible(all[n]) || begun && !x.Alike {
			continue
		}
		if err := d.Apply(x); err != nil {
			s.reject(f, x, n, err)
			continue
		}
		trials = append(trials, &trial{Finding: f, attempt: all[n]})
		alike[f.Ref.Message], busy[f.Ref] = x.Alike, true
		if x.Whole && !x.Alike {
			break
		}
	}
	if len(trials) > 0 {
		*s.examined++
		res.c = d.Case()
		res.refs = &refSet{c: res.c}
		if s.c.Renamed != nil {
			res.to = s.c.Renamed(s.c.State, res.c.State)
		}
	}
	return trials, res
}

// isCompatible reports whether both attempts can be made in one draft.
func (a attempt) isCompatible(o attempt) bool {
	return a.together == o.together && a.fix.Whole == o.fix.Whole && (!a.fix.Whole || a.fix.Alike && o.fix.Alike)
}

// reject advances to the next attempt because this one could not be applied.
func (s *search) reject(f Finding, x Fix, n int, err error) {
	s.tried[f.key()] = n + 1
	var r *RefusalError
	if !errors.As(err, &r) {
		return
	}
	s.reasons[f.key()] = r
	if r.Final {
		if x.Whole {
			s.refused = r.Why
		}
		s.tried[f.key()] = noMore
	}
}

// fixes returns the fixes of the finding, none if the agent refuses them all.
func (s *search) fixes(f Finding) []Fix {
	if s.auto && f.Tier != Auto {
		return nil
	}
	if f.Unknown {
		why := s.c.Newer + " is newer than the versions that mend knows. This may be valid in that version, so mend " +
			"leaves it unchanged."
		s.reasons[f.key()] = &RefusalError{Why: why, Final: true}
		return nil
	}
	fixes, err := s.c.Fixes(f)
	var r *RefusalError
	if errors.As(err, &r) {
		s.reasons[f.key()] = r
		if !s.aside || !r.EditOnly {
			return nil
		}
	}
	if s.aside {
		fixes = s.asideFixes(f)
	}
	if s.lossless {
		fixes = slices.DeleteFunc(slices.Clone(fixes), func(x Fix) bool { return x.Loses != "" })
	}
	return fixes
}

// join joins sentences, each once.
func join(a, b string) string {
	if strings.Contains(a, b) {
		return a
	}
	return strings.TrimSpace(a + " " + b)
}

// keep makes the fixes of the trials final.
func (s *search) keep(trials []*trial, res trialResult) {
	own := map[string]*trial{}
	for _, tr := range trials {
		own[tr.Ref.Message] = tr
	}
	for _, d := range res.also {
		tr := cmp.Or(own[d.Ref.Message], trials[0])
		tr.fix.Text = join(tr.fix.Text, d.Fix)
		tr.fix.Loses = join(tr.fix.Loses, d.Loses)
	}
	for _, tr := range trials {
		s.leftOut = append(s.leftOut, tr.fix.aside...)
	}
	fix, moved, first := describeFixed(trials), s.movedPlaces(res), s.original == nil
	if first {
		s.original = map[key]Diagnosis{}
	}
	for _, f := range s.findings.list {
		switch {
		case s.isFixed(f, res, moved):
			s.fixed = append(s.fixed, fix(f, s.originalDiagnosis(f)))
		case first:
			s.original[f.key()] = describe(s.c, s.originals, f)
		}
	}
	for _, d := range res.also {
		d.Ref, d.finding.ref = s.originals.first(d.Ref), s.originals.first(d.finding.ref)
		s.fixed = append(s.fixed, d)
	}
	previous := maps.Clone(s.originals)
	for earlier, ref := range res.to {
		s.originals[ref] = previous.first(earlier)
	}
	s.c, s.refs, s.findings, s.changed = res.c, res.refs, res.c.Findings(), true
	clear(s.tried) // attempts that failed before may hold now
}

// describeFixed returns a function that describes which trial fixed a finding: its own, or else the last one
// in its message.
func describeFixed(trials []*trial) func(Finding, Diagnosis) Diagnosis {
	own, last := map[key]*trial{}, map[string]*trial{}
	for _, tr := range trials {
		own[tr.key()], last[tr.Ref.Message] = tr, tr
	}
	return func(f Finding, d Diagnosis) Diagnosis {
		d.Fix, d.WhyNot = "The fix above also solves this.", ""
		tr, ok := last[f.Ref.Message]
		if len(trials) == 1 && trials[0].fix.Whole {
			tr, ok = trials[0], true
		}
		if ok {
			d.Fix = tr.fix.Text
		}
		if tr, ok := own[f.key()]; ok {
			d.Fix, d.Loses, d.SetAside = tr.fix.Text, tr.fix.Loses, tr.fix.aside != nil
		}
		return d
	}
}

// originalDiagnosis returns the first diagnosis of the finding.
func (s *search) originalDiagnosis(f Finding) Diagnosis {
	if d, ok := s.original[f.key()]; ok {
		return d
	}
	return describe(s.c, s.originals, f)
}

const whyNone = "mend knows no change that fixes this without breaking something else."

// forkAdvice explains how the user can continue without the content that stays broken, "" if unknown.
func (s *search) forkAdvice() string {
	broken := map[string]bool{}
	for _, f := range s.findings.list {
		if f.Severity == Broken && s.filter(f) {
			broken[f.Ref.Message] = true
		}
	}
	all := s.c.Messages()
	at := slices.IndexFunc(all, func(r change.Ref) bool { return broken[r.Message] })
	prompts := s.c.Prompts()
	for at > 0 && !slices.Contains(prompts, all[at]) {
		at--
	}
	if at <= 0 || s.c.ForkBefore == nil {
		return ""
	}
	if way := s.c.ForkBefore(s.c.State, all[at]); way != "" {
		return " " + way
	}
	return ""
}
