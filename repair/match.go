package repair

// A Matcher is a Case that can tell whether an API error came from its session.
type Matcher interface {
	// Match reports how the session fits the error.
	Match(e APIError) Match
	// LastError returns the error with which the newest answer failed, as it is stored;
	// nil if it did not fail.
	LastError() []byte
}

// A Match says how a session fits an API error.
type Match struct {
	Degree Degree
	Rule   string // the code of the rule that the request breaks
	N, M   int    // the place in the request; -1 for none
}

// A Degree says how well a session fits an API error. The zero Degree is that it does not.
type Degree uint8

// The degrees, the best last.
const (
	IsBroken          Degree = iota + 1 // the session is broken; what the error is about does not show in it
	BreaksElsewhere                     // the request breaks the rule, but not at the place that the error names
	HasClass                            // a finding is of the error's class; its place is not known
	TitleInText                         // the text contains the session's title
	FailedWithIt                        // no request shows it; the newest answer failed with this error
	BreaksRule                          // the request breaks the rule, and the error names no place
	BreaksItOtherwise                   // as BreaksThere, in a setting that is not in use
	BreaksThere                         // the request breaks the rule at the place that the error names
	IDInText                            // the text contains the session's id
)

// Better returns the better one of two matches, the first if they are alike.
func (m Match) Better(o Match) Match {
	if o.Degree > m.Degree {
		return o
	}
	return m
}
