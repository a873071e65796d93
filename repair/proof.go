package repair

import (
	"bytes"
	"fmt"
	"slices"

	"mend/agent/opencode/render"
	"mend/request"
	"mend/session"
)

// judge tells the trials that proved themselves from the others: the fault is
// gone under every setting, and nothing is there that was not before. The trials
// of one message hold together or not at all.
func (t *treatment) judge(trials []trial, news []place, after *chart) (good, bad []trial) {
	to := moved(t.s, after.s)
	failed := map[string]bool{}
	for _, tr := range trials {
		caused := len(trials) == 1 && len(news) > 0 || slices.ContainsFunc(news, func(p place) bool { return tr.causes(p) })
		failed[tr.ref.Message] = failed[tr.ref.Message] || caused || !t.gone(tr.finding, to, after)
	}
	for _, tr := range trials {
		if failed[tr.ref.Message] {
			bad = append(bad, tr)
		} else {
			good = append(good, tr)
		}
	}
	return good, bad
}

// gone reports whether the finding is no more: neither at its record nor, where
// that got another id, at the record under that id; to is of [moved].
func (t *treatment) gone(f finding, to map[session.Ref]session.Ref, after *chart) bool {
	left := after.survey()
	if left.has(f.key()) {
		return false
	}
	if is, ok := to[f.ref]; ok {
		return !left.has(f.at(is))
	}
	if f.ref.Kind != session.KindPart || after.holds(f.ref) {
		return true
	}
	return !t.newIn(left)[place{code: f.code, message: f.ref.Message}] // it may have moved, fault and all
}

// newIn is where a later survey has faults of parts that are not in the session now.
func (t *treatment) newIn(left *survey) map[place]bool {
	if between := [2]*survey{t.now, left}; t.between != between {
		t.between, t.fresh = between, map[place]bool{}
		for _, g := range left.findings {
			if !t.c.holds(g.ref) && !t.now.has(g.key()) {
				t.fresh[place{code: g.code, message: g.ref.Message}] = true
			}
		}
	}
	return t.fresh
}

// holds reports whether a part is stored under the ref.
func (c *chart) holds(ref session.Ref) bool {
	_, p := c.part(ref)
	return p != nil
}

// causes reports whether what is new at p is the trial's doing.
func (tr trial) causes(p place) bool { return tr.fix.whole || tr.ref.Message == p.message }

func caused(trials []trial, p place) bool {
	return slices.ContainsFunc(trials, func(tr trial) bool { return tr.causes(p) })
}

// news is where there is more wrong than before the trials, by the counts after them: by
// message, or under a fix that may have given messages other ids, in all.
func (t *treatment) news(trials []trial, is map[place]int) []place {
	was := t.now.counts
	if len(trials) == 1 && trials[0].fix.whole {
		was, is = inAll(was), inAll(is)
	}
	var more []place
	for p, n := range is {
		if n > was[p] {
			more = append(more, p)
		}
	}
	return more
}

// masked reports whether what is new at p may have been hidden before: the agent died
// in that setting, so what else is wrong with the request that it would send is not
// the doing of what keeps it alive.
func (t *treatment) masked(p place) bool {
	return t.now.dead[p.setting] && inRequest(p.code)
}

// worse reports whether the session is worse with what is new at p: not where the agent
// died before in a setting that is not in use, and not where the message could not be
// shown before.
func (t *treatment) worse(p place) bool {
	if p.code == render.FailureScreen {
		return t.now.counts[p] == 0
	}
	return p.setting == own || !t.masked(p)
}

// uncovered splits what is new into that to be judged, and that which the trials have
// uncovered in the setting in use, and which has to be fixed with it. What they have
// uncovered in others is in neither: it is no worse than what was there.
func (t *treatment) uncovered(trials []trial, news []place) (judged, uncovered []place) {
	for _, p := range news {
		switch {
		case !t.masked(p) || caused(trials, p):
			judged = append(judged, p)
		case p.setting == own:
			uncovered = append(uncovered, p)
		}
	}
	return judged, uncovered
}

// brought reports whether the finding of a later chart came with the trials, and is to
// be fixed with them.
func (t *treatment) brought(trials []trial, f finding, after *chart) bool {
	k := after.keyAtFirst(f)
	was := t.now.settings[k]
	return slices.ContainsFunc(after.survey().settings[f.key()], func(i int) bool {
		p := place{i, f.code, k.ref.Message}
		return !slices.Contains(was, i) && (i == own || !t.masked(p) || caused(trials, p))
	})
}

