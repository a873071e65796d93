package scancache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"mend/session"
)

// contents is what a file holds.
type contents struct {
	build    string   // of mend, that made it
	settings string   // for which the results are valid
	summary  *Summary // of the last whole scan; nil if there is none

	// State is the stamp of the store in which it has the sessions and the orphans; the
	// zero stamp if they are not known.
	state    [sha256.Size]byte
	sessions []session.Head // without their records
	orphans  []session.Ref

	results map[string]Result // by sessionKey
}

// format is the version of the format, to be raised with every change of it.
const format = 2

// A line is one line of the file. One of its members is set.
type line struct {
	Header  *header      `json:"header,omitzero"`
	Session *sessionLine `json:"session,omitzero"`
	Orphan  *session.Ref `json:"orphan,omitzero"`
	Forget  string       `json:"forget,omitzero"`
}

type header struct {
	Format   int               `json:"format"`
	Lines    int               `json:"lines"` // of sessions and orphans
	Build    string            `json:"build"`
	Settings string            `json:"settings"`
	State    [sha256.Size]byte `json:"state"`
	Summary  *Summary          `json:"summary,omitzero"`
}

type sessionLine struct {
	Key    string  `json:"key"`
	Head   *head   `json:"head,omitzero"`
	Result *Result `json:"result,omitzero"`
}

// A head is what a scan needs of a session besides its records.
type head struct {
	ID        string `json:"id"`
	Project   string `json:"project"`
	Directory string `json:"directory"`
	Title     string `json:"title"`
	Version   string `json:"version"`
	Created   int64  `json:"created"`
	Updated   int64  `json:"updated"`

	Ref session.Ref `json:"ref,omitzero"`
}

var errDamaged = errors.New("the cache is damaged")

// maxLine bounds a line, in bytes, and with minDiagnosis the memory that one can take:
// a diagnosis is never shorter than minDiagnosis.
const (
	maxLine      = 1 << 20
	minDiagnosis = 64
)

// sumSize is the size of the checksum of a line and the space behind it.
const sumSize = 2*crc32.Size + 1

func appendLine(data []byte, l line) ([]byte, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return data, err
	}
	if len(text) > maxLine {
		return data, errors.New("the line is too long")
	}
	data = append(append(append(data, checksum(text)...), ' '), text...)
	return append(data, '\n'), nil
}

func checksum(text []byte) []byte {
	sum := crc32.NewIEEE()
	sum.Write(text)
	return hex.AppendEncode(nil, sum.Sum(nil))
}

// encode returns the bytes of a file. What JSON cannot express, such as invalid UTF-8,
// is left out: a result, or the sessions and the orphans as a whole.
func encode(c *contents) []byte {
	var body []byte
	lines := 0
	add := func(l line) error {
		var err error
		if body, err = appendLine(body, l); err == nil {
			lines++
		}
		return err
	}
	state := c.state
	for _, s := range c.sessions {
		l := sessionLine{Key: sessionKey(s), Head: &head{s.ID, s.Project, s.Directory, s.Title, s.Version, s.Created, s.Updated, s.Ref}}
		if r, ok := c.results[l.Key]; ok {
			l.Result = &r
		}
		if add(line{Session: &l}) == nil {
			continue
		}
		l.Result = nil
		if add(line{Session: &l}) != nil {
			state = [sha256.Size]byte{}
		}
	}
	if len(c.sessions) == 0 {
		for _, key := range slices.Sorted(maps.Keys(c.results)) {
			r := c.results[key]
			_ = add(line{Session: &sessionLine{Key: key, Result: &r}})
		}
	}
	for _, ref := range c.orphans {
		if add(line{Orphan: &ref}) != nil {
			state = [sha256.Size]byte{}
		}
	}
	first, err := appendLine(nil, line{Header: &header{format, lines, c.build, c.settings, state, c.summary}})
	if err != nil { // the summary has a title that JSON cannot express
		first, _ = appendLine(nil, line{Header: &header{format, lines, c.build, c.settings, state, nil}})
	}
	return append(first, body...)
}

// decode returns what the bytes of a file hold, or an error if they are not all that
// was written.
func decode(data []byte) (*contents, error) {
	c := &contents{results: map[string]Result{}}
	var h *header
	lines := 0
	for text := range bytes.Lines(data) {
		l, err := decodeLine(text)
		if err != nil {
			return nil, err
		}
		switch {
		case h == nil:
			if l.Header == nil || l.Header.Format != format {
				return nil, errDamaged
			}
			h = l.Header
			c.build, c.settings, c.state, c.summary = h.Build, h.Settings, h.State, h.Summary
		case l.Forget != "":
			c.forget(l.Forget)
		case l.Session != nil:
			lines++
			c.add(l.Session)
		case l.Orphan != nil:
			lines++
			c.orphans = append(c.orphans, *l.Orphan)
		default:
			return nil, errDamaged
		}
	}
	if h == nil || lines != h.Lines {
		return nil, errDamaged
	}
	if c.state == ([sha256.Size]byte{}) {
		c.sessions, c.orphans = nil, nil
	}
	return c, nil
}

func decodeLine(text []byte) (l line, err error) {
	text, ended := bytes.CutSuffix(text, []byte("\n"))
	if !ended || len(text) < sumSize || len(text) > sumSize+maxLine {
		return l, errDamaged
	}
	sum, text := text[:sumSize], text[sumSize:]
	if string(sum) != string(checksum(text))+" " {
		return l, errDamaged
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, err
	}
	if s := l.Session; s != nil && s.Result != nil && len(s.Result.Diagnoses) > len(text)/minDiagnosis {
		return l, errDamaged
	}
	return l, nil
}

func (c *contents) add(l *sessionLine) {
	if h := l.Head; h != nil {
		c.sessions = append(c.sessions, session.Head{
			ID: h.ID, Project: h.Project, Directory: h.Directory, Title: h.Title, Version: h.Version, Created: h.Created, Updated: h.Updated, Ref: h.Ref,
		})
	}
	if l.Result != nil {
		c.results[l.Key] = *l.Result
	}
}

// forget drops what is known of a session and of the store as a whole.
func (c *contents) forget(id string) {
	c.summary, c.state = nil, [sha256.Size]byte{}
	maps.DeleteFunc(c.results, func(key string, _ Result) bool { return strings.HasSuffix(key, "/"+id) })
}
