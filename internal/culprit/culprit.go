// Package culprit finds the session that an error comes from: by the names in the error's text, by the requests that
// break the error's rule, and by the errors that sessions store. It repairs nothing.
//
// It may import change, internal/mend, internal/provider, internal/request and repair. Read [Find] first.
package culprit

import (
	"context"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/provider"
	"mend/internal/request"
	"mend/repair"
)

// Readings recognises an error of a model API or of an agent in a text that a user copied. It returns the possible
// readings of the text (see [provider.Readings]), the most specific first.
func Readings(agents mend.Agents, text []byte) (readings []repair.APIError) {
	for _, t := range provider.Readings(string(text)) {
		e := agents.ParseAPIError([]byte(t))
		if !slices.ContainsFunc(readings, func(r repair.APIError) bool { return reflect.DeepEqual(r, e) }) {
			readings = append(readings, e)
		}
	}
	slices.SortStableFunc(readings, func(a, b repair.APIError) int { return detail(b) - detail(a) })
	return readings
}

// detail returns how specific a reading of an error is.
func detail(e repair.APIError) (n int) {
	for weight, present := range []bool{len(e.Calls) > 0, e.Index >= 0, e.Rule != "", e.Recognised} {
		if present {
			n += 1 << weight
		}
	}
	return n
}

// A Culprit is a session that an API error may come from.
type Culprit struct {
	Session change.Head // without its messages
	Match   repair.Match
	Error   repair.APIError // the reading of the error that matches the session
	Failed  bool            // its newest response failed with the error; known only if several sessions match
	Wrong   string          // why the session is broken, or cannot be examined; "" if it is neither
	Hidden  bool            // it has content of the kind that the error is about, which only the provider can judge
}

// Find returns the sessions that match an error best (see [repair.Degree]): sessions of the folder dir first, then
// the newest. If several break the rule of the error, sessions that failed with it in the newest response come first.
// If none matches, it returns all sessions that are broken or cannot be examined. It omits a session if its agent or
// API never shows such an error, unless the text names the session. readings are from [Readings]. It calls step for
// each examined session. It only reads.
func Find(
	ctx context.Context, c *mend.Store, heads []change.Head, readings []repair.APIError, dir string, step func(),
) ([]Culprit, error) {
	heads = slices.Clone(heads)
	request.MoveFirst(heads, mend.Here(heads, dir))
	found, err := bestMatches(ctx, c, heads, readings, step)
	if err != nil || len(found) > 0 && found[0].Match.Degree > repair.FailedWithIt {
		return failedFirst(ctx, c, found, readings), err
	}
	var failed []Culprit
	for _, h := range heads {
		if hasFailure(ctx, c, h, readings) {
			failed = append(failed, Culprit{
				Session: h, Match: repair.Match{Degree: repair.FailedWithIt, N: -1, M: -1}, Error: readings[0], Failed: true,
			})
		}
	}
	if ctx.Err() != nil || len(failed) > 0 {
		return failed, ctx.Err()
	}
	return found, nil
}

// bestMatches returns the sessions that match the error best by name, request or finding.
func bestMatches(
	ctx context.Context, c *mend.Store, heads []change.Head, readings []repair.APIError, step func(),
) (best []Culprit, err error) {
	named := namesIn(readings)
	hidden := slices.ContainsFunc(readings, repair.IsHidden)
	for f := range c.WithCache().Scan(ctx, heads) {
		step()
		x := Culprit{Session: f.Session, Error: readings[0], Wrong: faultText(f, ""), Match: repair.Match{N: -1, M: -1}}
		readings := slices.DeleteFunc(slices.Clone(readings), func(e repair.APIError) bool { return !mayShow(c, f, e) })
		switch {
		case named[f.Session.ID]:
			x.Match.Degree = repair.IDInText
		case len(readings) == 0:
			continue
		case x.Wrong != "":
			x.Match.Degree = repair.IsBroken
		}
		var m *repair.Case
		// a session without findings breaks no rule
		if f.Err == nil && (hidden || f.Busy || f.Severity() != 0 && f.Severity() <= repair.Latent) {
			if m, err = matcher(ctx, c, f.Session, readings...); err != nil {
				return nil, err
			}
		}
		for _, e := range readings {
			match := repair.Match{N: -1, M: -1}
			if m != nil {
				match = repair.MatchError(m, e)
			}
			wrong := x.Wrong
			if placed := e.Index >= 0 || len(e.Calls) > 0; match.Degree == 0 && e.Class != "" && (m == nil || !placed) {
				if why := faultText(f, e.Class); why != "" {
					match.Degree, wrong = repair.HasClass, why
				}
			}
			isHidden := match.Degree == repair.HasContent || match.Degree == repair.HasQuoted
			if match.Degree > x.Match.Degree {
				x.Match, x.Error, x.Wrong, x.Hidden = match, e, wrong, isHidden
			} else if isHidden && !x.Hidden && x.Match.Degree == repair.IDInText {
				x.Error, x.Hidden = e, true
			}
		}
		switch {
		case x.Match.Degree == 0 || len(best) > 0 && x.Match.Degree < best[0].Match.Degree:
		case len(best) > 0 && x.Match.Degree == best[0].Match.Degree:
			best = append(best, x)
		default:
			best = []Culprit{x}
		}
	}
	return best, ctx.Err()
}

