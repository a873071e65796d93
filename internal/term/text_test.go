package term

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/fatih/color"
)

// TestAskWraps: a question is not wider than the terminal, with room for the answer.
func TestAskWraps(t *testing.T) {
	var out strings.Builder
	x := &Terminal{In: strings.NewReader("y\n"), Err: &out, ErrWidth: 40, CanAsk: true}
	if key, err := x.Ask(context.Background(), "Repair \"a title that is longer than this terminal is wide\"?", []Answer{{"yes", ""}, {"no", ""}}); key != "y" || err != nil {
		t.Fatalf("Ask = %q, %v", key, err)
	}
	if got, want := out.String(), "Repair \"a title that is longer than\nthis terminal is wide\"? [y/n/?] "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestControlCharacters: no text controls the terminal, whatever its source. Colours and line ends stay.
func TestControlCharacters(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x3000) {
		all.WriteRune(r)
	}
	hostile := all.String() + "\x1b]0;t\a\x1b[8m\x1b[2J\u009b31m\xff\x9b\ufeff\U000e0041"
	defer func(before bool) { color.NoColor = before }(color.NoColor)
	for _, coloured := range []bool{false, true} {
		color.NoColor = !coloured
		var out bytes.Buffer
		for _, width := range []int{0, 80} {
			x := &Terminal{In: strings.NewReader("no\n"), Out: &out, Err: &out, Width: width, ErrWidth: width, CanAsk: true}
			x.Printf("%s %v\n", hostile, []string{hostile})
			x.PrintErr("%s\n", hostile)
			x.Say("%s %s", Bold(hostile), Command("mend "+hostile))
			x.SayAt(2, "%s", hostile)
			x.PrintRows([][]any{{hostile, Bad(hostile)}}, "  ")
			x.Message(Escape(hostile), "%s", hostile)
			x.Note(hostile)
			_, _ = x.Ask(context.Background(), hostile, []Answer{{"yes", hostile}, {"no", hostile}})
			out.WriteString(newPicker(hostile, [][]any{{hostile}}).View().Content)
		}
		text := out.String()
		if coloured != strings.Contains(text, "\x1b[1m") {
			t.Errorf("colours are %t in the text, want %t", !coloured, coloured)
		}
		for _, own := range []string{"\x1b[1m", "\x1b[2m", "\x1b[22m", "\x1b[31;1m", "\x1b[33m", "\x1b[0m", "\x1b[0;22m"} {
			if coloured {
				text = strings.ReplaceAll(text, own, "")
			}
		}
		for i, r := range text {
			if !strconv.IsPrint(r) && r != '\n' {
				t.Fatalf("colours %t: %U is printed: %q", coloured, r, text[max(0, i-30):min(len(text), i+30)])
			}
		}
	}
	if text := Escape(string(Escape(hostile))); text != Escape(hostile) {
		t.Error("Escape changes an escaped text")
	}
}

// TestPrintText: stored text keeps its lines and tabs, and no other control character.
func TestPrintText(t *testing.T) {
	var out strings.Builder
	term := &Terminal{Out: &out}
	term.PrintText("a\tb\x1b[31m\r\nc\x9b\n")
	if got, want := out.String(), "a\tb\\x1b[31m\\r\nc\\x9b\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	out.Reset()
	term.JSON = true
	if term.PrintText("a\n"); out.Len() > 0 {
		t.Errorf("in JSON mode it printed %q", out.String())
	}
}
