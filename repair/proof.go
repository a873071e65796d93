package repair

import "mend/change"

// judge returns the trials that failed. A trial fails if its finding stays, if it may have caused a new finding, if it
// changed content that mend does not know, or if it breaks an open tool loop. The trials of one message hold or fail
// together, and so do all whole fixes. sure is false if only some of them may have failed.
//
// together means that findings caused by the trials were fixed, too, if possible.
func (s *search) judge(trials []*trial, o outcome, together bool) (bad []*trial, sure bool) {
	whole := trials[0].fix.Whole
	tried := map[string]int{} // trials in each message
	for _, tr := range trials {
		tried[tr.Ref.Message]++
	}
	failed, all := map[string]bool{}, false
	for _, p := range s.newPlaces(o, whole, together) {
		mayCause := whole || tried[p.message] > 0
		if mayCause || !s.findings.mayHide(p) {
			failed[p.message] = true
			all = all || !mayCause || whole
		}
	}
	for _, f := range s.findings.list {
		if f.Unknown && s.isGone(f, o) {
			failed[f.Ref.Message], all = true, all || whole || tried[f.Ref.Message] == 0
		}
	}
	moved := s.movedPlaces(o)
	for _, tr := range trials {
		if !s.isFixed(tr.Finding, o, moved) {
			failed[tr.Ref.Message] = true
			all = all || whole
		}
	}
	breaks := map[string]bool{} // by message
	for _, tr := range trials {
		id := tr.Ref.Message
		if _, ok := breaks[id]; !ok {
			breaks[id] = !whole && s.breaksLoop(messageRef(tr.Ref), o)
		}
		if tr.breaksLoop = tr.breaksLoop || breaks[id]; tr.breaksLoop {
			failed[tr.Ref.Message] = true
			s.reasons[tr.key()] = &RefusalError{Why: whyLoop, Helps: true}
		}
	}
	// the problem moved to another record
	if s.aside && countOf(o.c, trials[0].Code) > countOf(s.c, trials[0].Code)-len(trials) {
		all = true
	}
	sure = true
	for _, tr := range trials {
		if all || failed[tr.Ref.Message] {
			bad = append(bad, tr)
			sure = sure && (len(trials) == 1 || !all && tried[tr.Ref.Message] == 1)
		}
	}
	return bad, sure
}

// countOf returns how many findings have a code.
func countOf(c *Case, code string) (n int) {
	for _, f := range c.Findings().list {
		if f.Code == code {
			n++
		}
	}
	return n
}

// isGone reports whether the finding is gone at its record, including under a new ref of the record.
func (s *search) isGone(f Finding, o outcome) bool {
	left := o.c.Findings()
	if left.has(f.key()) {
		return false
	}
	ref, renamed := o.to[f.Ref]
	return !renamed || !left.has(f.keyAt(ref))
}

// isFixed reports whether the finding is gone at its record, including under a new ref of the record. moved is the
// result of [search.movedPlaces].
func (s *search) isFixed(f Finding, o outcome, moved map[place]bool) bool {
	if !s.isGone(f, o) {
		return false
	}
	_, renamed := o.to[f.Ref]
	return renamed || f.Ref.Kind != change.KindPart || !moved[place{f.Code, f.Ref.Message, InUse}] || o.refs.has(f.Ref)
}

// movedPlaces returns the places of new findings, except at parts that existed before: a part may have moved together
// with its problem.
func (s *search) movedPlaces(o outcome) map[place]bool {
	places := map[place]bool{}
	for _, f := range o.c.Findings().list {
		if !s.findings.has(f.key()) && (f.Ref.Kind != change.KindPart || !s.refs.has(f.Ref)) {
			places[place{f.Code, f.Ref.Message, InUse}] = true
		}
	}
	return places
}

// newPlaces returns the places with more findings than before. For whole fixes it compares the sums over all messages.
// Findings that may have been hidden before are new only in the setting in use.
func (s *search) newPlaces(o outcome, whole, together bool) (all []place) {
	before, after := s.findings.counts, o.c.Findings().counts
	if whole || len(o.to) > 0 {
		before, after = countByMessage(before, nil, whole), countByMessage(after, o.to, whole)
	}
	for p, n := range after {
		old := before[p]
		switch {
		case n <= old,
			together && old > 0 && s.c.Rules.Rule(p.code).Once,
			p.setting != InUse && s.findings.mayHide(p):
			continue
		}
		all = append(all, p)
	}
	return all
}

// countByMessage returns the counts by the messages' original ids. With whole, it sums them over all messages.
func countByMessage(counts map[place]int, to map[change.Ref]change.Ref, whole bool) map[place]int {
	first := map[string]string{}
	for old, ref := range to {
		first[ref.Message] = old.Message
	}
	sums := map[place]int{}
	for p, n := range counts {
		if id, ok := first[p.message]; ok {
			p.message = id
		}
		if whole {
			p.message = ""
		}
		sums[p] += n
	}
	return sums
}
