package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/repair"
)

// A fakeAgent is an agent and a store with one session. It records its calls in order.
type fakeAgent struct {
	began      func() // called when a recovery begins, unless it is nil
	mu         sync.Mutex
	calls      []string
	messages   []Message // the messages that the agent reports
	stored     []Message
	busy       bool
	errors     map[string]error // by the first word of a call
	requests   []repair.Request
	entry      string // the id that Repair returns
	prompts    []Prompt
	toasts     []Toast
	onRepair   func()
	updated    int64
	lastChange string // the id that LastChange returns
	result     repair.Result
	trims      []repair.TrimRequest
	found      []repair.Diagnosis
	others     []change.Head // of other sessions
}

func (f *fakeAgent) record(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.errors[strings.Fields(format)[0]]
}

func (f *fakeAgent) recordedCalls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fakeAgent) count(verb string) int {
	n := 0
	for _, d := range f.recordedCalls() {
		if strings.Fields(d)[0] == verb {
			n++
		}
	}
	return n
}

func (f *fakeAgent) Messages(_ context.Context, _ string, limit int) ([]Message, error) {
	if err := f.record("messages"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if limit > 0 && limit < len(f.messages) {
		return f.messages[len(f.messages)-limit:], nil
	}
	return f.messages, nil
}

func (f *fakeAgent) Busy(context.Context, string) (bool, error) {
	err := f.record("busy")
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy, err
}

func (f *fakeAgent) Abort(context.Context, string) error { return f.record("abort") }

func (f *fakeAgent) Toast(_ context.Context, t Toast) error {
	f.toasts = append(f.toasts, t)
	return f.record("toast")
}

func (f *fakeAgent) Prompt(_ context.Context, _ string, p Prompt) error {
	f.prompts = append(f.prompts, p)
	return f.record("prompt")
}

// Publish records "started ID" or "finished ID".
func (f *fakeAgent) Publish(_ context.Context, event string) error {
	what := strings.TrimPrefix(event, "mend.recovery.")
	err := f.record("%s", what)
	if f.began != nil && strings.HasPrefix(what, "started") {
		f.began()
	}
	return err
}

func (f *fakeAgent) Sessions(context.Context) ([]change.Head, error) {
	return append([]change.Head{{ID: "ses_1", Updated: f.updated, Directory: "/p"}}, f.others...), f.record("sessions")
}

// Examine returns the findings, and how the last turn ended in the store.
func (f *fakeAgent) Examine(context.Context, change.Head) (agent.Examination, error) {
	x := agent.Examination{Diagnoses: f.found}
	if last := lastMessage(f.stored); last != nil && last.Info.HasError() {
		x.Failure = &agent.Failure{Message: last.Info.ID, Error: last.Info.Error, Time: last.Info.CreationTime()}
	} else {
		x.Unfinished = last != nil && last.Info.Role == change.RoleAssistant && !last.Info.IsFinished()
	}
	return x, f.record("examine")
}

func (f *fakeAgent) ParseAPIError(input []byte) repair.APIError {
	return opencode.Agent{}.ParseAPIError(input)
}

func (f *fakeAgent) LastChange(context.Context, string, time.Time) (string, error) {
	return f.lastChange, f.record("lastChange")
}

func (f *fakeAgent) Repair(ctx context.Context, _ change.Head, r repair.Request, accept func(context.Context, repair.Result) error) (string, repair.Result, error) {
	err := f.record("repair")
	f.mu.Lock()
	f.requests = append(f.requests, r)
	hook := f.onRepair
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	if accept != nil && err == nil && f.entry != "" {
		err = accept(ctx, f.result)
	}
	if err != nil {
		return "", f.result, err
	}
	return f.entry, f.result, nil
}

func (f *fakeAgent) Trim(_ context.Context, _ string, r repair.TrimRequest) (string, repair.Trimmed, error) {
	f.trims = append(f.trims, r)
	return f.entry, repair.Trimmed{Outputs: make([]repair.TrimmedOutput, 3)}, f.record("trim")
}

func (f *fakeAgent) CheckUnasked(context.Context, string, repair.Result) error {
	return f.record("checkUnasked")
}

func (f *fakeAgent) Version(name string) agent.Version {
	return agent.Version{Name: name, Verified: name != "9.9.9" && name != "0.0.1", Newer: name == "9.9.9"}
}

// recover judges a session after an error, and reports whether it was repaired.
func (h *Hook) recover(ctx context.Context, i Info) bool {
	return h.Look(ctx, Situation{Cause: AfterError, Head: change.Head{ID: i.SessionID}, Failure: i}).Entry != ""
}

// idle judges a session that became idle, and reports whether it was repaired.
func (h *Hook) idle(ctx context.Context) bool {
	return h.Look(ctx, Situation{Cause: AtIdle, Head: change.Head{ID: "ses_1"}}).Entry != ""
}

// overflow judges a session after a request that was too long.
func (h *Hook) overflow(ctx context.Context) {
	h.Look(ctx, Situation{Cause: AfterOverflow, Head: change.Head{ID: "ses_1"}, Failure: Info{Error: json.RawMessage(`"` + tooLong + `"`)}, At: time.Now()})
}

// ask judges a session before a request.
func (h *Hook) ask(ctx context.Context, q Question) (entry string, err error) {
	v := h.Look(ctx, Situation{Cause: BeforeRequest, Head: change.Head{ID: q.Session}, Question: q})
	return v.Entry, v.Err
}

const defaultAttempts = 3

// hook returns a Hook of the fakeAgent. It never waits. A negative ToastTime turns toasts off.
func (f *fakeAgent) hook(o Options) *Hook {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, defaultAttempts)
	o.ToastTime = max(cmp.Or(o.ToastTime, time.Second), 0)
	h := New(f, f, o)
	h.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return h
}

// errorJSON returns an error as OpenCode reports it.
func errorJSON(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]any{"name": "APIError", "data": map[string]any{"message": text, "statusCode": 400}})
	return b
}

// Error texts of the provider.
const (
	orderText    = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."
	disabledText = "messages.1: thinking is disabled for this model and cannot contain thinking blocks"
	resultText   = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after"
	emptyText    = "messages: text content blocks must contain non-whitespace text"
	toolText     = "No such tool: bash"
	modifiedText = "messages.3.content.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
	prefillText  = "This model does not support assistant message prefill. The conversation must end with a user message."
	otherText    = "overloaded"
)

func prompt(id, text string) Message {
	return Message{
		Info:  Info{ID: id, SessionID: "ses_1", Role: "user", Agent: "build", Model: &Model{ProviderID: "anthropic", ModelID: "claude", Variant: "max"}, Tools: map[string]bool{"bash": true}},
		Parts: []Part{{ID: "prt_" + id, Type: "text", Text: text}},
	}
}

func assistantMessage(id string, parts ...Part) Message {
	return Message{Info: Info{ID: id, SessionID: "ses_1", Role: "assistant"}, Parts: parts}
}

func failedMessage(id, text string) Message {
	m := assistantMessage(id)
	m.Info.Error = errorJSON(text)
	return m
}

func toolCall(id, status string) Part {
	p := Part{ID: id, Type: "tool", CallID: "toolu_" + id, Tool: "bash"}
	p.State.Status = status
	return p
}

// failedSession returns a fakeAgent whose session ends with an error, and the failed message.
func failedSession(text string) (*fakeAgent, Info) {
	last := failedMessage("msg_2", text)
	f := &fakeAgent{messages: []Message{prompt("msg_1", "do it"), last}, entry: "quail"}
	f.stored = f.messages
	return f, last.Info
}

var errTest = errors.New("boom")

func logTo(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
