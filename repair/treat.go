package repair

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/session"
)

// A treatment cures faults of a session, on a copy. It goes in rounds: in each
// one fix is tried for one fault of every message, and where that says nothing of
// the others also for those like it, then the whole session is simulated once, and
// a fix stays only if it proved itself ([treatment.judge]). So the cost is that of a few simulations,
// however many records are at fault.
type treatment struct {
	s             *session.Session // as it is by now
	cured, failed []Diagnosis      // as they were found at first

	c       *chart // of s
	now     *survey
	wanted  wanted
	depth   int // of treatments for what a fix leaves behind
	first   map[key]Diagnosis
	tried   map[key]int      // how many of its attempts did not hold; see [attempts]
	why     map[key]string   // why the last of them did not, where that is worth telling
	helps   map[key]bool     // that also says what the user can do
	locked  []session.Record // what the store cannot replace
	refused string           // why a fix of several messages, which may be for more than its fault, is not tried
	limit   int              // of fixes in a round, where some got in each other's way; 0 for none
	between [2]*survey       // see [treatment.newIn]
	fresh   map[place]bool
	alone   map[string]bool // the messages in which fixes did, so that one is tried at a time
}

// wanted tells of a finding, in the session of the chart, whether it shall be cured.
type wanted func(*chart, finding) bool

// maxDepth is how often a fix may need other fixes to hold.
const maxDepth = 2

// treat cures what is wanted and can be cured.
func (c *chart) treat(w wanted) *treatment { return c.treatAt(0, w) }

func (c *chart) treatAt(depth int, w wanted) *treatment {
	t := &treatment{s: c.s, c: c, now: c.survey(), wanted: w, depth: depth}
	t.first, t.tried, t.why, t.helps, t.alone = map[key]Diagnosis{}, map[key]int{}, map[key]string{}, map[key]bool{}, map[string]bool{}
	for r := range c.s.Records {
		if r.Locked != "" {
			t.locked = append(t.locked, *r)
		}
	}
	for _, f := range t.now.findings {
		t.first[f.key()] = c.describe(f)
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
		d := t.uncured(f)
		if f.severity == Broken && depth == 0 && !t.helps[f.key()] && d.WhyNot != t.refused {
			way = cmp.Or(way, t.wayOut(), " Go on in a new session.")
			d.WhyNot += way
		}
		t.failed = append(t.failed, d)
	}
	return t
}

// maxRounds is far more rounds than n faults need: every fix of every fault, and
// again after each cure. No session can keep mend at it for ever.
func maxRounds(n int) int { return 64 + 16*n }

// A trial is a fix that was applied.
type trial struct {
	finding
	attempt
	at     int             // the index of its message, -1 for none
	before session.Message // that message as it was
	parts  []formerPart    // its parts that were replaced in their places
}

// An attempt is a fix that is tried for a fault: by itself, or together with the fixes
// of what it leaves behind.
type attempt struct {
	fix      fix
	together bool
}

