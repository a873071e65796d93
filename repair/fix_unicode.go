package repair

import (
	"errors"

	"mend/internal/jsonedit"
	"mend/internal/request"
)

// Fixes of half surrogate pairs in content that an agent sends (docs/providers.md, R27).

func whyHalfPair(x *Fault) string {
	what := "A text"
	switch {
	case x.block == nil:
	case jsonedit.HasHalfPair(x.block.Input):
		what = "The input of a tool call"
	case isCall(x.block), x.block.Type == request.ToolResult:
		what = "The result of a tool call"
	}
	return what + " contains half of a surrogate pair, so the request is not valid JSON: the provider rejects every " +
		"prompt."
}

// fixHalfPair replaces each half with U+FFFD, as newer agents do.
func fixHalfPair(x *Fault) []Fix {
	b := x.block
	if b == nil {
		return nil
	}
	return alike(Fix{
		Text: "U+FFFD replaces each half of a surrogate pair.",
		Edit: func(d Editor) error {
			if !isCall(b) && b.Type != request.ToolResult {
				return d.SetText(b, b.Text) // decoding replaced the halves
			}
			var err error
			if jsonedit.HasHalfPair(b.Input) {
				err = d.SetInput(b, jsonedit.FixHalfPairs(b.Input))
			}
			if jsonedit.HasHalfPair(b.Output) {
				err = errors.Join(err, d.SetResult(b, b.OutputText()))
			}
			return err
		},
	})
}
