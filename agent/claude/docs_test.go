package claude_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	fixture "mend/internal/test/claude"
)

var update = flag.Bool("update", false, "write the table of docs/claude-code.md")

const page = "../../docs/claude-code.md"

// The table of damages on the page is that of package internal/test/claude, whose rows TestRealDamages
// compares with the real program.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- damages -->\n", "<!-- end of damages -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + begin + table() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("the table of %s is not that of the damages; run go test ./agent/claude -run TestPage -update", page)
	}
}

func table() string {
	var b strings.Builder
	b.WriteString("| damage | transcript |")
	for _, v := range fixture.Versions {
		fmt.Fprintf(&b, " %s |", v)
	}
	b.WriteString("\n|" + strings.Repeat("---|", 2+len(fixture.Versions)) + "\n")
	for _, d := range fixture.Damages {
		fmt.Fprintf(&b, "| %s | %s |", d.Name, cmp.Or(d.Shape, "baseline"))
		for _, v := range fixture.Versions {
			b.WriteString(" " + cell(d, v) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func cell(d fixture.Damage, version string) string {
	o, ok := d.On(version)
	if !ok {
		return "·"
	}
	if o.Rule == "" {
		return fmt.Sprint(o.Before)
	}
	before := fmt.Sprint(o.Before)
	if o.Refused {
		before = "no answer"
	}
	return fmt.Sprintf("%s, `%s`, %d", before, o.Rule, o.After)
}
