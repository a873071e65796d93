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
// the others also for those like it. Then the session is surveyed once, and a fix stays
// only if it proved itself ([search.judge]). So the cost is that of a few surveys,
// however many findings there are.
type search struct {
	fixed, failed []Diagnosis // as they were found first
	changed       bool        // a fix was kept

	c       Case // with the fixes that were kept
	now     *Survey
	wanted  wanted
	depth   int // of searches for what a fix leaves behind
	origin  origin
	first   map[key]Diagnosis
	tried   map[key]int     // how many of its attempts did not hold; see [attempts]
	why     map[key]string  // why the last of them did not, where that is worth telling
	helps   map[key]bool    // that also says what the user can do
	refused string          // why a fix of several messages, which may be for more than its finding, is not tried
	limit   int             // of fixes in a round, where some got in each other's way; 0 for none
	between [2]*Survey      // see [search.newIn]
	fresh   map[place]bool  // see [search.newIn]
	alone   map[string]bool // the messages in which fixes did, so that one is tried at a time
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
	t := &search{c: c, now: c.Survey(), wanted: w, depth: depth, origin: o}
	t.first, t.tried, t.why, t.helps, t.alone = map[key]Diagnosis{}, map[key]int{}, map[key]string{}, map[key]bool{}, map[string]bool{}
	for _, f := range t.now.findings {
		t.first[f.key()] = t.describe(f)
	}
	for range maxRounds(len(t.now.findings)) {
		if !t.round() {
			break
		}
	}
	way := ""
	for _, f := range t.now.findings {
		if !w(t.c, f) {
			continue
		}
		d := t.unfixed(f)
		if f.Severity == Broken && depth == 0 && !t.helps[f.key()] && d.WhyNot != t.refused {
			way = cmp.Or(way, t.wayOut(), " Go on in a new session.")
			d.WhyNot += way
		}
		t.failed = append(t.failed, d)
	}
	return t
}

// maxRounds is far more rounds than n findings need: every fix of every finding, and
// again after each fix that is kept. No session can keep mend busy for ever.
func maxRounds(n int) int { return 64 + 16*n }

// describe returns the diagnosis of a finding of the session, with the ref under which
// the record was found first.
func (t *search) describe(f Finding) Diagnosis { return describe(t.c, t.origin, f) }

func describe(c Case, o origin, f Finding) Diagnosis {
	d := c.Describe(f)
	d.Ref, d.finding = o.first(d.Ref), f.at(o.first(f.Ref))
	return d
}

