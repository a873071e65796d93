//go:build e2e

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/journal"
	"mend/repair"
)

// Error texts of the provider, for classes whose errors the agent itself avoids.
const (
	missingResult = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
	thinkingOff   = "messages.%d.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
	noSuchTool    = "Model tried to call unavailable tool 'bash'. Available tools: read."
	modified      = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
	noPrefill     = "This model does not support assistant message prefill. The conversation must end with a user message."

	interruptedResult = "[Tool execution was interrupted]" // what the agent sends for a call without a result
)

// A liveCase is one fault of a live session.
type liveCase struct {
	name             string
	damage           string
	thinkingDisabled bool
	refuse           func(body string) string
	class            repair.Class
	toast            string
	autoResume       bool
	explainOnly      bool // and left alone
}

var liveCases = []liveCase{
	{name: "empty content", damage: "blank answer", class: repair.EmptyContentMessage, toast: "Fixing empty message"},
	{name: "order of thinking", damage: "reasoning last", class: repair.ThinkingBlockOrder, toast: "Fixing message structure"},
	{name: "order of thinking, resumed", damage: "reasoning last", class: repair.ThinkingBlockOrder, toast: "Fixing message structure", autoResume: true},
	{name: "thinking is off", damage: "none", thinkingDisabled: true, refuse: refuseLastThinking, class: repair.ThinkingDisabledViolation, toast: "Stripping thinking"},
	{name: "thinking is off, resumed", damage: "none", thinkingDisabled: true, refuse: refuseLastThinking, class: repair.ThinkingDisabledViolation, toast: "Stripping thinking", autoResume: true},
	{name: "missing result", damage: "tool running", refuse: refuseIf(interruptedResult, missingResult), class: repair.ToolResultMissing, toast: "Injecting cancelled"},
	{name: "unavailable tool", damage: "tool running", refuse: refuseIf(interruptedResult, noSuchTool), class: repair.UnavailableTool, toast: "unavailable tool call"},
	{name: "calls lost their results by order", damage: "reasoning behind tool", class: repair.ToolResultMissing, toast: "Injecting cancelled"},
	{name: "modified thinking", damage: "none", refuse: refuseIf("", modified), class: repair.ThinkingBlockModified, toast: "leaving history unchanged", explainOnly: true},
	{name: "prefill", damage: "none", refuse: refuseIf("", noPrefill), class: repair.AssistantPrefillUnsupported, toast: "Prefill not supported", explainOnly: true},
}

// refuseLastThinking refuses thinking in the last assistant message, as a provider does if
// thinking is disabled.
func refuseLastThinking(body string) string {
	r, err := endpoint.Parse([]byte(body))
	if err != nil {
		return ""
	}
	for n, m := range slices.Backward(r.Messages) {
		if m.Role != "assistant" {
			continue
		}
		if slices.ContainsFunc(m.Content, func(b endpoint.Block) bool { return b.Type == "thinking" }) {
			return fmt.Sprintf(thinkingOff, n)
		}
		break
	}
	return ""
}

// TestLiveServer breaks a live session of the real program in each class. The store is
// repaired through the journal, a toast is shown, and the turn is resumed or the next
// prompt works. Faults without a fix are explained and not changed.
func TestLiveServer(t *testing.T) {
	t.Parallel()
	for version := range archives {
		for n, c := range liveCases {
			if testing.Short() && (n%2 == 0) != (version == "1.18.33") {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				h, session, g := home(t, version, !c.thinkingDisabled)
				damageSession(t, h, session, c.damage)
				server := h.Serve()
				seen, events := followToasts(t, server), followEvents(t, server)
				e := startLiveClient(t, h, server, live.Options{AutoResume: c.autoResume})
				g.set(c.refuse)
				before := storedMessages(t, e, session)

				if r := server.Prompt(session, "one more"); !strings.Contains(r.Output, `"error"`) {
					t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				waitFor(t, "the end of the recovery", func() bool { return len(e.callbacks()) == e.wantCallbacks(c) })
				waitFor(t, "the toast", func() bool { return seen.contains(c.toast) })
				if c.name == "empty content" {
					events.record(t, "recovery_"+version)
				}
				if c.explainOnly {
					g.set(nil)
					e.checkUnchanged(t, session, before)
				} else {
					e.checkRepaired(t, c, session)
				}
				if c.autoResume {
					waitFor(t, "the end of the resumed turn", func() bool { return e.idle(t, session) })
				}
				if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
					t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				if n := e.prompts(t, session); n != map[bool]int{false: 0, true: 1}[c.autoResume] {
					t.Errorf("%d prompts in the user's name", n)
				}
			})
		}
	}
}

// A liveClient uses package live as another Go program would.
type liveClient struct {
	client *mend.Store
	opt    mend.Options
	server *live.Server
	hook   *live.Hook
	called chan string
	seen   []string
}

