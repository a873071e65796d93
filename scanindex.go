package mend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"mend/repair"
	"mend/session"
)

// The index remembers what was found in each session, with the stamp of its
// records, so that a session is read again only when it has changed. It is a
// cache: it may be lost at any time, is made anew by another program or for other
// settings, and no repair asks it.
//
// The file is an indexFile, sealed, and a line for each session that was written to
// since, with its id as JSON: those count as changed.
type index struct {
	file cacheFile
	with string // the program and the settings that the verdicts are of

	held func() bool // somebody has the store open

	known    map[string]verdict // as it was read
	learned  map[string]verdict
	complete bool // what was not learned is gone from the store
}

type indexFile struct {
	With     string
	Sessions map[string]verdict
}

func (f *indexFile) fields(p *packing) {
	text(p, &f.With)
	dict(p, &f.Sessions, verdictFields)
}

// A verdict is what was found in a session whose records had that stamp.
type verdict struct {
	Stamp    [sha256.Size]byte
	Thinking bool
	Idle     bool // it holds while nobody has the store open
	// From and Until are the time for which it holds, in milliseconds since 1970.
	From, Until int64
	Diagnoses   []repair.Diagnosis
}

func verdictFields(p *packing, v *verdict) {
	p.sum(&v.Stamp)
	p.flag(&v.Thinking)
	p.flag(&v.Idle)
	number(p, &v.From)
	number(p, &v.Until)
	list(p, &v.Diagnoses, diagnosis)
}

func diagnosis(p *packing, d *repair.Diagnosis) {
	text(p, &d.Rule)
	text(p, &d.Class)
	number(p, &d.Severity)
	ref(p, &d.Ref)
	for _, s := range [...]*string{&d.Message, &d.Why, &d.Says, &d.Cure, &d.Loses, &d.WhyNot} {
		text(p, s)
	}
}

// tick is how old a record must be for its stamp to tell it from any later one:
// the clocks of file systems have steps of up to two seconds.
const tick = 2 * time.Second

const indexHead = "mend index 3 %d %x\n"

func (c *Client) openIndex() *index {
	x := &index{file: c.cacheFile("index"), with: c.verdictsOf(), learned: map[string]verdict{}}
	if data, _, err := x.file.read(); err == nil {
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
	return fmt.Sprintf("%s %s, agent %s, thinking %s, models %s", c.opt.Version, build(), c.opt.AgentVersion, thinking, c.models.state())
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
	body, dropped, ok := unseal(indexHead, data)
	var f indexFile
	if !ok || !unpack(body, f.fields) || f.With != with {
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
func (x *index) find(h session.Session, s session.Stamp) (answer, bool) {
	v, ok := x.known[key(h)]
	if !ok || s.Sum == ([32]byte{}) || v.Stamp != s.Sum {
		return answer{}, false
	}
	return answer{
		Finding: Finding{Session: h, Thinking: v.Thinking, Diagnoses: v.Diagnoses}, stamp: s, idle: v.Idle,
		span: span{time.UnixMilli(v.From), time.UnixMilli(v.Until)},
	}, true
}

// answers asks about the sessions, several at a time unless all is known; besides is
// as of [ordered].
func (c *Client) answers(ctx context.Context, x *index, heads []session.Session, besides func(context.Context)) iter.Seq[answer] {
	if r, ok := c.store.(*recall); ok && r.known != nil {
		if known := c.known(ctx, x, heads); known != nil {
			return slices.Values(known)
		}
	}
	return ordered(ctx, heads, func(ctx context.Context, h session.Session) answer { return c.ask(ctx, x, h) }, besides)
}

// known is what the index knows of the sessions, nil unless it knows all.
func (c *Client) known(ctx context.Context, x *index, heads []session.Session) []answer {
	all := make([]answer, len(heads))
	for i, h := range heads {
		a, ok := c.lookUp(ctx, x, h)
		if !ok {
			return nil
		}
		all[i] = a
	}
	return all
}

// lookUp looks a session up in the index, and reports whether it is there as it is
// now.
func (c *Client) lookUp(ctx context.Context, x *index, head session.Session) (answer, bool) {
	if !x.knows(head) {
		return answer{}, false
	}
	stamp, err := c.store.Stamp(ctx, head)
	a, ok := x.find(head, stamp)
	return a, ok && err == nil && a.holds(c.opt.Now()) && (!a.idle || !x.held())
}

// learn notes an answer.
func (x *index) learn(a answer) {
	if a.stamp.Sum != ([32]byte{}) {
		x.learned[key(a.Session)] = verdict{a.stamp.Sum, a.Thinking, a.idle, a.from.UnixMilli(), a.until.UnixMilli(), a.Diagnoses}
	}
}

// save writes the index if it has changed. A failure is not reported: the next
// scan reads more, that is all.
func (x *index) save() {
	all := x.learned
	if !x.complete {
		all = map[string]verdict{}
		maps.Copy(all, x.known)
		maps.Copy(all, x.learned)
	}
	same := func(a, b verdict) bool { return a.Stamp == b.Stamp && a.From == b.From && a.Until == b.Until }
	if maps.EqualFunc(all, x.known, same) {
		return
	}
	f := indexFile{x.with, all}
	_ = x.file.replace(seal(indexHead, pack(f.fields)))
}

// dropVerdict makes the index forget a session.
func (c *Client) dropVerdict(session string) {
	file := c.cacheFile("index")
	line, _ := json.Marshal(session) // a string: no error
	if file.add(append(line, '\n')) != nil {
		file.remove()
	}
}