// A trial is a fix that was applied.
type trial struct {
	Finding
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

// many reports whether the trial changes no message but its own, its position included,
// and so may be tried with others that do the same.
func (tr trial) many() bool { return tr.fix.Whole && tr.fix.Alike }

// round tries fixes, and reports whether there was one to try. Those that do not hold
// beside others which do are tried again on top of these: a fix is given up only for
// what it does to the session with the fixes that were kept.
func (t *search) round() bool {
	d := t.c.Draft()
	trials := t.apply(d)
	if len(trials) == 0 {
		return false
	}
	if trials[0].together {
		t.tryTogether(trials)
		return true
	}
	good, bad, after := t.sift(d, trials)
	switch {
	case after == nil:
		return true
	case len(good) > 0:
		t.keep(good, after)
	default:
		t.giveUp(bad)
	}
	t.limit *= 2
	return true
}

// tryTogether tries fixes together with those of what they leave behind, and fewer of
// them if that does not hold.
func (t *search) tryTogether(trials []trial) {
	switch {
	case t.together(trials):
		t.limit *= 2
	case len(trials) > 1:
		t.limit = len(trials) / 2
	default:
		t.tried[trials[0].key()]++
		t.limit *= 2
	}
}

// sift takes back the trials in the draft that do not hold, and returns those that do,
// with the case of the draft then. It returns no case where there is more wrong than the
// trials can have caused: which of them did shows among fewer; nor where they were kept,
// with the fixes of what they uncovered.
func (t *search) sift(d Draft, trials []trial) (good, bad []trial, after Case) {
	for len(trials) > 0 {
		after = d.Case()
		news := t.news(trials, after.Survey().counts)
		if len(trials) > 1 && trials[0].fix.Whole {
			return t.siftMany(trials, news, after)
		}
		var uncovered []place
		news, uncovered = t.uncovered(trials, news)
		if len(trials) > 1 && slices.ContainsFunc(news, func(p place) bool { return !caused(trials, p) }) {
			t.limit = len(trials) / 2
			return nil, nil, nil
		}
		good, failed := t.judge(trials, news, after)
		switch {
		case len(failed) > 0: // the others are surveyed without them
		case len(uncovered) == 0:
			return good, bad, after
		case t.together(good):
			return nil, nil, nil
		case len(good) > 1:
			t.limit = len(good) / 2
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

// siftMany is [search.sift] of trials of which any may have to do with what any message
// of the session is like: all of them hold, or fewer are tried.
func (t *search) siftMany(trials []trial, news []place, after Case) (good, bad []trial, now Case) {
	to := renamed(t.c, after)
	switch {
	case slices.ContainsFunc(trials, func(tr trial) bool { return !t.gone(tr.Finding, to, after) }):
		t.limit = len(trials) / 2
	case len(news) == 0:
		return trials, nil, after
	case !slices.ContainsFunc(trials, t.another) && t.together(trials):
		t.limit *= 2
	default:
		t.limit = len(trials) / 2
	}
	return nil, nil, nil
}

// giveUp passes on to the next attempt for the findings whose fixes do not hold. Where
// there were several in a message, each is tried alone first.
func (t *search) giveUp(bad []trial) {
	count := map[string]int{}
	for _, tr := range bad {
		count[tr.Ref.Message]++
	}
	for _, tr := range bad {
		if count[tr.Ref.Message] > 1 {
			t.alone[tr.Ref.Message] = true
			continue
		}
		t.tried[tr.key()]++
	}
}

// apply edits the draft: the next fix of one wanted finding of every message, and of
// those that are fixed alike in its other parts. A fix that changes more than its
// message is applied alone, or with others that are alike.
func (t *search) apply(d Draft) (trials []trial) {
	kind, busy := map[string]string{}, map[session.Ref]bool{} // of the findings that may still be tried in a message that had one
	for _, f := range t.now.findings {
		code, begun := kind[f.Ref.Message]
		beside := !begun || code == f.Code && !busy[f.Ref] && !t.alone[f.Ref.Message]
		if !t.wanted(t.c, f) || !beside || t.limit > 0 && len(trials) >= t.limit {
			continue
		}
		for a, ok := t.next(d, f); ok; a, ok = t.next(d, f) {
			tr, x := trial{Finding: f, attempt: a}, a.fix
			whole := len(trials) > 0 && (x.Whole || trials[0].fix.Whole)
			many := len(trials) > 0 && tr.many() && trials[0].many()
			if whole && !many || begun && !x.Alike || len(trials) > 0 && a.together != trials[0].together {
				break // its turn comes
			}
			var err error
			if tr.edit, err = d.Apply(f, x); err != nil {
				t.closed(tr, err)
				continue
			}
			if x.Whole && !tr.many() {
				return []trial{tr}
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

// closed passes on to the next fix after the one of the trial could not be applied.
func (t *search) closed(tr trial, err error) {
	t.tried[tr.key()]++
	var r *Refusal
	if !errors.As(err, &r) {
		return
	}
	t.refuse(tr.Finding, r)
	if r.Final {
		if tr.fix.Whole {
			t.refused = r.Why
		}
		t.tried[tr.key()] = maxAttempts
	}
}

// next returns the next attempt at the finding, if there is one.
func (t *search) next(d Draft, f Finding) (attempt, bool) {
	all := attempts(t.fixes(f, d))
	if n := t.tried[f.key()]; n < len(all) {
		return all[n], true
	}
	return attempt{}, false
}

// fixes returns the ways to fix the finding: none where the agent refuses them all.
func (t *search) fixes(f Finding, d Draft) []Fix {
	fixes, err := t.c.Fixes(f, d)
	var r *Refusal
	if errors.As(err, &r) {
		t.refuse(f, r)
		return nil
	}
	return fixes
}

// refuse notes why a finding is not fixed now.
func (t *search) refuse(f Finding, r *Refusal) {
	t.why[f.key()] = r.Why
	if r.Helps {
		t.helps[f.key()] = true
	}
}

// another reports whether a later fix for the same finding loses no more: it is tried
// before this one is tried with others.
func (t *search) another(tr trial) bool {
	all := attempts(t.fixes(tr.Finding, nil))
	n := t.tried[tr.key()] + 1
	return n < len(all) && !all[n].together
}

// together tries fixes that did not hold once more, without others that were tried
// beside them and with the fixes of what they leave behind, and reports whether that
// held; if so they are kept.
func (t *search) together(trials []trial) bool {
	if t.depth == maxDepth {
		return false
	}
	d := t.c.Draft()
	for _, tr := range trials {
		if _, err := d.Apply(tr.Finding, tr.fix); err != nil {
			return false
		}
	}
	left := d.Case()
	since := origin{} // the refs that records have had since the trials
	for was, is := range renamed(t.c, left) {
		since[is] = was
	}
	sub := newSearch(left, since, t.depth+1, func(c Case, f Finding) bool { return t.brought(trials, f, c, since) })
	to, stays := renamed(t.c, sub.c), map[key]bool{}
	for _, f := range sub.now.findings {
		stays[f.at(since.first(f.Ref))] = true
	}
	if slices.ContainsFunc(trials, func(tr trial) bool { return stays[tr.key()] || !t.gone(tr.Finding, to, sub.c) }) ||
		slices.ContainsFunc(t.news(trials, countsBefore(sub.now, since)), t.worse) {
		return false
	}
	own := map[string]*Fix{}
	for i := range trials {
		own[trials[i].Ref.Message] = &trials[i].fix
	}
	for _, also := range sub.fixed {
		x := cmp.Or(own[also.Ref.Message], &trials[0].fix)
		x.Text = join(x.Text, also.Cure)
		x.Loses = join(x.Loses, also.Loses)
	}
	merged := maps.Clone(t.origin)
	for is, was := range since {
		merged[is] = t.origin.first(was)
	}
	for i := range sub.fixed {
		d := &sub.fixed[i]
		d.Ref, d.finding.ref = t.origin.first(d.Ref), t.origin.first(d.finding.ref)
	}
	t.keep(trials, sub.c)
	clear(t.origin)
	maps.Copy(t.origin, merged)
	t.fixed = append(t.fixed, sub.fixed...)
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
func (t *search) keep(trials []trial, after Case) {
	to, fix := renamed(t.c, after), fixesOf(trials)
	for _, f := range t.now.findings {
		if t.gone(f, to, after) {
			t.fixed = append(t.fixed, fix(f, t.asFound(f)))
		}
	}
	for was, is := range to {
		t.origin[is] = t.origin.first(was)
	}
	t.c, t.now, t.changed = after, after.Survey(), true
	clear(t.tried) // what did not hold before may hold now
}

// fixesOf returns which of the trials fixed a finding: its own, or else the last one in
// its message.
func fixesOf(trials []trial) func(Finding, Diagnosis) Diagnosis {
	own, beside := map[key]Fix{}, map[string]Fix{}
	for _, tr := range trials {
		own[tr.key()], beside[tr.Ref.Message] = tr.fix, tr.fix
	}
	return func(f Finding, d Diagnosis) Diagnosis {
		d.Cure, d.WhyNot = "It is gone with the cure of another fault.", ""
		near, ok := beside[f.Ref.Message]
		if len(trials) == 1 && trials[0].fix.Whole {
			near, ok = trials[0].fix, true
		}
		if ok {
			d.Cure = near.Text
		}
		if x, ok := own[f.key()]; ok {
			d.Cure, d.Loses = x.Text, x.Loses
		}
		return d
	}
}

// unfixed returns the diagnosis of a finding that stays, with the reason.
func (t *search) unfixed(f Finding) Diagnosis {
	d := t.asFound(f)
	d.WhyNot = cmp.Or(t.why[f.key()], t.refused, d.WhyNot, whyNone)
	return d
}

// asFound returns the diagnosis of the finding as it was first.
func (t *search) asFound(f Finding) Diagnosis {
	if d, ok := t.first[f.key()]; ok {
		return d
	}
	return t.describe(f)
}

const whyNone = "No change that mend knows cures this without breaking something else."

// wayOut returns what the user can do about a session that stays broken, "" if nothing
// is known.
func (t *search) wayOut() string {
	c, ok := t.c.(Forker)
	if !ok {
		return ""
	}
	var broken []Finding
	for _, f := range t.now.findings {
		if f.Severity == Broken && t.wanted(t.c, f) {
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
