package repair

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"mend/session"
)

// A search looks for fixes of a session's findings, on a copy. It goes in rounds: in
// each one fix is tried for one finding of every message, and where that says nothing of
// the others also for those like it. Then the session is examined once more, and a fix
// stays only if it is proved ([search.judge]). So the cost is that of a few examinations,
// however many findings there are.
type search struct {
	fixed, failed []Diagnosis // as they were found first
	changed       bool        // a fix was kept

	c         Case // with the fixes that were kept
	findings  *Findings
	wanted    wanted
	depth     int // of searches for what a fix leaves behind
	origin    origin
	original  map[key]Diagnosis // of the findings that the first fixes left; nil before these
	tried     map[key]int       // how many of its attempts did not hold; see [attempts]
	reasons   map[key]string    // why the last of them did not, where that is worth telling
	advised   map[key]bool      // that also says what the user can do
	refused   string            // why a fix of several messages, which may be for more than its finding, is not tried
	limit     int               // of fixes in a round, where some got in each other's way; 0 for none
	lastPair  [2]*Findings      // see [search.newPartFindings]
	newPlaces map[place]bool    // see [search.newPartFindings]
	alone     map[string]bool   // the messages in which fixes did, so that one is tried at a time
}

// wanted reports whether a finding of the case is to be fixed.
type wanted func(Case, Finding) bool

// An origin has the refs under which records with new ids were found first.
type origin map[session.Ref]session.Ref

// first returns the ref under which the record was found first.
func (o origin) first(ref session.Ref) session.Ref {
	if was, ok := o[ref]; ok {
		return was
	}
	return ref
}

// maxAttempts is more than any finding has attempts.
const maxAttempts = 1 << 20

// maxDepth is how often a fix may need other fixes to hold.
const maxDepth = 2

// newSearch fixes what is wanted and can be fixed. It adds to o.
func newSearch(c Case, o origin, depth int, w wanted) *search {
	s := &search{c: c, findings: c.Findings(), wanted: w, depth: depth, origin: o}
	s.tried, s.reasons, s.advised, s.alone = map[key]int{}, map[key]string{}, map[key]bool{}, map[string]bool{}
	for range maxRounds(len(s.findings.list)) {
		if !s.round() {
			break
		}
	}
	way := ""
	for _, f := range s.findings.list {
		if !w(s.c, f) {
			continue
		}
		d := s.unfixed(f)
		if f.Severity == Broken && depth == 0 && !s.advised[f.key()] && d.WhyNot != s.refused {
			way = cmp.Or(way, s.forkAdvice(), " Continue in a new session.")
			d.WhyNot += way
		}
		s.failed = append(s.failed, d)
	}
	return s
}

// maxRounds is far more rounds than n findings need: every fix of every finding, and
// again after each fix that is kept. No session can keep mend busy for ever.
func maxRounds(n int) int { return 64 + 16*n }

// describe returns the diagnosis of a finding of the session, with the ref under which
// the record was found first.
func (s *search) describe(f Finding) Diagnosis { return describe(s.c, s.origin, f) }

func describe(c Case, o origin, f Finding) Diagnosis {
	d := c.Describe(f)
	d.Ref, d.finding = o.first(d.Ref), f.at(o.first(f.Ref))
	return d
}

// A trial is a fix that was applied.
type trial struct {
	*Finding
	attempt
	edit Edit
}

// An attempt is a fix that is tried for a finding: by itself, or together with the fixes
// of what it leaves behind.
type attempt struct {
	fix      Fix
	together bool
}

// attempts returns those for a finding that has these fixes. Of fixes that lose the same
// each is tried by itself before any of them is tried together with others.
func attempts(fixes []Fix) (all []attempt) {
	for i, x := range fixes {
		all = append(all, attempt{x, false})
		alike := func(y Fix) bool { return y.Loses == x.Loses }
		if slices.ContainsFunc(fixes[i+1:], alike) {
			continue
		}
		for _, y := range fixes[:i+1] {
			if alike(y) {
				all = append(all, attempt{y, true})
			}
		}
	}
	return all
}