// mayShow reports whether the agent may show an error about a session.
func mayShow(c *mend.Store, f mend.Finding, e repair.APIError) bool {
	asked := f.Provider
	if asked == "" && f.Err == nil {
		asked = "anthropic"
	}
	return (e.Agent == "" || e.Agent == c.ID().Agent) && provider.MayPrint(asked, e.API)
}

// faultText returns why a session is broken or cannot be examined, "" if it is neither. With a class only broken
// findings of that class count; a finding of the class [repair.OtherProvider] need not be broken.
func faultText(f mend.Finding, class repair.Class) string {
	if f.Err != nil && class == "" {
		return "it cannot be examined: " + f.Err.Error()
	}
	for _, d := range f.Diagnoses {
		if d.Severity == repair.Broken && (class == "" || d.Class == class) || class == repair.OtherProvider &&
			d.Class == class {
			return d.Why
		}
	}
	return ""
}

var nameWords = regexp.MustCompile(`[\w-]{12,}(?:\.[\w-]+)*`)

// namesIn returns the words of a pasted error that may be ids of sessions.
func namesIn(readings []repair.APIError) map[string]bool {
	words := map[string]bool{}
	for _, e := range readings {
		for _, w := range nameWords.FindAllString(e.Text, -1) {
			words[w] = true
			for at := strings.LastIndexByte(w, '.'); at >= 0; at = strings.LastIndexByte(w, '.') { // a file name
				w = w[:at]
				words[w] = true
			}
		}
	}
	return words
}

// failedFirst sorts the culprits: sessions that failed with the error in the newest response come first.
func failedFirst(ctx context.Context, c *mend.Store, found []Culprit, readings []repair.APIError) []Culprit {
	if len(found) < 2 {
		return found
	}
	for i := range found {
		found[i].Failed = hasFailure(ctx, c, found[i].Session, readings)
	}
	request.MoveFirst(found, func(x Culprit) bool { return x.Failed })
	return found
}

// hasFailure reports whether the newest response of a session failed with the error; false if it cannot be read.
func hasFailure(ctx context.Context, c *mend.Store, head change.Head, readings []repair.APIError) bool {
	s, err := c.Case(ctx, head)
	if err != nil || len(s.LastError) == 0 {
		return false
	}
	newest := c.ParseAPIError(s.LastError)
	return slices.ContainsFunc(readings, func(e repair.APIError) bool {
		tooLong := e.Class == repair.ContextTooLong && newest.Class == e.Class // their words differ
		return tooLong || provider.SameError(newest.Text, e.Text)
	})
}

// matcher returns the case of a session, to match it with errors; nil if the session cannot be read. The error comes
// only from the context.
func matcher(
	ctx context.Context, c *mend.Store, head change.Head, readings ...repair.APIError,
) (*repair.Case, error) {
	var hidden *repair.APIError
	if i := slices.IndexFunc(readings, repair.IsHidden); i >= 0 {
		hidden = &readings[i]
	}
	s, err := c.CaseFor(ctx, head, hidden)
	if err != nil {
		return nil, ctx.Err()
	}
	return s, nil
}

// SessionsOf returns the sessions of the culprits.
func SessionsOf(found []Culprit) []change.Head {
	heads := make([]change.Head, len(found))
	for i, x := range found {
		heads[i] = x.Session
	}
	return heads
}