// countsAtFirst are the counts by the ids that the messages had at first.
func (c *chart) countsAtFirst() map[place]int {
	counts := map[place]int{}
	for p, n := range c.survey().counts {
		ref := session.Ref{Kind: session.KindMessage, Session: c.s.ID, Message: p.message}
		p.message = c.first(ref).Message
		counts[p] += n
	}
	return counts
}

// inAll is the counts without regard to messages.
func inAll(counts map[place]int) map[place]int {
	sums := map[place]int{}
	for p, n := range counts {
		p.message = ""
		sums[p] += n
	}
	return sums
}

const whyLoop = "The tool loop of the newest answer is still open, and the provider takes no change to the thinking in it: send one more prompt, then repair again."

// forbidden reports whether the trial touched thinking of the newest answer
// while its tool loop is open: the provider wants it back unchanged, or none of
// it (docs/providers.md, R8). It may move only once the loop is closed.
func (t *treatment) forbidden(tr trial, d *draft) bool {
	if tr.fix.whole || tr.ref.Message != t.c.newest && !t.c.loop()[tr.ref.Message] {
		return false
	}
	s := d.s
	before, now := tr.before, &s.Messages[tr.at]
	if len(tr.parts) > 0 {
		if !slices.ContainsFunc(tr.parts, func(f formerPart) bool {
			is := d.current(now, f)
			return f.part.IsThinking() || is != nil && is.IsThinking()
		}) {
			return false
		}
	}
	before = d.former(before, tr.parts)
	d.settle(now)
	was, is := thoughts(&before), thoughts(now)
	moved := tr.ref.Message == t.c.newest && loopOpen(s) && !slices.Equal(was, is)
	loop := t.c.loop()
	lost := loop[tr.ref.Message] && !slices.Equal(goingOut(was), goingOut(is)) && len(goingOut(is)) > 0 && len(t.c.of(s).loop()) > 0
	if moved || lost {
		t.refuse(tr.key(), whyLoop)
	}
	return moved || lost
}

// loop is the messages of the open tool loop's last answer, by their ids; none if
// there is no open loop in the request.
func (c *chart) loop() map[string]bool {
	if c.looped == nil {
		in := c.loopMessages()
		c.looped = &in
	}
	return *c.looped
}

func (c *chart) loopMessages() map[string]bool {
	turns := c.render(c.settings[own].profile).Turns
	n := len(turns) - 1
	if n < 1 || !slices.ContainsFunc(turns[n].Blocks, func(b *request.Block) bool { return b.Type == request.ToolResult }) {
		return nil
	}
	in := map[string]bool{}
	for _, ref := range turns[n-1].Messages {
		in[ref.Message] = true
	}
	return in
}

// A thought is what tells one part of thinking from another.
type thought struct{ id, text, signature string }

// thoughts are those of the message.
func thoughts(m *session.Message) (all []thought) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.IsThinking() {
			all = append(all, thought{p.ID, p.Text, p.Signature})
		}
	}
	return all
}

// goingOut is what of the thoughts goes out, wherever it stands.
func goingOut(all []thought) (out []thought) {
	for _, t := range all {
		if t.signature != "" {
			out = append(out, thought{"", t.text, t.signature})
		}
	}
	return out
}

// blind reports whether the trial touched a message of which something cannot be
// read.
func (t *treatment) blind(tr trial, s *session.Session) bool {
	if !tr.fix.whole || tr.many() { // [treatment.fixes] has asked
		return false
	}
	after := t.c.of(s)
	if len(t.c.hiddenMessages()) == 0 {
		return false
	}
	for i := range t.s.Messages {
		m := &t.s.Messages[i]
		why := t.c.hidden(m.Ref)
		if why == "" {
			continue
		}
		now := after.message(m.Ref)
		if now == nil || len(now.Parts) != len(m.Parts) || !bytes.Equal(now.Data, m.Data) {
			t.why[tr.key()] = why
			return true
		}
	}
	return false
}