// attempts are those for a fault that has these fixes. Of fixes that lose the same
// each is tried by itself before any of them is tried together with others.
func attempts(fixes []fix) (all []attempt) {
	for i, x := range fixes {
		all = append(all, attempt{x, false})
		alike := func(y fix) bool { return y.loses == x.loses }
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

// many reports whether the trial changes no message but its own, where that stands
// included, and so may be tried with others that do the same.
func (tr trial) many() bool { return tr.fix.whole && tr.fix.alike }

// round tries fixes, and reports whether there was one to try. Those that do not
// hold beside others which do are tried again on top of these: a fix is given up
// only for what it does to the session as it is by now.
func (t *treatment) round() bool {
	d := t.c.draft()
	trials := t.apply(d)
	if len(trials) == 0 {
		return false
	}
	if trials[0].together {
		return t.tryTogether(trials)
	}
	good, bad, after := t.sift(d, trials)
	switch {
	case after == nil:
		return true
	case len(good) > 0:
		t.settle(good, after)
	default:
		t.giveUp(bad)
	}
	t.limit *= 2
	return true
}

// tryTogether tries fixes together with those of what they leave behind, and fewer of
// them if that does not hold.
func (t *treatment) tryTogether(trials []trial) bool {
	switch {
	case t.together(trials):
		t.limit *= 2
	case len(trials) > 1:
		t.limit = len(trials) / 2
	default:
		t.tried[trials[0].key()]++
		t.limit *= 2
	}
	return true
}

// sift undoes the trials in the draft that do not hold, and returns those that do,
// with the chart of the draft then. It returns no chart where there is more wrong than
// the trials can be blamed for: whose doing that is shows among fewer; nor where they
// were settled, with the fixes of what they uncovered.
func (t *treatment) sift(d *draft, trials []trial) (good, bad []trial, after *chart) {
	for len(trials) > 0 {
		after = t.c.of(d.s)
		news := t.news(trials, after.survey().counts)
		if len(trials) > 1 && trials[0].fix.whole {
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
		case len(failed) > 0: // the others are looked at without them
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
			t.undo(d, tr)
		}
		trials, bad = good, append(bad, failed...)
	}
	return nil, bad, after
}

// siftMany is [treatment.sift] of trials of which any may have to do with what any
// message of the session is like: all of them hold, or fewer are tried.
func (t *treatment) siftMany(trials []trial, news []place, after *chart) (good, bad []trial, now *chart) {
	to := moved(t.s, after.s)
	switch {
	case slices.ContainsFunc(trials, func(tr trial) bool { return !t.gone(tr.finding, to, after) }):
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

// giveUp passes on to the next attempt for the faults whose fixes do not hold. Where
// there were several in a message, each is tried alone first.
func (t *treatment) giveUp(bad []trial) {
	count := map[string]int{}
	for _, tr := range bad {
		count[tr.ref.Message]++
	}
	for _, tr := range bad {
		if count[tr.ref.Message] > 1 {
			t.alone[tr.ref.Message] = true
			continue
		}
		t.tried[tr.key()]++
	}
}

// apply edits the draft: the next fix of one wanted fault of every message, and of
// those that are cured alike in its other parts. A fix that changes more than its
// message is applied alone, or with others that are alike.
func (t *treatment) apply(d *draft) (trials []trial) {
	t.c.edited = d.known()
	defer func() { t.c.edited = nil; d.arrange() }()
	kind, busy := map[string]string{}, map[session.Ref]bool{} // of the faults that may still be tried in a message that had one
	for _, f := range t.now.findings {
		code, begun := kind[f.ref.Message]
		beside := !begun || code == f.code && !busy[f.ref] && !t.alone[f.ref.Message]
		if !t.wanted(t.c, f) || !beside || t.limit > 0 && len(trials) >= t.limit {
			continue
		}
		for tr, ok := t.next(d, f); ok; tr, ok = t.next(d, f) {
			whole := len(trials) > 0 && (tr.fix.whole || trials[0].fix.whole)
			many := len(trials) > 0 && tr.many() && trials[0].many()
			if whole && !many || begun && !tr.fix.alike || len(trials) > 0 && tr.together != trials[0].together {
				break // its turn comes
			}
			var err error
			if tr.parts, err = d.apply(tr.fix); err != nil || t.forbidden(tr, d) || t.blind(tr, d.s) {
				t.takeBack(d, tr)
				t.tried[f.key()]++
				continue
			}
			if r := t.changedLocked(tr, d); r != nil {
				// A fix that loses more is none while the user can do something.
				t.takeBack(d, tr)
				t.refuse(f.key(), fmt.Sprintf("The %s %s stays as it is, since %s. Then repair again.", r.Ref.Kind, r.Ref, r.Locked))
				if tr.fix.whole {
					t.refused = t.why[f.key()]
				}
				t.tried[f.key()] = len(attempts(t.fixes(f)))
				break
			}
			if tr.fix.whole && !tr.many() {
				return []trial{tr}
			}
			kind[f.ref.Message], busy[f.ref] = "", true
			if tr.fix.alike {
				kind[f.ref.Message] = f.code
			}
			trials = append(trials, tr)
			break
		}
	}
	return trials
}

// takeBack undoes the trial that was applied last.
func (t *treatment) takeBack(d *draft, tr trial) {
	if tr.many() {
		d.restore(tr.at, tr.before)
		return
	}
	t.undo(d, tr)
	t.c.edited = d.known()
}

// next is the trial of the finding's next attempt, if there is one.
func (t *treatment) next(d *draft, f finding) (trial, bool) {
	all := attempts(t.fixes(f))
	if n := t.tried[f.key()]; n < len(all) {
		tr := trial{finding: f, attempt: all[n], at: d.index(f.ref)}
		if tr.at >= 0 {
			tr.before = d.s.Messages[tr.at]
		}
		tr.fix.whole = tr.fix.whole || tr.at < 0
		return tr, true
	}
	return trial{}, false
}

// fixes are the ways to cure the finding: none where something in the way of a
// safe change is not known.
func (t *treatment) fixes(f finding) []fix {
	if why := t.c.hidden(f.ref); why != "" {
		t.why[f.key()] = why
		return nil
	}
	if why := t.c.staying(f.ref); why != "" {
		t.refuse(f.key(), why)
		return nil
	}
	if r := ruleOf(f.code); r.fixes != nil {
		return r.fixes(t.c, f.fault)
	}
	return nil
}

// refuse notes why a fault is not fixed now, and what the user can do about it.
func (t *treatment) refuse(k key, why string) { t.why[k], t.helps[k] = why, true }

func (t *treatment) undo(d *draft, tr trial) {
	if tr.fix.whole {
		*d = *t.c.draft()
		return
	}
	d.undo(tr.at, tr.before, tr.parts)
}

// another reports whether a later fix for the same fault loses no more: it is
// tried before this one is tried with others.
func (t *treatment) another(tr trial) bool {
	all := attempts(t.fixes(tr.finding))
	n := t.tried[tr.key()] + 1
	return n < len(all) && !all[n].together
}

// together tries fixes that did not hold once more, without others that were tried
// beside them and with the cures of what they leave behind, and reports whether that
// held; if so it is settled.
func (t *treatment) together(trials []trial) bool {
	if t.depth == maxDepth {
		return false
	}
	d := t.c.draft()
	for _, tr := range trials {
		if _, err := d.apply(tr.fix); err != nil {
			return false
		}
	}
	d.arrange()
	if slices.ContainsFunc(trials, func(tr trial) bool { return t.blind(tr, d.s) }) {
		return false
	}
	left := t.c.of(d.s)
	left.origin = map[session.Ref]session.Ref{} // at first the session is as it is here
	for was, is := range moved(t.s, d.s) {
		left.origin[is] = was
	}
	sub := left.treatAt(t.depth+1, func(c *chart, f finding) bool { return t.brought(trials, f, c) })
	to, stays := moved(t.s, sub.s), map[key]bool{}
	for _, f := range sub.now.findings {
		stays[sub.c.keyAtFirst(f)] = true
	}
	if slices.ContainsFunc(trials, func(tr trial) bool { return stays[tr.key()] || !t.gone(tr.finding, to, sub.c) }) ||
		slices.ContainsFunc(t.news(trials, sub.c.countsAtFirst()), t.worse) {
		return false
	}
	own := map[string]*fix{}
	for i := range trials {
		own[trials[i].ref.Message] = &trials[i].fix
	}
	for _, also := range sub.cured {
		x := cmp.Or(own[also.Ref.Message], &trials[0].fix)
		x.cure = join(x.cure, also.Cure)
		x.loses = join(x.loses, also.Loses)
	}
	origin := maps.Clone(t.c.origin)
	for is, was := range sub.c.origin {
		origin[is] = t.c.first(was)
	}
	for i := range sub.cured {
		d := &sub.cured[i]
		d.Ref, d.of.ref = t.c.first(d.Ref), t.c.first(d.of.ref)
	}
	t.settle(trials, sub.c)
	t.c.origin = origin
	t.cured = append(t.cured, sub.cured...)
	return true
}

// join puts sentences behind each other, each once.
func join(a, b string) string {
	if strings.Contains(a, b) {
		return a
	}
	return strings.TrimSpace(a + " " + b)
}
