package sessionfile

import (
	"testing"

	"mend/change"
)

// TestApply: Apply returns the transcript after ops on lines or on the whole file. An op that does not fit changes
// nothing.
func TestApply(t *testing.T) {
	image := func(s string) *change.Image { return &change.Image{Data: []byte(s)} }
	line, file := change.Ref{Kind: change.KindMessage, Message: "x"}, change.Ref{Kind: change.KindSession}
	for name, c := range map[string]struct {
		ops  []change.Op
		want string
	}{
		"nothing":                      {nil, "a\nb\na\n"},
		"a line is added":              {[]change.Op{{Ref: line, Post: image("c")}}, "a\nb\na\nc\n"},
		"the last of two is removed":   {[]change.Op{{Ref: line, Pre: image("a")}}, "a\nb\n"},
		"a line is replaced":           {[]change.Op{{Ref: line, Pre: image("b"), Post: image("c")}}, "a\nc\na\n"},
		"a line that is missing":       {[]change.Op{{Ref: line, Pre: image("x"), Post: image("c")}}, "a\nb\na\n"},
		"the whole file":               {[]change.Op{{Ref: file, Pre: image("a"), Post: image("c\n")}}, "c\n"},
		"a record beside the messages": {[]change.Op{{Ref: change.Ref{Kind: change.KindIndex}, Post: image("c")}}, "a\nb\na\n"},
	} {
		data := []byte("a\nb\na\n")
		if got := string(Apply(data, c.ops)); got != c.want || string(data) != "a\nb\na\n" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
