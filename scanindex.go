package mend

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"mend/internal/atomicfile"
	"mend/repair"
	"mend/session"
)

// The index remembers what was found in each session, with the stamp of its
// records, so that a session is read again only when it has changed. It is a
// cache: it may be lost at any time, is made anew by another program or for other
// settings, and no repair asks it.
//
// The file is a line with the checksum of the next, a line with an indexFile as
// JSON, and a line for each session that was written to since, with its id as
// JSON: those count as changed.
type index struct {
	path string
	with string // the program and the settings that the verdicts are of

	known    map[string]verdict // as it was read
	learned  map[string]verdict
	complete bool // what was not learned is gone from the store
}

type indexFile struct {
	With     string             `json:"with"`
	Sessions map[string]verdict `json:"sessions"`
}

// A verdict is what was found in a session whose records had that stamp.
type verdict struct {
	Stamp     []byte             `json:"stamp"`
	Thinking  bool               `json:"thinking,omitempty"`
	Diagnoses []repair.Diagnosis `json:"diagnoses,omitempty"`
}

// tick is how old a record must be for its stamp to tell it from any later one:
// the clocks of file systems have steps of up to two seconds.
const tick = 2 * time.Second

const indexHead = "mend index 1 %x\n"

func (c *Client) openIndex() *index {
	x := &index{path: c.cacheFile("index"), with: c.verdictsOf(), learned: map[string]verdict{}}
	if data, err := os.ReadFile(x.path); err == nil {
		x.known = readIndex(data, x.with)
	}
	return x
}

// verdictsOf names all that decides on a verdict besides the records: this build
// of the program, and the settings.
func (c *Client) verdictsOf() string {
	thinking := "as shown"
	if c.opt.Thinking != nil {
		thinking = fmt.Sprint(*c.opt.Thinking)
	}
	return fmt.Sprintf("%s %s, agent %s, thinking %s", c.opt.Version, build(), c.opt.AgentVersion, thinking)
}

// build tells this build of the program from others, "" if it cannot.
func build() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// readIndex is what an index file knows, nothing if it is damaged or not about
// the same program and settings.
func readIndex(data []byte, with string) map[string]verdict {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	body, dropped, ok := bytes.Cut(rest, []byte("\n"))
	var f indexFile
	if !ok || string(head)+"\n" != fmt.Sprintf(indexHead, sha256.Sum256(body)) || json.Unmarshal(body, &f) != nil || f.With != with {
		return nil
	}
	gone := map[string]bool{}
	for line := range bytes.Lines(dropped) {
		var id string
		if json.Unmarshal(line, &id) != nil {
			return nil
		}
		gone[id] = true
	}
	maps.DeleteFunc(f.Sessions, func(key string, _ verdict) bool { return gone[path.Base(key)] })
	return f.Sessions
}

// key names a session: in a tree two projects may have one of the same id.
func key(h session.Session) string { return h.Info.Ref.Project + "/" + h.Project + "/" + h.ID }

// knows reports whether something was found in the session before.
func (x *index) knows(h session.Session) bool {
	_, ok := x.known[key(h)]
	return ok
}

// find is what was found in the session when its records had that stamp.
func (x *index) find(h session.Session, s session.Stamp) (Finding, bool) {
	v, ok := x.known[key(h)]
	if !ok || s.Sum == ([32]byte{}) || !bytes.Equal(v.Stamp, s.Sum[:]) {
		return Finding{}, false
	}
	return Finding{Session: h, Thinking: v.Thinking, Diagnoses: v.Diagnoses}, true
}

// learn notes an answer.
func (x *index) learn(a answer) {
	if a.stamp.Sum != ([32]byte{}) {
		x.learned[key(a.Session)] = verdict{a.stamp.Sum[:], a.Thinking, a.Diagnoses}
	}
}

// save writes the index if it has changed. A failure is not reported: the next
// scan reads more, that is all.
func (x *index) save() {
	all := x.learned
	if !x.complete {
		all = maps.Clone(x.known)
		maps.Copy(all, x.learned)
	}
	same := func(a, b verdict) bool { return bytes.Equal(a.Stamp, b.Stamp) }
	if maps.EqualFunc(all, x.known, same) {
		return
	}
	body, err := json.Marshal(indexFile{x.with, all})
	if err != nil || os.MkdirAll(filepath.Dir(x.path), 0o700) != nil {
		return
	}
	head := fmt.Appendf(nil, indexHead, sha256.Sum256(body))
	_ = atomicfile.WriteFile(x.path, slices.Concat(head, body, []byte("\n")), 0o600)
}

// dropVerdict makes the index forget a session.
func (c *Client) dropVerdict(session string) {
	name := c.cacheFile("index")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // there is none
	}
	line, _ := json.Marshal(session) // a string: no error
	_, err = f.Write(append(line, '\n'))
	if f.Close() != nil || err != nil {
		_ = os.Remove(name)
	}
}
