package provider

import (
	"reflect"
	"testing"
)

// TestParseKinds: a line has the rank of a kind, what the error is about, the class and the explanation, each optional.
// The indented lines below it are its texts.
func TestParseKinds(t *testing.T) {
	const text = `# a comment
220 store hidden_session: It is elsewhere: look there.
	no rollout … found

unclear: Something failed.
	failed
	broke
165 context_too_long:
	too long
`
	want := []ErrorKind{
		{Rank: 220, About: "store", Class: "hidden_session", Explanation: "It is elsewhere: look there.", Any: []string{"no rollout … found"}},
		{About: "unclear", Explanation: "Something failed.", Any: []string{"failed", "broke"}},
		{Rank: 165, Class: "context_too_long", Explanation: TooLong.Explanation, Any: []string{"too long"}},
	}
	if got := ParseKinds(text); !reflect.DeepEqual(got, want) {
		t.Errorf("ParseKinds = %+v, want %+v", got, want)
	}
}
