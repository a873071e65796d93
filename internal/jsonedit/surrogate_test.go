package jsonedit

import "testing"

func TestHalfPairs(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`"plain"`, `"plain"`},
		{`""`, `""`},
		{``, ``},
		{`"a\ud83d\ude00b"`, `"a\ud83d\ude00b"`},
		{`"a\uD83D\uDE00b"`, `"a\uD83D\uDE00b"`},
		{`"a\ud83d"`, `"a\ufffd"`},
		{`"a\uDE00b"`, `"a\ufffdb"`},
		{`"\ud83d\ud83d\ude00\ude00"`, `"\ufffd\ud83d\ude00\ufffd"`},
		{`"\ud83d \ude00"`, `"\ufffd \ufffd"`},
		{`"\\ud83d"`, `"\\ud83d"`},       // an escaped backslash
		{`"\\\ud83d"`, `"\\\ufffd"`},     // one before a half
		{`"\n\ud9ab\""`, `"\n\ufffd\""`}, // other escapes
		{`{"\udbff":[1,{"b":"\udfff"}]}`, `{"\ufffd":[1,{"b":"\ufffd"}]}`},
		{`"\ud7ff\ue000"`, `"\ud7ff\ue000"`},
		{`"\ud8`, `"\ud8`}, // cut off: no escape
		{`"\`, `"\`},
	} {
		if got := string(FixHalfPairs([]byte(c.raw))); got != c.want {
			t.Errorf("FixHalfPairs(%s) = %s, want %s", c.raw, got, c.want)
		}
		if got := HasHalfPair([]byte(c.raw)); got != (c.raw != c.want) {
			t.Errorf("HasHalfPair(%s) = %v", c.raw, got)
		}
	}
}