// changedLocked returns a record that the store cannot replace and that the trial
// changed or removed, nil if there is none.
func (t *treatment) changedLocked(tr trial, d *draft) *session.Record {
	s := d.s
	if len(t.locked) == 0 {
		return nil
	}
	if tr.fix.whole && !tr.many() {
		after := map[session.Ref][]byte{}
		for r := range s.Records {
			after[r.Ref] = r.Data
		}
		for i := range t.locked {
			r := &t.locked[i]
			if data, ok := after[r.Ref]; !ok || !bytes.Equal(data, r.Data) {
				return r
			}
		}
		return nil
	}
	changed := func(was, is *session.Record) bool {
		return was.Locked != "" && (is == nil || was.Ref != is.Ref || !bytes.Equal(was.Data, is.Data))
	}
	before, now := &tr.before, &s.Messages[tr.at]
	if d.dropped[before.Ref.Message] {
		now = &session.Message{}
	}
	if changed(&before.Record, &now.Record) {
		return &before.Record
	}
	for i := range tr.parts {
		f := &tr.parts[i]
		var is *session.Record
		if p := d.current(now, *f); p != nil {
			is = &p.Record
		}
		if changed(&f.part.Record, is) {
			return &f.part.Record
		}
	}
	if len(before.Parts) == 0 || len(now.Parts) > 0 && &before.Parts[0] == &now.Parts[0] {
		return nil // what was changed in place is in tr.parts
	}
	places := placesIn(now)
	for i := range before.Parts {
		was := &before.Parts[i]
		var is *session.Record
		if at, ok := places[was.Ref]; ok {
			is = &now.Parts[at].Record
		}
		if changed(&was.Record, is) {
			return &was.Record
		}
	}
	return nil
}

// hidden says, as a sentence, that something of the message cannot be read: what
// it holds is then unknown, and no change to it is safe. It is "" if all can be
// read, or for what is about no message.
func (c *chart) hidden(ref session.Ref) string {
	if ref.Kind == session.KindFile {
		return ""
	}
	return c.hiddenMessages()[ref.Message]
}

// hiddenMessages is what [chart.hidden] says of the messages, by their ids, of which it
// says something.
func (c *chart) hiddenMessages() map[string]string {
	if c.blind != nil {
		return c.blind
	}
	c.blind = map[string]string{}
	beside := map[string]bool{}
	for i := range c.s.Files {
		beside[c.s.Files[i].Ref.Message] = true
	}
	for _, s := range c.s.Stray {
		beside[s.Message] = true
	}
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		why := hiddenIn(m)
		if why == "" && beside[m.Ref.Message] {
			why = c.hiddenBeside(m)
		}
		if why != "" && c.message(m.Ref) == m {
			c.blind[m.Ref.Message] = why
		}
	}
	return c.blind
}

const adviceHidden = "so nothing in this message is changed: make it readable, then scan again."

func hiddenIn(m *session.Message) string {
	if m.Unreadable() {
		return fmt.Sprintf("The message %s cannot be read (%s), %s", m.Ref, m.Defect.Why, adviceHidden)
	}
	if err := m.Ref.Validate(); err != nil {
		return fmt.Sprintf("The message's row has no id that mend can keep it by (%s), so nothing in it is changed.", shown(m.Ref.String()))
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Unreadable() {
			return fmt.Sprintf("The part %s cannot be read (%s), %s", p.Ref, p.Defect.Why, adviceHidden)
		}
		if err := p.Ref.Validate(); err != nil {
			return fmt.Sprintf("Nothing in this message is changed, since the row of a part has no id that mend can keep it by: give it one with SQL while no agent runs (%s), then scan again.", shown(giveID(p)))
		}
	}
	return ""
}

func (c *chart) hiddenBeside(m *session.Message) string {
	for i := range c.s.Files {
		if f := &c.s.Files[i]; f.Ref.Message == m.Ref.Message && f.Opens == "" {
			return fmt.Sprintf("A file stands at %s, where the folder of its parts should be, so nothing in this message is changed: %s moves it away.", shown(f.Path), asksForFiles)
		}
	}
	for _, s := range c.s.Stray {
		if s.Message == m.Ref.Message && !s.Unseen {
			return fmt.Sprintf("What stands at %s cannot be read as a part (%s), %s", s.Path, s.Why, adviceHidden)
		}
	}
	return ""
}

// wayOut is what the user can do about a session that stays broken: go back to
// the last prompt before everything that stays, if the session was accepted then.
func (t *treatment) wayOut() string {
	s := t.s
	broken := map[string]bool{}
	for _, f := range t.now.findings {
		if f.severity == Broken && t.wanted(t.c, f) {
			broken[f.ref.Message] = true
		}
	}
	at := slices.IndexFunc(s.Messages, func(m session.Message) bool { return broken[m.Ref.Message] })
	for ; at > 0; at-- {
		if s.Messages[at].Role == session.RoleUser {
			break
		}
	}
	if at > 0 && t.c.acceptedUpTo(at) {
		return fmt.Sprintf(" Forking the session before the prompt %s would leave it behind.", s.Messages[at].ID)
	}
	return ""
}

// acceptedUpTo reports whether the session's first n messages would be accepted
// in the setting in use.
func (c *chart) acceptedUpTo(n int) bool {
	s := *c.s
	s.Messages = s.Messages[:n]
	return len(c.of(&s).violations(c.settings[own])) == 0
}
