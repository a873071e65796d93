package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// now is later than all times in fixtures and built sessions, by more than the busy limit.
var now = time.UnixMilli(1_795_300_000_000)

// A turn is a message to build. A part is the members of its record without the ids. It begins with its id if that is
// not the default of its position: `prt_x|"type":"text"`. After raw: it is the data of the record.
type turn struct {
	role, fields string
	parts        []string
}

func user(parts ...string) turn { return turn{"user", "", parts} }

func answer(parts ...string) turn {
	return turn{"assistant", `"finish":"stop"`, parts}
}

// calling returns an answer that ended with a tool call.
func calling(parts ...string) turn {
	return turn{"assistant", `"finish":"tool-calls"`, parts}
}

func failed(name string, parts ...string) turn {
	return turn{"assistant", `"error":{"name":"` + name + `","data":{"message":"x","isRetryable":false}}`, parts}
}

// The parts that tests are made of.
const (
	stepStart   = `"type":"step-start"`
	stepFinish  = `"type":"step-finish","reason":"stop",` + spent
	hi          = `"type":"text","text":"hi"`
	done        = `"type":"text","text":"done"`
	empty       = `"type":"text","text":""`
	blank       = `"type":"text","text":" \n"`
	signed      = `"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"sig"}},"time":{"start":1,"end":2}`
	signed2     = `"type":"reasoning","text":"hm, hm","metadata":{"anthropic":{"signature":"sig2"}},"time":{"start":1,"end":2}`
	unsigned    = `"type":"reasoning","text":"hm","time":{"start":1,"end":2}`
	bash        = `"type":"tool","callID":"toolu_1","tool":"bash","state":{"status":"completed","input":{"command":"x"},"output":"y","title":"z","metadata":{},"time":{"start":3,"end":4}}`
	bash2       = `"type":"tool","callID":"toolu_2","tool":"bash","state":{"status":"completed","input":{"command":"x"},"output":"y","title":"z","metadata":{},"time":{"start":3,"end":4}}`
	file        = `"type":"file","mime":"image/png","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="`
	placeholder = `"type":"text","text":"[user interrupted]","synthetic":true`
)

// spent has the cost and the tokens of a step.
const spent = `"cost":0,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}`

func partID(message, part int) string { return "prt_" + paddedNumber(message) + paddedNumber(part) }

func messageID(message int) string { return "msg_" + paddedNumber(message) }

// paddedNumber returns a number for an id. The ids sort like their numbers, and before the id of
// the user's next prompt.
func paddedNumber(n int) string {
	if n < 20 {
		return fmt.Sprintf("%02d", n)
	}
	return fmt.Sprintf("1a%06d", n)
}

// build makes a session of finished turns, message 1 first.
func build(turns ...turn) *record.Session {
	s := &record.Session{Head: change.Head{ID: "ses_1"}}
	for i, t := range turns {
		s.Messages = append(s.Messages, buildMessage(i+1, t))
	}
	return s
}

func buildMessage(n int, t turn) record.Message {
	id := messageID(n)
	fields := t.fields
	if fields != "" {
		fields = "," + fields
	}
	if t.role == change.RoleUser {
		fields = `,"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"}` + fields
	} else {
		fields = `,"parentID":"msg_01","modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","path":{"cwd":"/p","root":"/p"},` + spent + fields
	}
	m := record.NewMessage(change.Record{
		Ref:  change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: id},
		Data: fmt.Appendf(nil, `{"id":"%s","sessionID":"ses_1","role":"%s","time":{"created":%d}%s}`, id, t.role, 1000*n, fields),
		Mode: 0o644,
	})
	for j, p := range t.parts {
		m.Insert(buildPart(n, j+1, p))
	}
	return m
}

func buildPart(message, place int, spec string) record.Part {
	id, fields, ok := strings.Cut(spec, "|")
	if !ok {
		id, fields = partID(message, place), spec
	}
	ref := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: messageID(message), Part: id}
	data := fmt.Sprintf(`{"id":"%s","sessionID":"ses_1","messageID":"%s",%s}`, id, messageID(message), fields)
	if raw, ok := strings.CutPrefix(fields, "raw:"); ok {
		data = raw
	}
	return record.NewPart(change.Record{Ref: ref, Data: []byte(data), Mode: 0o644})
}

func records(s *record.Session) string {
	var b strings.Builder
	for r := range s.Records {
		fmt.Fprintf(&b, "%s %o %s\n", r.Ref, r.Mode, r.Data)
	}
	return b.String()
}

// summary returns the severities, classes and refs of diagnoses.
func summary(ds []repair.Diagnosis) string {
	var lines []string
	for _, d := range ds {
		lines = append(lines, fmt.Sprintf("%s %s %s", d.Severity, d.Class, d.Ref))
	}
	return strings.Join(lines, "; ")
}

func plan(t *testing.T, s *record.Session, r Request) Result {
	t.Helper()
	r.Now = now
	got, err := Plan(s, r)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	return got
}
