package repair

import (
	"errors"
	"fmt"
	"strconv"

	"mend/session"
)

// answersItself is the first version known to send an error result for a call
// that never finished (spec/opencode-storage.md); older ones sent the call alone.
var answersItself = [3]int{1, 0, 152}

const whyNoCall = "The call has no id of its own, only that of the part, so no result could be matched with it: go on in a new session, or fork this one before the message."

// findMissingResults finds calls that never got a result.
func findMissingResults(x exam) []finding {
	if x.m.Role != session.RoleAssistant {
		return nil
	}
	var fs []finding
	for i := range x.m.Parts {
		p := &x.m.Parts[i]
		switch {
		case p.Unfinished():
			fs = append(fs, x.unfinishedCall(p))
		case p.Type == session.TypeToolUse && !x.hasResult(p):
			fs = append(fs, x.lostResult(p))
		}
	}
	return fs
}

// unfinishedCall is a tool part that stayed pending or running. It is corrected,
// not answered by a second part: the call and its result are one record
// (spec/session-recovery.md section 12.2).
func (x exam) unfinishedCall(p *session.Part) finding {
	severity, when := Latent, "while it ran"
	if sent(x.m) && olderThan(x.options.Version, answersItself) {
		severity = Broken
	}
	if p.Status == session.StatusPending {
		when = "before it ran"
	}
	why := fmt.Sprintf("The %s never got a result: the agent was stopped %s.", callName(p), when)
	f := x.finding(ToolResultMissing, severity, p.Ref, why)
	if p.Call() == "" {
		f.WhyNot = whyNoCall
		return f
	}
	ref := p.Ref
	f.fixes = []fix{{
		cure: fmt.Sprintf("The call is marked as failed with %q; its input stays.", x.texts.cancelled),
		edit: func(x exam) error { return x.failCall(ref) },
	}}
	return f
}

// failCall turns the state of a call into an error, with every field that such a
// state must have. What it has beyond them stays.
func (x exam) failCall(ref session.Ref) error {
	p, err := x.part(ref)
	if err != nil {
		return err
	}
	start := p.Start
	if start == 0 {
		start = x.m.Created
	}
	end := x.m.Completed
	if end == 0 {
		end = latestIn(x.m)
	}
	for _, f := range []struct {
		path  []string
		raw   []byte
		stays func(raw []byte) bool // what is there, if it is so
	}{
		{[]string{"state", "status"}, session.Quote(session.StatusError), never},
		{[]string{"state", "input"}, []byte("{}"), notNull},
		{[]string{"state", "error"}, session.Quote(x.texts.cancelled), never},
		{[]string{"state", "time"}, []byte("{}"), isObject},
		{[]string{"state", "time", "start"}, strconv.AppendInt(nil, start, 10), isNumber},
		{[]string{"state", "time", "end"}, strconv.AppendInt(nil, max(start, end), 10), isNumber},
	} {
		if raw, there := session.Field(p.Data, f.path...); there && f.stays(raw) {
			continue
		}
		if err := p.Set(f.raw, f.path...); err != nil {
			return err
		}
	}
	return nil
}

func never([]byte) bool        { return false }
func notNull(raw []byte) bool  { return raw[0] != 'n' }
func isObject(raw []byte) bool { return raw[0] == '{' }
func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// lostResult is a tool_use part of an older store, where the result is a part of
// its own, and there is none.
func (x exam) lostResult(p *session.Part) finding {
	severity := Broken
	if !sent(x.m) {
		severity = Latent
	}
	why := fmt.Sprintf("The %s has no result anywhere in the session.", callName(p))
	f := x.finding(ToolResultMissing, severity, p.Ref, why)
	call := p.Call()
	if call == "" {
		f.WhyNot = whyNoCall
		return f
	}
	id := p.ID + suffix
	f.fixes = []fix{{
		cure: fmt.Sprintf("A result that says %q is put behind the call.", x.texts.cancelled),
		edit: func(x exam) error {
			if !x.m.Free(id) {
				return errors.New("no id for the result")
			}
			x.m.Insert(x.s.NewResultPart(x.m, id, call, x.texts.cancelled))
			return nil
		},
	}}
	return f
}

// suffix makes of a part's id one that sorts directly behind it
// (spec/opencode-storage.md).
const suffix = "_mend"

// hasResult reports whether a tool_result of the session answers the call.
func (x exam) hasResult(p *session.Part) bool {
	call := p.Call()
	if call == "" {
		return false
	}
	for i := range x.m.Parts {
		if r := &x.m.Parts[i]; r.Type == session.TypeToolResult && r.CallID == call {
			return true
		}
	}
	return x.answered[call]
}

// callName is how a sentence calls a tool call.
func callName(p *session.Part) string {
	name := "call"
	if p.Tool != "" {
		name = p.Tool + " call"
	}
	if call := p.Call(); call != "" {
		return name + " " + call
	}
	return name + " in part " + p.ID
}
