// Package termjson writes JSON that is safe to show on a terminal. Stored text may contain characters that control a
// terminal, or that change the direction of text; encoding/json escapes only those below U+0020.
//
// It imports nothing of mend. Read [Escape] first.
package termjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Marshal returns the JSON of v on one line, without an end of line.
func Marshal(v any) ([]byte, error) { return marshal(v, "") }

// MarshalIndent returns the JSON of v, each level indented by two spaces, without an
// end of line.
func MarshalIndent(v any) ([]byte, error) { return marshal(v, "  ") }

func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return Escape(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// A LineWriter writes JSON Lines to another writer, as [Escape] returns them. It buffers an incomplete line.
type LineWriter struct {
	To   io.Writer
	rest []byte
}

// Write implements [io.Writer].
func (w *LineWriter) Write(b []byte) (int, error) {
	end := bytes.LastIndexByte(b, '\n') + 1
	if end > 0 {
		if _, err := w.To.Write(Escape(append(w.rest, b[:end]...))); err != nil {
			return 0, err
		}
		w.rest = w.rest[:0]
	}
	w.rest = append(w.rest, b[end:]...)
	return len(b), nil
}

// Escape returns the JSON text with every non-printable character escaped: control characters of ASCII and
// Latin 1, direction controls, invisible characters, line separators, and unassigned ones. It decodes to the
// same values, because outside of strings JSON is printable ASCII and white space. A byte that is not UTF-8
// becomes U+FFFD, as in a decoder.
func Escape(text []byte) []byte {
	out := text[:0:0]
	done := 0 // the length of the part that is in out
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		broken := r == utf8.RuneError && size == 1
		if broken || !strconv.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' {
			out = appendRune(append(out, text[done:i]...), r)
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

func appendRune(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
