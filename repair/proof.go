package repair

import "mend/change"

// judge returns the trials that failed. A trial fails if its finding stays, if it may have caused a new finding, if it
// changed content that mend does not know, or if it breaks an open tool loop. The trials of one message hold or fail
// together; with [Fix.Whole], all trials do. sure is false if some of the returned trials may hold alone: the caller
// then tries them in smaller groups.
//
// together means that findings caused by the trials were fixed, too, if possible.
func (s *search) judge(trials []*trial, res trialResult, together bool) (bad []*trial, sure bool) {
	whole := trials[0].fix.Whole
	tried := map[string]int{} // trials in each message
	for _, tr := range trials {
		tried[tr.Ref.Message]++
	}
	failed, all := map[string]bool{}, false // the messages whose trials failed; all: every trial failed
	for _, p := range s.newPlaces(res, whole, together) {
		mayCause := whole || tried[p.message] > 0
		if mayCause || !s.findings.mayHide(p) {
			failed[p.message] = true
			all = all || !mayCause || whole
		}
	}
	for _, f := range s.findings.list {
		if f.Unknown && s.isGone(f, res) {
			failed[f.Ref.Message], all = true, all || whole || tried[f.Ref.Message] == 0
		}
	}
	moved := s.movedPlaces(res)
	for _, tr := range trials {
		if !s.isFixed(tr.Finding, res, moved) {
			failed[tr.Ref.Message] = true
			all = all || whole
		}
	}
	breaks := map[string]bool{} // by message
	for _, tr := range trials {
		id := tr.Ref.Message
		if _, ok := breaks[id]; !ok {
			breaks[id] = !whole && s.breaksLoop(messageRef(tr.Ref), res)
		}
		if tr.breaksLoop = tr.breaksLoop || breaks[id]; tr.breaksLoop {
			failed[tr.Ref.Message] = true
			s.reasons[tr.key()] = &RefusalError{Why: whyLoop, Helps: true}
		}
	}
	// Setting records aside only moved the finding to another record.
	if s.aside && countOf(res.c, trials[0].Code) > countOf(s.c, trials[0].Code)-len(trials) {
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
func (s *search) isGone(f Finding, res trialResult) bool {
	left := res.c.Findings()
	if left.has(f.key()) {
		return false
	}
	ref, renamed := res.to[f.Ref]
	return !renamed || !left.has(f.keyAt(ref))
}

// isFixed reports whether the finding is gone at its record, including under a new ref of the record. moved is the
// result of [search.movedPlaces].
func (s *search) isFixed(f Finding, res trialResult, moved map[place]bool) bool {
	if !s.isGone(f, res) {
		return false
	}
	_, renamed := res.to[f.Ref]
	return renamed || f.Ref.Kind != change.KindPart || !moved[place{f.Code, f.Ref.Message, InUse}] || res.refs.has(f.Ref)
}

// movedPlaces returns the places of new findings, except at parts that existed before: a part may have moved together
// with its problem.
func (s *search) movedPlaces(res trialResult) map[place]bool {
	places := map[place]bool{}
	for _, f := range res.c.Findings().list {
		if !s.findings.has(f.key()) && (f.Ref.Kind != change.KindPart || !s.refs.has(f.Ref)) {
			places[place{f.Code, f.Ref.Message, InUse}] = true
		}
	}
	return places
}

// newPlaces returns the places with more findings than before. For whole fixes it compares the sums over all messages.
// Findings that may have been hidden before are new only in the setting in use.
func (s *search) newPlaces(res trialResult, whole, together bool) (all []place) {
	before, after := s.findings.counts, res.c.Findings().counts
	if whole || len(res.to) > 0 {
		before, after = countByMessage(before, nil, whole), countByMessage(after, res.to, whole)
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