// independent reports whether the trial changes no message but its own, its position included,
// and so may be tried with others that do the same.
func (tr *trial) independent() bool { return tr.fix.Whole && tr.fix.Alike }

// round tries fixes, and reports whether there was one to try. Those that do not hold
// beside others which do are tried again on top of these: a fix is given up only for
// what it does to the session with the fixes that were kept.
func (s *search) round() bool {
	d := s.c.Draft()
	trials := s.apply(d)
	if len(trials) == 0 {
		return false
	}
	if trials[0].together {
		s.tryTogether(trials)
		return true
	}
	good, bad, after := s.dropFailing(d, trials)
	switch {
	case after == nil:
		return true
	case len(good) > 0:
		s.keep(good, after)
	default:
		s.giveUp(bad)
	}
	s.limit *= 2
	return true
}

// tryTogether tries fixes together with those of what they leave behind, and fewer of
// them if that does not hold.
func (s *search) tryTogether(trials []*trial) {
	switch {
	case s.applyTogether(trials):
		s.limit *= 2
	case len(trials) > 1:
		s.limit = len(trials) / 2
	default:
		s.tried[trials[0].key()]++
		s.limit *= 2
	}
}

// dropFailing takes back the trials in the draft that do not hold, and returns those that do,
// with the case of the draft then. It returns no case where there is more wrong than the
// trials can have caused: which of them did shows among fewer; nor where they were kept,
// with the fixes of what they uncovered.
func (s *search) dropFailing(d Draft, trials []*trial) (good, bad []*trial, after Case) {
	for len(trials) > 0 {
		after = d.Case()
		news := s.newPlacesIn(trials, after.Findings().counts)
		if len(trials) > 1 && trials[0].fix.Whole {
			return s.judgeIndependent(trials, news, after)
		}
		var uncovered []place
		news, uncovered = s.uncovered(trials, news)
		if len(trials) > 1 && slices.ContainsFunc(news, func(p place) bool { return !anyMayCause(trials, p) }) {
			s.limit = len(trials) / 2
			return nil, nil, nil
		}
		good, failed := s.judge(trials, news, after)
		switch {
		case len(failed) > 0: // the others are judged without them
		case len(uncovered) == 0:
			return good, bad, after
		case s.applyTogether(good):
			return nil, nil, nil
		case len(good) > 1:
			s.limit = len(good) / 2
			return nil, nil, nil
		default:
			return nil, append(bad, good...), after
		}
		for _, tr := range slices.Backward(failed) {
			d.Undo(tr.edit)
		}
		trials, bad = good, append(bad, failed...)
	}
	return nil, bad, after
}

// judgeIndependent is [search.dropFailing] for trials that move or remove messages, and so
// may affect every message: all of them hold, or fewer are tried.
func (s *search) judgeIndependent(trials []*trial, news []place, after Case) (good, bad []*trial, now Case) {
	to := renamed(s.c, after)
	switch {
	case slices.ContainsFunc(trials, func(tr *trial) bool { return !s.isFixed(*tr.Finding, to, after) }):
		s.limit = len(trials) / 2
	case len(news) == 0:
		return trials, nil, after
	case !slices.ContainsFunc(trials, s.hasAlternative) && s.applyTogether(trials):
		s.limit *= 2
	default:
		s.limit = len(trials) / 2
	}
	return nil, nil, nil
}

// giveUp passes on to the next attempt for the findings whose fixes do not hold. Where
// there were several in a message, each is tried alone first.
func (s *search) giveUp(bad []*trial) {
	count := map[string]int{}
	for _, tr := range bad {
		count[tr.Ref.Message]++
	}
	for _, tr := range bad {
		if count[tr.Ref.Message] > 1 {
			s.alone[tr.Ref.Message] = true
			continue
		}
		s.tried[tr.key()]++
	}
}

