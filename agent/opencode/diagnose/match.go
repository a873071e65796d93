package diagnose

import (
	"slices"

	"mend/repair"
	"mend/request"
)

var _ repair.Matcher = (*simulation)(nil)

// Match implements [repair.Matcher]: it searches the requests of all settings for what the
// error is about.
func (c *simulation) Match(e repair.APIError) (best repair.Match) {
	if e.Rule == "" && e.Class == "" {
		return repair.Match{}
	}
	for i, set := range c.settings {
		r := c.render(set)
		if !hasCalls(r.Request, e.Calls) {
			continue
		}
		for _, v := range c.violations(set) {
			if isAbout(e, v) {
				best = best.Better(repair.Match{Degree: degree(e, v, r.Request, i == own), Rule: v.Rule, N: v.N, M: v.M})
			}
		}
		if best.Degree == repair.BreaksThere {
			break
		}
	}
	return best
}

// LastError implements [repair.Matcher].
func (c *simulation) LastError() []byte {
	if m := c.s.LatestAssistant(); m != nil && m.Failed {
		return m.Data
	}
	return nil
}

// isAbout reports whether the error is of the violation's rule, or of its class if the error
// names no rule.
func isAbout(e repair.APIError, v request.Violation) bool {
	if e.Rule != "" {
		return v.Rule == e.Rule
	}
	return ruleOf(v.Rule).Class == e.Class
}

// degree returns how well the violation fits the error, which is about its rule or
// class.
func degree(e repair.APIError, v request.Violation, r request.Request, inUse bool) repair.Degree {
	there := repair.BreaksItOtherwise
	if inUse {
		there = repair.BreaksThere
	}
	switch named := len(e.Calls) > 0; {
	case e.Index < 0 && !named:
		return repair.BreaksRule
	case e.Index >= 0 && e.Index == v.N && (e.Block < 0 || v.M < 0 || e.Block == v.M):
		return there
	case named && slices.ContainsFunc(turnsNear(r, v), func(t request.Turn) bool { return namesCall(t, e.Calls) }):
		return there
	}
	return repair.BreaksElsewhere
}

// turnsNear returns the turn of the violation and the next one, which has the results
// of its calls.
func turnsNear(r request.Request, v request.Violation) []request.Turn {
	if v.N < 0 || v.N >= len(r.Turns) {
		return nil
	}
	return r.Turns[v.N:min(v.N+2, len(r.Turns))]
}

// hasCalls reports whether the request has a call or a result with one of the ids, or there are
// no ids.
func hasCalls(r request.Request, ids []string) bool {
	return len(ids) == 0 || slices.ContainsFunc(r.Turns, func(t request.Turn) bool { return namesCall(t, ids) })
}

// namesCall reports whether the turn has a call or a result with one of the ids.
func namesCall(t request.Turn, ids []string) bool {
	return slices.ContainsFunc(t.Blocks, func(b *request.Block) bool {
		return b.ToolID != "" && slices.Contains(ids, b.ToolID)
	})
}
