package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mend/agent/opencode"
	"mend/internal/live"
	"mend/repair"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeAgent is an agent and a store with one session. It records its calls in order.
type fakeAgent struct {
	live.Repairer // has the methods that no hook calls

	mu       sync.Mutex
	calls    []string
	messages []live.Message
	busy     bool
	errors   map[string]error // by the first word of a call
	prompts  []live.Prompt
	toasts   []live.Toast
	models   []live.Model
	parent   string
	silent   bool // Publish is not recorded
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
	return len(slices.DeleteFunc(f.recordedCalls(), func(call string) bool { return strings.Fields(call)[0] != verb }))
}

func (f *fakeAgent) Messages(context.Context, string, int) ([]live.Message, error) {
	return f.messages, f.record("messages")
}

func (f *fakeAgent) Busy(context.Context, string) (bool, error) {
	err := f.record("busy")
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy, err
}

func (f *fakeAgent) setBusy(busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = busy
}

func (f *fakeAgent) Abort(context.Context, string) error { return f.record("abort") }

func (f *fakeAgent) Toast(_ context.Context, t live.Toast) error {
	f.toasts = append(f.toasts, t)
	return f.record("toast")
}

func (f *fakeAgent) Prompt(_ context.Context, _ string, p live.Prompt) error {
	f.prompts = append(f.prompts, p)
	return f.record("prompt")
}

func (f *fakeAgent) Publish(_ context.Context, event string) error {
	if f.silent {
		return nil
	}
	return f.record("publish %s", event)
}

func (f *fakeAgent) Models(context.Context) ([]live.Model, error) {
	if len(f.models) == 0 {
		return nil, errTest
	}
	return f.models, f.errors["models"]
}

func (f *fakeAgent) Parent(context.Context, string) (string, error) {
	return f.parent, f.errors["parent"]
}

func (f *fakeAgent) ParseAPIError(input []byte) repair.APIError {
	return opencode.Agent{}.ParseAPIError(input)
}

func (f *fakeAgent) watch() *live.Watch {
	return live.NewWatch(live.New(f, f, live.Options{MaxAttempts: 3, ToastTime: time.Second}))
}

var errTest = errors.New("boom")

type object = map[string]any

func event(kind string, properties any) live.Event {
	b, _ := json.Marshal(properties)
	return live.Event{Type: kind, Properties: b}
}
