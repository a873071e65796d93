package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

const whyNoCall = "The call has no id of its own, so no result can be matched with it."

// findUnfinished finds calls without a result. The agent shows them as running, and
// what it sends for them depends on its version.
func findUnfinished(c *simulation) (fs []fault) {
	c.eachPart(func(m *record.Message, p *record.Part) {
		if m.Role == session.RoleAssistant && p.Unfinished() {
			fs = append(fs, fault{Ref: p.Ref})
		}
	})
	return fs
}

// findUnavailable finds unfinished calls of the tool that the error names, or of any
// tool if it names none.
func findUnavailable(c *simulation) []fault {
	return slices.DeleteFunc(findUnfinished(c), func(f fault) bool {
		_, p := c.part(f.Ref)
		return c.tool != "" && !strings.EqualFold(p.Tool, c.tool)
	})
}

func whyUnfinished(c *simulation, f fault) string {
	_, p := c.part(f.Ref)
	when := "while it ran"
	if p.Status == record.StatusPending {
		when = "before it ran"
	}
	return fmt.Sprintf("The %s never got a result: OpenCode was stopped %s.", callName(p), when)
}

// fixUnfinished returns the fix that turns the state of the call into an error. It
// changes the part instead of adding another, because a call and its result are one
// record (docs/opencode.md).
func fixUnfinished(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p.Call() == "" {
		return nil
	}
	ref := f.Ref
	return []fix{{
		text: fmt.Sprintf("The call is marked as failed with %q. Its input stays.", c.texts.cancelled),
		edit: func(d *draft) error { return d.failCall(ref) }, alike: true,
	}}
}

// failCall sets every field that a failed call must have. Its other fields stay.
func (d *draft) failCall(ref session.Ref) error {
	m, p, err := d.part(ref)
	if err != nil {
		return err
	}
	start, end := p.Start, m.Completed
	if start == 0 {
		start = m.Created
	}
	if end == 0 {
		end = m.LatestTime()
	}
	data := p.Data
	for _, f := range []struct {
		path  []string
		raw   []byte
		stays func(raw []byte) bool // reports whether the present value stays
	}{
		{[]string{"state", "status"}, jsonedit.Quote(record.StatusError), never},
		{[]string{"state", "input"}, []byte("{}"), notNull},
		{[]string{"state", "error"}, jsonedit.Quote(d.texts.cancelled), never},
		{[]string{"state", "time"}, []byte("{}"), isObject},
		{[]string{"state", "time", "start"}, strconv.AppendInt(nil, start, 10), isNumber},
		{[]string{"state", "time", "end"}, strconv.AppendInt(nil, max(start, end), 10), isNumber},
	} {
		if raw, there := jsonedit.Get(data, f.path...); there && f.stays(raw) {
			continue
		}
		if data, err = jsonedit.Set(data, f.raw, f.path...); err != nil {
			return fmt.Errorf("part %s: %w", p.ID, err)
		}
	}
	*p = record.NewPart(with(p.Record, data))
	return nil
}

func never([]byte) bool        { return false }
func notNull(raw []byte) bool  { return raw[0] != 'n' }
func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }
func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// findLostResults finds tool_use parts without a result. In older stores the result is
// a part of its own.
func findLostResults(c *simulation) (fs []fault) {
	answered := map[string]bool{}
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if p.Type == record.TypeToolResult {
			answered[p.CallID] = true
		}
	})
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if call := p.Call(); p.Type == record.TypeToolUse && (call == "" || !answered[call]) {
			fs = append(fs, fault{Ref: p.Ref})
		}
	})
	return fs
}

func whyLostResult(c *simulation, f fault) string {
	_, p := c.part(f.Ref)
	return fmt.Sprintf("The %s has no result anywhere in the session.", callName(p))
}

func fixLostResult(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	call, after, ref := p.Call(), p.ID, f.Ref
	if call == "" {
		return nil
	}
	return []fix{{
		text: fmt.Sprintf("A result that says %q is added after the call.", c.texts.cancelled),
		edit: func(d *draft) error {
			m, err := d.message(ref)
			if err != nil {
				return err
			}
			id, err := idAfter(m, after)
			if err != nil {
				return err
			}
			m.Insert(d.s.NewResultPart(m, id, call, d.texts.cancelled))
			return nil
		},
	}}
}