// apply edits the draft: the next fix of one wanted finding of every message, and of
// those that are fixed alike in its other parts. A fix that changes more than its
// message is applied alone, or with others that are alike.
func (s *search) apply(d Draft) (trials []*trial) {
	kind, busy := map[string]string{}, map[session.Ref]bool{} // of the findings that may still be tried in a message that had one
	for i := range s.findings.list {
		f := &s.findings.list[i]
		code, begun := kind[f.Ref.Message]
		beside := !begun || code == f.Code && !busy[f.Ref] && !s.alone[f.Ref.Message]
		if !s.wanted(s.c, *f) || !beside || s.limit > 0 && len(trials) >= s.limit {
			continue
		}
		for a, ok := s.next(d, *f); ok; a, ok = s.next(d, *f) {
			tr, x := &trial{Finding: f, attempt: a}, a.fix
			whole := len(trials) > 0 && (x.Whole || trials[0].fix.Whole)
			many := len(trials) > 0 && tr.independent() && trials[0].independent()
			if whole && !many || begun && !x.Alike || len(trials) > 0 && a.together != trials[0].together {
				break // its turn comes
			}
			var err error
			if tr.edit, err = d.Apply(*f, x); err != nil {
				s.reject(tr, err)
				continue
			}
			if x.Whole && !tr.independent() {
				return []*trial{tr}
			}
			kind[f.Ref.Message], busy[f.Ref] = "", true
			if x.Alike {
				kind[f.Ref.Message] = f.Code
			}
			trials = append(trials, tr)
			break
		}
	}
	return trials
}

// reject passes on to the next fix after the one of the trial could not be applied.
func (s *search) reject(tr *trial, err error) {
	s.tried[tr.key()]++
	var r *RefusalError
	if !errors.As(err, &r) {
		return
	}
	s.refuse(*tr.Finding, r)
	if r.Final {
		if tr.fix.Whole {
			s.refused = r.Why
		}
		s.tried[tr.key()] = maxAttempts
	}
}

// next returns the next attempt at the finding, if there is one.
func (s *search) next(d Draft, f Finding) (attempt, bool) {
	all := attempts(s.fixes(f, d))
	if n := s.tried[f.key()]; n < len(all) {
		return all[n], true
	}
	return attempt{}, false
}

// fixes returns the ways to fix the finding: none where the agent refuses them all.
func (s *search) fixes(f Finding, d Draft) []Fix {
	fixes, err := s.c.Fixes(f, d)
	var r *RefusalError
	if errors.As(err, &r) {
		s.refuse(f, r)
		return nil
	}
	return fixes
}

// refuse notes why a finding is not fixed now.
func (s *search) refuse(f Finding, r *RefusalError) {
	s.reasons[f.key()] = r.Why
	if r.Helps {
		s.advised[f.key()] = true
	}
}

// hasAlternative reports whether a later fix for the same finding loses no more: it is tried
// before this one is tried with others.
func (s *search) hasAlternative(tr *trial) bool {
	all := attempts(s.fixes(*tr.Finding, nil))
	n := s.tried[tr.key()] + 1
	return n < len(all) && !all[n].together
}

// applyTogether tries fixes that did not hold once more, without others that were tried
// beside them and with the fixes of what they leave behind, and reports whether that
// held; if so they are kept.
func (s *search) applyTogether(trials []*trial) bool {
	if s.depth == maxDepth {
		return false
	}
	d := s.c.Draft()
	for _, tr := range trials {
		if _, err := d.Apply(*tr.Finding, tr.fix); err != nil {
			return false
		}
	}
	left := d.Case()
	since := origin{} // the refs that records have had since the trials
	for was, is := range renamed(s.c, left) {
		since[is] = was
	}
	sub := newSearch(left, since, s.depth+1, func(c Case, f Finding) bool { return s.isCausedBy(trials, f, c, since) })
	to, stays := renamed(s.c, sub.c), map[key]bool{}
	for _, f := range sub.findings.list {
		stays[f.at(since.first(f.Ref))] = true
	}
	if slices.ContainsFunc(trials, func(tr *trial) bool { return stays[tr.key()] || !s.isFixed(*tr.Finding, to, sub.c) }) ||
		slices.ContainsFunc(s.newPlacesIn(trials, countsBefore(sub.findings, since)), s.isWorse) {
		return false
	}
	own := map[string]*Fix{}
	for i := range trials {
		own[trials[i].Ref.Message] = &trials[i].fix
	}
	for _, also := range sub.fixed {
		x := cmp.Or(own[also.Ref.Message], &trials[0].fix)
		x.Text = join(x.Text, also.Fix)
		x.Loses = join(x.Loses, also.Loses)
	}
	merged := maps.Clone(s.origin)
	for is, was := range since {
		merged[is] = s.origin.first(was)
	}
	for i := range sub.fixed {
		d := &sub.fixed[i]
		d.Ref, d.finding.ref = s.origin.first(d.Ref), s.origin.first(d.finding.ref)
	}
	s.keep(trials, sub.c)
	clear(s.origin)
	maps.Copy(s.origin, merged)
	s.fixed = append(s.fixed, sub.fixed...)
	return true
}

