package repair

import (
	"bytes"
	"fmt"
	"slices"

	"mend/session"
)

// judge tells the trials that proved themselves from the others: the fault is
// gone under every setting, and nothing is at the message that was not before.
func judge(trials []trial, news []place, after *survey) (good, bad []trial) {
	for _, tr := range trials {
		if after.has(tr.key()) || slices.ContainsFunc(news, func(p place) bool { return tr.causes(p) }) {
			bad = append(bad, tr)
		} else {
			good = append(good, tr)
		}
	}
	return good, bad
}

// causes reports whether what is new at p is the trial's doing.
func (tr trial) causes(p place) bool { return tr.fix.whole || tr.ref.Message == p.message }

func caused(trials []trial, p place) bool {
	return slices.ContainsFunc(trials, func(tr trial) bool { return tr.causes(p) })
}

// news is where there is more wrong than before the trials: by message, or under
// a fix that may have given messages other ids, in all.
func (t *treatment) news(trials []trial, after *survey) []place {
	was, is := t.now.counts, after.counts
	if trials[0].fix.whole {
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
// while its tool loop is open: the provider wants it back unchanged
// (provider-rules.md, R8).
func (t *treatment) forbidden(tr trial, s *session.Session) bool {
	if tr.ref.Message != t.c.newest || tr.fix.whole || !loopOpen(s) {
		return false
	}
	if slices.EqualFunc(thoughts(&tr.before), thoughts(&s.Messages[tr.at]), bytes.Equal) {
		return false
	}
	t.why[tr.key()] = whyLoop
	return true
}

// thoughts are the records of the message's thinking.
func thoughts(m *session.Message) [][]byte {
	var all [][]byte
	for i := range m.Parts {
		if m.Parts[i].IsThinking() {
			all = append(all, m.Parts[i].Data)
		}
	}
	return all
}

// hidden says, as a sentence, that something of the message cannot be read: what
// it holds is then unknown, and no change to it is safe. It is "" if all can be
// read, or for what is about no message.
func (c *chart) hidden(ref session.Ref) string {
	const advice = "so nothing in this message is changed: make it readable, then scan again."
	m := c.message(ref)
	if m == nil {
		return ""
	}
	if m.Unreadable() {
		return fmt.Sprintf("The message %s cannot be read (%s), %s", m.Ref, m.Defect.Why, advice)
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Unreadable() {
			return fmt.Sprintf("The part %s cannot be read (%s), %s", p.Ref, p.Defect.Why, advice)
		}
	}
	for _, s := range c.s.Stray {
		if s.Message == m.Ref.Message {
			return fmt.Sprintf("What stands at %s cannot be read as a part (%s), %s", s.Path, s.Why, advice)
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
		if f.severity == Broken && t.wanted(f) {
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
	use := c.settings[own]
	return len(c.wire.Check(c.of(&s).render(use.profile), use.thinking)) == 0
}