// openLiveClient opens a store and its server, and starts nothing.
func openLiveClient(t *testing.T, h *opencode.Home, server *opencode.Server) *liveClient {
	t.Helper()
	opt := mend.Options{Agents: agents, Store: h.DataDir(), Journal: mend.OpenJournal(filepath.Join(t.TempDir(), "journal")), Cache: filepath.Join(t.TempDir(), "cache")}
	client, err := mend.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := live.NewServer(server.URL, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &liveClient{client: client, opt: opt, server: s, called: make(chan string, 100)}
}

// startLiveClient follows the server until the test ends.
func startLiveClient(t *testing.T, h *opencode.Home, server *opencode.Server, o live.Options) *liveClient {
	t.Helper()
	e := openLiveClient(t, h, server)
	hook := live.New(e.server, e.client, o)
	e.hook = hook
	hook.SetOnAbort(func(id string) { e.called <- "abort " + id })
	hook.SetOnRecoveryComplete(func(id string) { e.called <- "complete " + id })
	w := live.NewWatch(hook)
	ctx, cancel := context.WithCancel(context.Background())
	connected := make(chan struct{})
	done := make(chan struct{}, 2)
	go func() {
		w.Run(ctx)
		done <- struct{}{}
	}()
	go func() {
		_ = e.server.Follow(ctx, sync.OnceFunc(func() { close(connected) }), w.Accept)
		done <- struct{}{}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	<-connected
	return e
}

// callbacks returns the callbacks so far.
func (e *liveClient) callbacks() []string {
	for {
		select {
		case c := <-e.called:
			e.seen = append(e.seen, c)
		default:
			return e.seen
		}
	}
}

// wantCallbacks returns the number of callbacks of the case. Modified thinking is not
// aborted.
func (e *liveClient) wantCallbacks(c liveCase) int {
	if c.class == repair.ThinkingBlockModified {
		return 1
	}
	return 2
}

func (e *liveClient) checkRepaired(t *testing.T, c liveCase, session string) {
	t.Helper()
	es, err := e.opt.Journal.Log(journal.Query{})
	if err != nil || len(es) != 1 {
		t.Fatalf("%d entries in the journal, %v; want 1", len(es), err)
	}
	cause := es[0].Cause
	if es[0].State != change.Committed || cause.Kind != change.CauseError || e.client.ParseAPIError([]byte(cause.Text)).Class != c.class {
		t.Errorf("entry is %s because of %s %q; want %s", es[0].State, cause.Kind, cause.Text, c.class)
	}
	if want := []string{"abort " + session, "complete " + session}; !slices.Equal(e.seen, want) {
		t.Errorf("callbacks %v, want %v", e.seen, want)
	}
}

func (e *liveClient) checkUnchanged(t *testing.T, session string, before []string) {
	t.Helper()
	if es, err := e.opt.Journal.Log(journal.Query{}); err != nil || len(es) != 0 {
		t.Errorf("%d entries in the journal, %v; want none", len(es), err)
	}
	if now := storedMessages(t, e, session); !slices.Equal(now[:len(before)], before) {
		t.Error("records changed that were there before")
	}
}

// messages reads the messages of a session from the store.
func (e *liveClient) messages(t *testing.T, id string) []record.Message {
	t.Helper()
	records, err := e.client.Records(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var ms []record.Message
	for _, r := range records {
		switch r.Ref.Kind {
		case change.KindMessage:
			ms = append(ms, record.NewMessage(r))
		case change.KindPart:
			m := &ms[len(ms)-1]
			m.Parts = append(m.Parts, record.NewPart(r))
		default:
		}
	}
	return ms
}

// storedMessages returns the stored bytes of each message with its parts.
func storedMessages(t *testing.T, e *liveClient, id string) []string {
	t.Helper()
	var all []string
	for _, m := range e.messages(t, id) {
		text := string(m.Data)
		for _, p := range m.Parts {
			text += "\n" + string(p.Data)
		}
		all = append(all, text)
	}
	return all
}

// idle reports whether the last message succeeded and the agent has finished it.
func (e *liveClient) idle(t *testing.T, id string) bool {
	t.Helper()
	ms := e.messages(t, id)
	m := ms[len(ms)-1]
	busy, err := e.server.Busy(t.Context(), live.SessionRef{ID: id})
	return m.Role == "assistant" && m.Finished() && !m.Failed && err == nil && !busy
}

// prompts counts the prompts that the user did not write.
func (e *liveClient) prompts(t *testing.T, id string) int {
	t.Helper()
	n := 0
	for _, m := range e.messages(t, id) {
		for _, p := range m.Parts {
			if p.Text == live.ResumeText && p.Synthetic {
				n++
			}
		}
	}
	return n
}