// join joins sentences, each once.
func join(a, b string) string {
	if strings.Contains(a, b) {
		return a
	}
	return strings.TrimSpace(a + " " + b)
}

// keep makes the fixes of the trials final.
func (s *search) keep(trials []*trial, after Case) {
	for _, tr := range trials {
		tr.edit = nil // it is not taken back any more
	}
	to, fix, first := renamed(s.c, after), describeFixed(trials), s.original == nil
	if first {
		s.original = map[key]Diagnosis{}
	}
	s.fixed = slices.Grow(s.fixed, len(trials))
	for i := range s.findings.list {
		f := &s.findings.list[i]
		switch {
		case s.isFixed(*f, to, after):
			s.fixed = append(s.fixed, fix(f, s.originalDiagnosis(*f)))
		case first:
			s.original[f.key()] = s.describe(*f)
		}
	}
	for was, is := range to {
		s.origin[is] = s.origin.first(was)
	}
	s.c, s.findings, s.changed = after, after.Findings(), true
	clear(s.tried) // what did not hold before may hold now
}

// describeFixed returns which of the trials fixed a finding: its own, or else the last one in
// its message.
func describeFixed(trials []*trial) func(*Finding, Diagnosis) Diagnosis {
	own, beside := map[*Finding]*trial{}, map[string]*trial{}
	for _, tr := range trials {
		own[tr.Finding], beside[tr.Ref.Message] = tr, tr
	}
	return func(f *Finding, d Diagnosis) Diagnosis {
		d.Fix, d.WhyNot = "The fix above also solves this.", ""
		near, ok := beside[f.Ref.Message]
		if len(trials) == 1 && trials[0].fix.Whole {
			near, ok = trials[0], true
		}
		if ok {
			d.Fix = near.fix.Text
		}
		if tr, ok := own[f]; ok {
			d.Fix, d.Loses = tr.fix.Text, tr.fix.Loses
		}
		return d
	}
}

// unfixed returns the diagnosis of a finding that stays, with the reason.
func (s *search) unfixed(f Finding) Diagnosis {
	d := s.originalDiagnosis(f)
	d.WhyNot = cmp.Or(s.reasons[f.key()], s.refused, d.WhyNot, whyNone)
	return d
}

// originalDiagnosis returns the diagnosis of the finding as it was first.
func (s *search) originalDiagnosis(f Finding) Diagnosis {
	if d, ok := s.original[f.key()]; ok {
		return d
	}
	return s.describe(f)
}

const whyNone = "mend knows no change that fixes this without breaking something else."

// forkAdvice returns what the user can do about a session that stays broken, "" if nothing
// is known.
func (s *search) forkAdvice() string {
	c, ok := s.c.(Forker)
	if !ok {
		return ""
	}
	var broken []Finding
	for _, f := range s.findings.list {
		if f.Severity == Broken && s.wanted(s.c, f) {
			broken = append(broken, f)
		}
	}
	if way := c.Fork(broken); way != "" {
		return " " + way
	}
	return ""
}

// renamed returns the refs that records of the case have in the later one, if others.
func renamed(earlier, later Case) map[session.Ref]session.Ref {
	if c, ok := later.(Renamer); ok {
		return c.Renamed(earlier)
	}
	return nil
}
