package jsonedit

import (
	"strings"
	"testing"
)

// nest returns a value inside as many lists or objects as levels.
func nest(open, end, value string, levels int) string {
	return strings.Repeat(open, levels) + value + strings.Repeat(end, levels)
}

// TestTooDeep: JSON is read down to the maximum depth. Deeper JSON is reported; JSON that is only long or damaged is
// not.
func TestTooDeep(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", "", false},
		{"lists", nest("[", "]", "1", MaxDepth), false},
		{"lists, one more", nest("[", "]", "1", MaxDepth+1), true},
		{"objects", nest(`{"a": `, "}", "1", MaxDepth), false},
		{"objects, one more", nest(`{"a": `, "}", "1", MaxDepth+1), true},
		{"a byte order mark", "\ufeff" + nest("[", "]", "1", MaxDepth+1), true},
		{"cut off", strings.Repeat(`{"a":[1,`, MaxDepth), true},
		{"cut off at the bound", strings.Repeat(`[`, MaxDepth), false},
		{"brackets in a string", `{"a":"` + strings.Repeat("[", 2*MaxDepth) + `"}`, false},
		{"after a wrong character", `{"a":x` + strings.Repeat("[", 2*MaxDepth), false},
		{"many", "[" + strings.Repeat("[],", MaxDepth) + "[]]", false},
	} {
		if got := TooDeep([]byte(c.text)); got != c.want {
			t.Errorf("%s: TooDeep = %v, want %v", c.name, got, c.want)
		}
		if got, want := IsObject([]byte(c.text)), CheckObject([]byte(c.text)) == nil; got != want {
			t.Errorf("%s: IsObject = %v, want %v", c.name, got, want)
		}
		if read := Parse([]byte(c.text)).Kind() != 0; read && c.want || !read && CheckObject([]byte(c.text)) == nil {
			t.Errorf("%s: read %v, too deep %v", c.name, read, c.want)
		}
	}
}
