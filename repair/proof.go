package repair

import (
	"slices"

	"mend/session"
)

// judge splits the trials into those that hold and the others. A trial holds if its
// finding is gone under every setting and nothing new is wrong. The trials of one
// message hold together or not at all.
func (s *search) judge(trials []*trial, news []place, after Case) (good, bad []*trial) {
	to := renamed(s.c, after)
	failed := map[string]bool{}
	for _, tr := range trials {
		caused := len(trials) == 1 && len(news) > 0 || slices.ContainsFunc(news, func(p place) bool { return tr.mayCause(p) })
		failed[tr.Ref.Message] = failed[tr.Ref.Message] || caused || !s.isFixed(*tr.Finding, to, after)
	}
	for _, tr := range trials {
		if failed[tr.Ref.Message] {
			bad = append(bad, tr)
		} else {
			good = append(good, tr)
		}
	}
	return good, bad
}

// isFixed reports whether the finding is gone: at its record, and at the ref that its
// record has now. to is of [renamed].
func (s *search) isFixed(f Finding, to map[session.Ref]session.Ref, after Case) bool {
	left := after.Findings()
	if left.has(f.key()) {
		return false
	}
	if is, ok := to[f.Ref]; ok {
		return !left.has(f.at(is))
	}
	if f.Ref.Kind != session.KindPart || after.Has(f.Ref) {
		return true
	}
	return !s.newPartFindings(left)[codeIn{f.Code, f.Ref.Message}] // the part may have moved with the fault
}

// newPartFindings returns where new findings are in parts that the session did not have before.
func (s *search) newPartFindings(left *Findings) map[codeIn]bool {
	if between := [2]*Findings{s.findings, left}; s.lastPair != between {
		s.lastPair, s.inNewParts = between, map[codeIn]bool{}
		for _, g := range left.list {
			if (g.Ref.Kind != session.KindPart || !s.c.Has(g.Ref)) && !s.findings.has(g.key()) {
				s.inNewParts[codeIn{g.Code, g.Ref.Message}] = true
			}
		}
	}
	return s.inNewParts
}

// mayCause reports whether the trial may be the cause of what is new at p.
func (tr *trial) mayCause(p place) bool { return tr.fix.Whole || tr.Ref.Message == p.message }

func anyMayCause(trials []*trial, p place) bool {
	return slices.ContainsFunc(trials, func(tr *trial) bool { return tr.mayCause(p) })
}

// newPlacesIn returns the places with more findings than before the trials. is has the
// counts after them. For a fix that may give messages other ids it counts without
// messages.
func (s *search) newPlacesIn(trials []*trial, is counts) []place {
	was := s.findings.counts
	if len(trials) == 1 && trials[0].fix.Whole {
		was, is = withoutMessages(was), withoutMessages(is)
	}
	var more []place
	for p, n := range is.all {
		if n > was.at(p) {
			more = append(more, p)
		}
	}
	return more
}

// isWorse reports whether the session is worse with what is new at p. It is not if p
// may have been hidden before under a setting that is not in use.
func (s *search) isWorse(p place) bool {
	if s.findings.Once != nil && s.findings.Once(p.code) {
		return s.findings.counts.at(p) == 0
	}
	return p.setting == InUse || !s.findings.hides(p)
}

// uncovered splits new places into those to be judged, and those that the trials have
// uncovered under the setting in use, which have to be fixed with them. What they have
// uncovered under other settings is in neither.
func (s *search) uncovered(trials []*trial, news []place) (judged, uncovered []place) {
	for _, p := range news {
		switch {
		case !s.findings.hides(p) || anyMayCause(trials, p):
			judged = append(judged, p)
		case p.setting == InUse:
			uncovered = append(uncovered, p)
		}
	}
	return judged, uncovered
}

// isCausedBy reports whether the trials caused or uncovered a finding of a later case,
// so that it has to be fixed with them. since has the refs that records got since the
// trials.
func (s *search) isCausedBy(trials []*trial, f Finding, after Case, since origin) bool {
	k := f.at(since.first(f.Ref))
	was := s.findings.settingsOf(k)
	for i := range after.Findings().settingsOf(f.key()).all {
		p := place{codeIn{f.Code, k.ref.Message}, i}
		if !was.has(i) && (i == InUse || !s.findings.hides(p) || anyMayCause(trials, p)) {
			return true
		}
	}
	return false
}

// countsBefore returns the counts of the findings by the first ids of the messages.
func countsBefore(v *Findings, since origin) counts {
	ids := map[string]string{}
	for is, was := range since {
		if is.Kind == session.KindMessage {
			ids[is.Message] = was.Message
		}
	}
	before := counts{}
	for p, n := range v.counts.all {
		if id, ok := ids[p.message]; ok {
			p.message = id
		}
		before.add(p, n)
	}
	return before
}

// withoutMessages returns the counts summed over all messages.
func withoutMessages(c counts) counts {
	sums := counts{}
	for p, n := range c.all {
		p.message = ""
		sums.add(p, n)
	}
	return sums
}
