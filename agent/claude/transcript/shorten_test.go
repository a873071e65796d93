package transcript

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestShortenLines compares [Shorten] with a reading of each line byte by byte.
func TestShortenLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "ä", "\\\\", "\\\"", "\\n", "\\u00e9", " ", "{", strings.Repeat("z", 500), strings.Repeat(`\\`, 250)}
	text := func() string {
		var b strings.Builder
		for range rng.IntN(6) {
			b.WriteString(strings.Repeat(pieces[rng.IntN(len(pieces))], 1+rng.IntN(20)))
		}
		return `"` + b.String() + `"`
	}
	var data, want []byte
	for range 300 {
		var b bytes.Buffer
		b.WriteString(`{"` + []string{"uuid", "leafUuid", "other"}[rng.IntN(3)] + `": ` + text())
		for range rng.IntN(4) {
			b.WriteString(`,"x":[1, ` + text() + `,` + text() + `]`)
		}
		b.WriteByte('}')
		line := b.Bytes()
		if rng.IntN(8) == 0 { // torn
			line = line[:rng.IntN(len(line))]
		}
		data, want = append(append(data, line...), '\n'), append(shortenSlowly(want, line), '\n')
	}
	got, err := Shorten(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range w {
		if i >= len(g) || !bytes.Equal(g[i], w[i]) {
			t.Fatalf("line %d is not %s", i, w[i])
		}
	}
	t.Fatalf("%d lines, not %d", len(g), len(w))
}

func shortenSlowly(out, line []byte) []byte {
	switch {
	case len(line) <= longText || !json.Valid(line):
		return append(out, line...)
	case !bytes.Contains(line, nameOfID) && !bytes.Contains(line, nameOfLeaf):
		return append(out, "{}"...)
	}
	for i := 0; i < len(line); i++ {
		start := i
		if line[i] == '"' {
			for i++; line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		}
		out = appendShortText(out, line[start:i+1])
	}
	return out
}
