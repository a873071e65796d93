package repair

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"mend/session"
)

// A search looks for fixes of a session's findings on a copy. In each round it tries
// one fix for one finding of every message, and for findings that are fixed alike. Then
// the copy is examined once, and only fixes that hold stay ([search.judge]). So the
// cost is that of a few examinations, however many findings there are.
type search struct {
	fixed, failed []Diagnosis // with the refs of the original session
	changed       bool        // a fix was kept

	c          Case // with the fixes that were kept
	findings   *Findings
	wanted     wanted
	depth      int // of nested searches for what a fix caused
	origin     origin
	original   map[key]Diagnosis // of the findings that the first fixes left; nil in the first search
	tried      map[key]int       // number of attempts that did not hold; see [attempts]
	reasons    map[key]string    // why the last of them did not hold, if a user should know
	advised    map[key]bool      // the reason says what the user can do
	refused    string            // why fixes of several messages are not tried
	limit      int               // of fixes in a round; 0 for none
	lastPair   [2]*Findings      // see [search.newPartFindings]
	inNewParts map[codeIn]bool   // see [search.newPartFindings]
	alone      map[string]bool   // messages in which fixes conflicted: one is tried at a time
	first      foundFixes        // of the finding that the last round tried first
}

// foundFixes are the fixes of a finding in a draft without edits. To find them may take longer
// than to try one, and several may have to be tried.
type foundFixes struct {
	c     Case
	key   key
	fixes []Fix
}

// A wanted reports whether a finding of the case is to be fixed.
type wanted func(Case, Finding) bool

// An origin maps the refs of records with new ids to their original refs.
type origin map[session.Ref]session.Ref

// first returns the original ref of a record.
func (o origin) first(ref session.Ref) session.Ref {
	if was, ok := o[ref]; ok {
		return was
	}
	return ref
}

// maxAttempts is more than the attempts of any finding.
const maxAttempts = 1 << 20

// maxDepth is the number of nested searches.
const maxDepth = 2

// newSearch fixes what is wanted, as far as fixes hold. It adds to o the refs of
// records that fixes rename.
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

// maxRounds is far more rounds than n findings need, so that a search always ends.
func maxRounds(n int) int { return 64 + 16*n }

// describe returns the diagnosis of a finding with its original ref.
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

// An attempt is a fix that is tried for a finding, alone or together with fixes of what
// it causes.
type attempt struct {
	fix      Fix
	together bool
}

// attempts returns the attempts for these fixes. Of fixes with the same loss each is
// tried alone before one is tried together with others.
func attempts(fixes []Fix) (all []attempt) {
	for i, x := range fixes {
		all = append(all, attempt{fix: x})
		alike := func(y Fix) bool { return y.Loses == x.Loses }
		if slices.ContainsFunc(fixes[i+1:], alike) {
			continue
		}
		for _, y := range fixes[:i+1] {
			if alike(y) {
				all = append(all, attempt{fix: y, together: true})
			}
		}
	}
	return all
}

// independent reports whether the trial changes only its own message and the position
// of that. It may be tried with others that do the same.
func (tr *trial) independent() bool { return tr.fix.Whole && tr.fix.Alike }

// round tries fixes, and reports whether there was one to try. Fixes that do not hold
// beside others are tried again after these are kept.
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

// tryTogether tries fixes together with those of what they cause. If they do not hold,
// the next round tries fewer.
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

// dropFailing undoes the trials in the draft that do not hold, and returns those that
// hold, with the case of the draft. It returns no case if more is wrong than these
// trials can have caused: a round with fewer shows which did. It also returns none if
// they were kept with fixes of what they uncovered.
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
		case len(failed) > 0: // judge the others without them
		case len(uncovered) == 0:
			return good, bad, after
		case len(good) > 1: // the case of this draft is not needed any more, and may be as large as the session
			if !s.applyTogether(good) {
				s.limit = len(good) / 2
			}
			return nil, nil, nil
		case s.applyTogether(good):
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

// judgeIndependent is [search.dropFailing] for trials that move or remove messages, and
// so may affect every message. If not all of them hold, the next round tries fewer.
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

// giveUp goes on to the next attempt for findings whose fixes do not hold. If a message
// has several, each is tried alone first.
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

