package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A line is a message of the protocol, of either side.
type line struct {
	Type      string          `json:"type"`
	Protocol  int             `json:"protocol,omitempty"`
	Mend      string          `json:"mend,omitempty"`
	Plugin    string          `json:"plugin,omitempty"`
	Directory string          `json:"directory,omitempty"`
	Since     int64           `json:"since,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Event     *Event          `json:"event,omitempty"`
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Session   string          `json:"session,omitempty"`
	Limit     int             `json:"limit,omitempty"`
	Body      any             `json:"body,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// The types of lines.
const (
	lineHello  = "hello"  // both sides, first
	lineBye    = "bye"    // of mend: it ends, and is not to be started again
	lineEvent  = "event"  // of the plugin
	lineCall   = "call"   // of mend
	lineAnswer = "answer" // of the plugin, to a call
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 16 << 20

// Lines reads the lines of the protocol.
type Lines struct{ scanner *bufio.Scanner }

// NewLines reads lines of at most 16 MiB from in.
func NewLines(in io.Reader) *Lines {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	return &Lines{s}
}

// next is the next line; [io.EOF] behind the last.
func (ls *Lines) next() (l line, err error) {
	if !ls.scanner.Scan() {
		if err := ls.scanner.Err(); err != nil {
			return l, fmt.Errorf("reading from the plugin: %w", err)
		}
		return l, io.EOF
	}
	text := strings.TrimSpace(ls.scanner.Text())
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return l, fmt.Errorf("reading from the plugin: %w", err)
	}
	return l, nil
}
