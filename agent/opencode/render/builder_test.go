package render_test

import (
	"encoding/json"
	"fmt"
	"maps"

	"mend/agent/opencode/record"
	"mend/change"
)

// A builder builds a session of files, with ascending ids and times.
type builder struct {
	record.Session
	clock int64
}

// start is the time of the first message, before the new prompt of Render.
const start = 1793491200000 // 2026-11-01

func newBuilder() *builder {
	return &builder{Session: record.Session{Head: change.Head{ID: "ses_1"}}, clock: start}
}

func (b *builder) id(kind string) string {
	b.clock++
	return fmt.Sprintf("%s_%012x%014d", kind, uint64(b.clock)*4096&(1<<48-1), len(b.Messages))
}

func (b *builder) message(m fields, parts ...fields) {
	ref := change.Ref{Kind: change.KindMessage, Session: b.ID, Message: b.id("msg")}
	m["time"] = fields{"created": b.clock, "completed": b.clock + 1}
	msg := record.NewMessage(newRecord(ref, m))
	for _, p := range parts {
		ref := change.Ref{Kind: change.KindPart, Session: b.ID, Message: ref.Message, Part: b.id("prt")}
		msg.Parts = append(msg.Parts, record.NewPart(newRecord(ref, p)))
	}
	b.Messages = append(b.Messages, msg)
}

// newRecord returns a record in the form of a file.
func newRecord(ref change.Ref, f fields) change.Record {
	f["id"], f["sessionID"], f["messageID"] = ref.ID(), ref.Session, ref.Message
	if ref.Kind == change.KindMessage {
		delete(f, "messageID")
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		panic(err)
	}
	return change.Record{Ref: ref, Data: data, Mode: 0o644}
}

type fields = map[string]any

func (b *builder) last() string {
	if len(b.Messages) == 0 {
		return ""
	}
	return b.Messages[len(b.Messages)-1].ID
}

func (b *builder) prompt(parts ...fields) {
	b.message(fields{"role": "user", "agent": "build", "model": fields{"providerID": "anthropic", "modelID": "claude-fake"}}, parts...)
}

// answer adds an assistant message with more members.
func (b *builder) answer(more fields, parts ...fields) {
	m := fields{
		"role": "assistant", "parentID": b.last(), "agent": "build", "mode": "build",
		"providerID": "anthropic", "modelID": "claude-fake", "path": fields{"cwd": "/", "root": "/"}, "cost": 0, "tokens": tokens(),
	}
	maps.Copy(m, more)
	b.message(m, parts...)
}

func (b *builder) assistant(parts ...fields) { b.answer(fields{"finish": "stop"}, parts...) }

// failed adds an assistant message that ended with an error.
func (b *builder) failed(name string, parts ...fields) {
	b.answer(fields{"error": fields{"name": name, "data": fields{"message": "x"}}}, parts...)
}

func tokens() fields {
	return fields{"input": 1, "output": 1, "reasoning": 0, "cache": fields{"read": 0, "write": 0}}
}

func textPart(s string) fields {
	return fields{"type": "text", "text": s, "time": fields{"start": start, "end": start}}
}

func thinkingPart(s string) fields {
	return fields{"type": "reasoning", "text": s, "time": fields{"start": start, "end": start}, "metadata": fields{"anthropic": fields{"signature": "c2ln"}}}
}

func toolPart(id, output string) fields {
	return fields{"type": "tool", "callID": id, "tool": "bash", "state": fields{
		"status": "completed", "input": fields{"command": "ls"}, "output": output, "title": "ls", "metadata": fields{"output": output},
		"time": fields{"start": start, "end": start + 1},
	}}
}

func stepStartPart() fields { return fields{"type": "step-start"} }

func stepFinishPart() fields {
	return fields{"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens()}
}
