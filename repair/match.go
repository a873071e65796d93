package repair

import (
	"slices"
	"strings"

	"mend/change"
	"mend/internal/request"
)

// A Match describes how well a session fits an API error.
type Match struct {
	Degree Degree
	Rule   string // the code of the rule that the request breaks
	N, M   int    // the place in the request; -1 for none
}

// A Degree is how well a session fits an API error. The zero Degree means that it does not.
type Degree uint8

// The degrees, best last.
const (
	IsBroken Degree = iota + 1 // the session is broken, but shows nothing that the error is about
	// HasContent: it has content that may be the cause; only the provider knows.
	HasContent
	BreaksElsewhere   // the request breaks the rule, but not at the place that the error names
	HasClass          // a finding has the error's class; its place is unknown
	FailedWithIt      // no request shows the error, but the newest answer failed with it
	BreaksRule        // the request breaks the rule, and the error names no place
	BreaksItOtherwise // as [BreaksThere], but in a setting that is not in use
	BreaksThere       // the request breaks the rule at the place that the error names
	HasQuoted         // it has the content that the error quotes, or the item that it names
	IDInText          // the text contains the session's id
)

// Better returns the better of two matches, the first if they are equal.
func (m Match) Better(o Match) Match {
	if o.Degree > m.Degree {
		return o
	}
	return m
}

// MatchError returns how well a session fits an error: it searches the requests of all settings for the
// violation. For an error that only the provider can judge it searches the next request for content that the
// error may be about.
func MatchError(c *Case, e APIError) (best Match) {
	if e.Rule == "" && e.Class == "" {
		return Match{}
	}
	for i := range c.Settings() {
		q, refused := c.Sent(i)
		if !hasCalls(q, e.Calls) {
			continue
		}
		for _, v := range refused {
			if hasSameRule(c, e, v) {
				best = best.Better(Match{Degree: degree(e, v, q, i == InUse), Rule: v.Rule, N: v.N, M: v.M})
			}
		}
		if best.Degree == BreaksThere {
			break
		}
	}
	switch content := matchContent(c, e); {
	case best.Degree == 0:
		return content
	case best.Degree < BreaksThere: // the rule and the place stay those of the violation
		best.Degree = max(best.Degree, content.Degree)
	}
	return best
}

// IsHidden reports whether only the provider can judge the content that an error is about.
func IsHidden(e APIError) bool { return OnlyProviderSees(e.Class) || e.Class == ItemID }

// matchContent returns how well a session fits an error that only the provider can judge.
func matchContent(c *Case, e APIError) (best Match) {
	if !IsHidden(e) {
		return Match{}
	}
	found := map[change.Ref]bool{}
	for _, f := range FindForError(c, e) {
		found[messageRef(f.Ref)] = true
	}
	q, _ := c.Next()
	for n, t := range q.Turns {
		for m, b := range t.Blocks {
			match := Match{N: -1, M: -1}
			switch {
			case b.Source == nil || !found[messageRef(b.Ref())]:
			case e.Quotes(b):
				match = Match{Degree: HasQuoted, N: n, M: m}
			case e.Class != ItemID && (e.Index < 0 || e.Index == n && isBlock(e, request.Violation{N: n, M: m}, q)):
				match.Degree = HasContent
			}
			best = best.Better(match)
		}
	}
	return best
}

// hasSameRule reports whether the error and the violation have the same rule. The same class is enough if the error
// names no rule, or a rule of another provider: a gateway passes errors on.
func hasSameRule(c *Case, e APIError, v request.Violation) bool {
	if e.Rule == v.Rule || !isOther(e, v) {
		return e.Rule == v.Rule
	}
	if r, ok := engineRules()[v.Rule]; ok {
		return r.Class == e.Class
	}
	return slices.ContainsFunc(c.Findings().All(), func(f Finding) bool { return f.Code == v.Rule && f.Class == e.Class })
}

// isOther reports whether the error names no rule, or a rule of a provider other than the violation's: the letter in a
// rule's code identifies the provider.
func isOther(e APIError, v request.Violation) bool {
	return e.Rule == "" || v.Rule == "" || e.Rule[0] != v.Rule[0]
}

// degree returns how well the violation fits an error with the same rule or class.
func degree(e APIError, v request.Violation, q request.Request, inUse bool) Degree {
	exact := BreaksItOtherwise
	if inUse {
		exact = BreaksThere
	}
	switch named := len(e.Calls) > 0; {
	case e.Index < 0 && !named && e.Rule != "" && isOther(e, v):
		return HasClass
	case e.Index < 0 && !named:
		return BreaksRule
	case e.Index >= 0 && e.Index == v.N && isBlock(e, v, q):
		return exact
	case named && slices.ContainsFunc(adjacentTurns(q, v), func(t request.Turn) bool { return namesCall(t, e.Calls) }):
		return exact
	}
	return BreaksElsewhere
}

// isBlock reports whether the error names the violation's block in its turn, or no block. In a turn with a
// single block, the place may be inside that block's content.
func isBlock(e APIError, v request.Violation, q request.Request) bool {
	return e.Block < 0 || v.M < 0 || e.Block == v.M || v.N < len(q.Turns) && len(q.Turns[v.N].Blocks) == 1
}

// adjacentTurns returns the turn of the violation and the next one, which has the results of its calls.
func adjacentTurns(q request.Request, v request.Violation) []request.Turn {
	if v.N < 0 || v.N >= len(q.Turns) {
		return nil
	}
	return q.Turns[v.N:min(v.N+2, len(q.Turns))]
}

// hasCalls reports whether the request has a call or a result with one of the ids, or there are
// no ids.
func hasCalls(q request.Request, ids []string) bool {
	return len(ids) == 0 || slices.ContainsFunc(q.Turns, func(t request.Turn) bool { return namesCall(t, ids) })
}

func namesCall(t request.Turn, ids []string) bool {
	return slices.ContainsFunc(t.Blocks, func(b *request.Block) bool {
		return isNamed(b, ids)
	})
}

// isNamed reports whether the block is a call or a result with one of the ids. A text may cut off a long id.
func isNamed(b *request.Block, ids []string) bool {
	return b.ToolID != "" && slices.ContainsFunc(ids, func(id string) bool {
		return id == b.ToolID || len(id) >= minCut && strings.HasPrefix(b.ToolID, id)
	})
}

// minCut is the least length at which the beginning of an id is accepted as that id.
const minCut = 32