// apply edits the draft: it applies the next fix of one wanted finding of every
// message, and of others in the message that are fixed alike. A fix that changes more
// than its message is applied alone, or only with others that move or remove messages.
func (s *search) apply(d Draft) (trials []*trial) {
	kind, busy := map[string]string{}, map[session.Ref]bool{} // of further findings that may be tried in a message with one
	for i := range s.findings.list {
		f := &s.findings.list[i]
		code, begun := kind[f.Ref.Message]
		beside := !begun || code == f.Code && !busy[f.Ref] && !s.alone[f.Ref.Message]
		if !s.wanted(s.c, *f) || !beside || s.limit > 0 && len(trials) >= s.limit {
			continue
		}
		for a, ok := s.next(d, *f, len(trials) == 0); ok; a, ok = s.next(d, *f, len(trials) == 0) {
			tr, x := &trial{Finding: f, attempt: a}, a.fix
			whole := len(trials) > 0 && (x.Whole || trials[0].fix.Whole)
			many := len(trials) > 0 && tr.independent() && trials[0].independent()
			if whole && !many || begun && !x.Alike || len(trials) > 0 && a.together != trials[0].together {
				break // it is tried in a later round
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

// reject goes on to the next attempt because the fix could not be applied.
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

// next returns the next attempt at the finding, if there is one. isFirst says that nothing was
// edited in the draft.
func (s *search) next(d Draft, f Finding, isFirst bool) (attempt, bool) {
	fixes := s.first.fixes
	if !isFirst || s.first.c != s.c || s.first.key != f.key() {
		fixes = s.fixes(f, d)
	}
	if isFirst {
		s.first = foundFixes{s.c, f.key(), fixes}
	}
	all := attempts(fixes)
	if n := s.tried[f.key()]; n < len(all) {
		return all[n], true
	}
	return attempt{}, false
}

// fixes returns the fixes of the finding, none if the agent refuses them all.
func (s *search) fixes(f Finding, d Draft) []Fix {
	fixes, err := s.c.Fixes(f, d)
	var r *RefusalError
	if errors.As(err, &r) {
		s.refuse(f, r)
		return nil
	}
	return fixes
}

// refuse keeps the reason why a finding is not fixed.
func (s *search) refuse(f Finding, r *RefusalError) {
	s.reasons[f.key()] = r.Why
	if r.Helps {
		s.advised[f.key()] = true
	}
}

// hasAlternative reports whether the next attempt loses no more and is tried alone: it
// comes before this fix is tried together with others.
func (s *search) hasAlternative(tr *trial) bool {
	all := attempts(s.fixes(*tr.Finding, nil))
	n := s.tried[tr.key()] + 1
	return n < len(all) && !all[n].together
}

// applyTogether applies fixes that did not hold to a new draft, and searches for fixes
// of what they cause. It reports whether all of these hold together, and keeps them if
// so.
func (s *search) applyTogether(trials []*trial) bool {
	if s.depth == maxDepth {
		return false
	}
	for _, tr := range trials {
		tr.edit = nil // of a draft that is not used any more
	}
	s.lastPair, s.inNewParts = [2]*Findings{}, nil
	d := s.c.Draft()
	for _, tr := range trials {
		if _, err := d.Apply(*tr.Finding, tr.fix); err != nil {
			return false
		}
	}
	left := d.Case()
	since := origin{} // the original refs of the records that the trials renamed
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
	s.first = foundFixes{}
	for _, tr := range trials {
		tr.edit = nil // it is not undone any more
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

// describeFixed returns a function that describes which trial fixed a finding: its own,
// or else the last one in its message.
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

// originalDiagnosis returns the first diagnosis of the finding.
func (s *search) originalDiagnosis(f Finding) Diagnosis {
	if d, ok := s.original[f.key()]; ok {
		return d
	}
	return s.describe(f)
}

const whyNone = "mend knows no change that fixes this without breaking something else."

// forkAdvice returns how the user can continue without what stays broken, "" if that is
// unknown.
func (s *search) forkAdvice() string {
	broken := map[string]bool{}
	for _, f := range s.findings.list {
		if f.Severity == Broken && s.wanted(s.c, f) {
			broken[f.Ref.Message] = true
		}
	}
	all := s.c.Messages()
	at := slices.IndexFunc(all, func(r session.Ref) bool { return broken[r.Message] })
	for at > 0 && s.c.Stored(all[at]).Role != session.RoleUser {
		at--
	}
	if at <= 0 {
		return ""
	}
	if way := s.c.ForkBefore(all[at]); way != "" {
		return " " + way
	}
	return ""
}

// renamed returns the refs that records of the case have in the later one, if others.
func renamed(earlier, later Case) map[session.Ref]session.Ref {
	return later.Renamed(earlier)
}
