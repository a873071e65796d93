// Package term handles terminal input and output: wrapped, aligned and coloured text, a pager for long text, progress,
// questions, and a list to pick from. Without a terminal, texts are neither wrapped nor coloured, and nothing is asked.
// No printed text can control the terminal, break a line or set a colour: every value that is not a [Text] is escaped.
//
// It may import internal/fail. Read [Terminal.Ask] and [Terminal.PrintRows] first.
package term

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// A Terminal is the standard input, output and error of a command.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	CanAsk   bool // a user can answer questions
	CanDraw  bool // progress can be drawn on Err
	Width    int  // columns of Out; 0 without a terminal: lines are not cut
	ErrWidth int  // columns to which messages on Err are wrapped; 0 without a terminal
	JSON     bool // the answer is one JSON object: texts are not printed, and nothing is asked

	failed error         // the first failure to write to Out
	stdin  *bufio.Reader // see [Terminal.Input]
	noting sync.Mutex
	noted  map[string]bool // the texts that Note has printed
}

// Standard returns the terminal of this process.
func Standard() *Terminal {
	t := &Terminal{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		CanAsk:  term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
		CanDraw: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		t.Width = max(width, minWidth)
	}
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		t.ErrWidth = min(max(width, minWidth), maxWidth)
	}
	return t
}

// Clone returns a new terminal on the same streams.
func (t *Terminal) Clone() *Terminal {
	return &Terminal{In: t.In, Out: t.Out, Err: t.Err, CanAsk: t.CanAsk, CanDraw: t.CanDraw, Width: t.Width, ErrWidth: t.ErrWidth}
}

// Write writes data unchanged to standard output, and keeps the first error for [Terminal.WriteError], except a closed
// pipe.
func (t *Terminal) Write(b []byte) (int, error) {
	n, err := t.Out.Write(b)
	t.keep(err)
	return n, err
}

func (t *Terminal) keep(err error) {
	if err != nil && t.failed == nil && !errors.Is(err, syscall.EPIPE) {
		t.failed = err
	}
}

// WriteError returns the first error of standard output, nil if everything was written.
func (t *Terminal) WriteError() error { return t.failed }

// Buffer buffers standard output until the returned function is called.
func (t *Terminal) Buffer() (end func()) {
	out := t.Out
	w := bufio.NewWriterSize(out, 64<<10)
	t.Out = w
	return func() {
		t.Out = out
		t.keep(w.Flush())
	}
}

// Printf writes text to standard output, except in JSON mode. For the arguments see [Sprintf].
func (t *Terminal) Printf(format string, args ...any) {
	if !t.JSON {
		write(t, Sprintf(format, args...))
	}
}

// write writes a text, with ordinary blanks for the hard ones.
func write(w io.Writer, text Text) {
	_, _ = io.WriteString(w, strings.ReplaceAll(string(text), hardBlank, " ")) // see [Terminal.WriteError]
}

// PrintText writes stored text to standard output, except in JSON mode. Ends of lines and tabs stay, other
// control characters are escaped.
func (t *Terminal) PrintText(text string) {
	for line := range strings.Lines(text) {
		var columns []Text
		for column := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "\t") {
			columns = append(columns, Escape(column))
		}
		t.Printf("%s\n", Join(columns, "\t"))
	}
}

// PrintErr writes text to standard error. For the arguments see [Sprintf].
func (t *Terminal) PrintErr(format string, args ...any) { write(t.Err, Sprintf(format, args...)) }

// Say prints a sentence, wrapped to the terminal. For the arguments see [Sprintf].
func (t *Terminal) Say(format string, args ...any) { t.SayAt(0, format, args...) }

// SayAt prints a sentence that begins at a column, wrapped to the terminal. For the arguments see [Sprintf].
func (t *Terminal) SayAt(column int, format string, args ...any) {
	text := Sprintf(format, args...)
	if t.Width > 0 {
		text = WrapAt(text, column, t.Width)
	}
	t.Printf("%*s%s\n", column, "", text)
}

// PrintRows prints rows with aligned columns, each after the indent.
func (t *Terminal) PrintRows(rows [][]any, indent string) {
	width := t.Width
	if width > 0 {
		width -= len(indent)
	}
	for _, line := range Align(rows, width) {
		t.Printf("%s%s\n", indent, line)
	}
}

// wide is the minimum number of columns for a table in its long form.
const wide = 100

// IsNarrow reports whether the terminal has room only for the short form of a table.
func (t *Terminal) IsNarrow() bool { return t.Width > 0 && t.Width < wide }

// AgeCell formats a duration for a cell of a table: as [Age], or on a narrow terminal as [ShortAge].
func (t *Terminal) AgeCell(d time.Duration) string {
	if t.IsNarrow() {
		return ShortAge(d)
	}
	return Age(d)
}

// TextWidth returns the width to which text is wrapped: $COLUMNS, or else the terminal's, from minWidth to maxWidth.
func (t *Terminal) TextWidth() int {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if width <= 0 {
		width = t.Width
	}
	if width <= 0 {
		width = defaultWidth
	}
	return min(max(width, minWidth), maxWidth)
}

// Message prints a text on standard error after a label. On a terminal the text is wrapped, and its further
// lines are indented by the label. For the arguments see [Sprintf].
func (t *Terminal) Message(label Text, format string, args ...any) {
	text := Sprintf(format, args...)
	if t.ErrWidth > 0 {
		text = WrapAt(text, ansi.StringWidth(string(label))+1, t.ErrWidth)
	}
	t.PrintErr("%s %s\n", label, text)
}

// Note prints a note on standard error, each text once.
func (t *Terminal) Note(text string) {
	t.noting.Lock()
	defer t.noting.Unlock()
	if !t.noted[text] {
		t.Message(Warn("note:"), "%s", text)
	}
	if t.noted == nil {
		t.noted = map[string]bool{}
	}
	t.noted[text] = true
}
