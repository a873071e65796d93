package render_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"mend/session"
)

// A talk is a session in the making, of files. Ids and times go up.
type talk struct {
	session.Session
	clock int64
}

// start is when talks begin, before the prompt that Render stands in for.
const start = 1793491200000 // 2026-11-01

func newTalk() *talk {
	return &talk{Session: session.Session{ID: "ses_1"}, clock: start}
}

// id is the next one of the id clock.
func (t *talk) id(kind string) string {
	t.clock++
	return fmt.Sprintf("%s_%012x%014d", kind, uint64(t.clock)*4096&(1<<48-1), len(t.Messages))
}

// message adds one; fields may be changed until done is called.
func (t *talk) message(m fields, parts ...fields) {
	ref := session.Ref{Kind: session.KindMessage, Session: t.ID, Message: t.id("msg")}
	m["time"] = fields{"created": t.clock, "completed": t.clock + 1}
	msg := session.NewMessage(stored(ref, m))
	for _, p := range parts {
		ref := session.Ref{Kind: session.KindPart, Session: t.ID, Message: ref.Message, Part: t.id("prt")}
		msg.Parts = append(msg.Parts, session.NewPart(stored(ref, p)))
	}
	t.Messages = append(t.Messages, msg)
}

// stored is a record as a file holds it.
func stored(ref session.Ref, f fields) session.Record {
	f["id"], f["sessionID"], f["messageID"] = ref.ID(), ref.Session, ref.Message
	if ref.Kind == session.KindMessage {
		delete(f, "messageID")
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err)
	}
	return session.Record{Ref: ref, Data: data, Mode: 0o644}
}

type fields = map[string]any

func (t *talk) last() string {
	if len(t.Messages) == 0 {
		return ""
	}
	return t.Messages[len(t.Messages)-1].ID
}

func (t *talk) prompt(parts ...fields) {
	t.message(fields{"role": "user", "agent": "build", "model": fields{"providerID": "anthropic", "modelID": "claude-fake"}}, parts...)
}

func (t *talk) answer(parts ...fields) {
	t.message(fields{
		"role": "assistant", "parentID": t.last(), "agent": "build", "mode": "build", "finish": "stop",
		"providerID": "anthropic", "modelID": "claude-fake", "path": fields{"cwd": "/", "root": "/"}, "cost": 0, "tokens": tokens(),
	}, parts...)
}

// failed is an answer that ended with an error.
func (t *talk) failed(name string, parts ...fields) {
	t.message(fields{
		"role": "assistant", "parentID": t.last(), "agent": "build", "mode": "build", "error": fields{"name": name, "data": fields{"message": "x"}},
		"providerID": "anthropic", "modelID": "claude-fake", "path": fields{"cwd": "/", "root": "/"}, "cost": 0, "tokens": tokens(),
	}, parts...)
}

func tokens() fields {
	return fields{"input": 1, "output": 1, "reasoning": 0, "cache": fields{"read": 0, "write": 0}}
}

func said(s string) fields {
	return fields{"type": "text", "text": s, "time": fields{"start": start, "end": start}}
}

func thought(s string) fields {
	return fields{"type": "reasoning", "text": s, "time": fields{"start": start, "end": start}, "metadata": fields{"anthropic": fields{"signature": "c2ln"}}}
}

func called(id, output string) fields {
	return fields{"type": "tool", "callID": id, "tool": "bash", "state": fields{
		"status": "completed", "input": fields{"command": "ls"}, "output": output, "title": "ls", "metadata": fields{"output": output},
		"time": fields{"start": start, "end": start + 1},
	}}
}

func stepped() fields { return fields{"type": "step-start"} }

func stepDone() fields {
	return fields{"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens()}
}

// longTalk has a thousand prompts with their answers, of 10 parts a message in the mean.
func longTalk() *session.Session {
	t := newTalk()
	output := strings.Repeat("a line of what the tool wrote\n", 40)
	words := strings.Repeat("some \"words\" of the model ", 12)
	for i := range 1000 {
		t.prompt(said(fmt.Sprintf("prompt %d", i)))
		var parts []fields
		for j := range 3 {
			id := fmt.Sprintf("toolu_%d_%d", i, j)
			parts = append(parts, stepped(), thought(words), said(words), called(id+"a", output), called(id+"b", output), stepDone())
		}
		t.answer(append(parts, said(words))...)
	}
	return &t.Session
}
