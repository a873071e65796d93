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

	"mend"
	"mend/change"
	"mend/internal/endpoint"
	"mend/internal/opencode"
	"mend/journal"
	"mend/live"
	"mend/repair"
)

// The provider's words, for classes whose error the agent itself avoids.
const (
	missingResult = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
	thinkingOff   = "messages.%d.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
	noSuchTool    = "Model tried to call unavailable tool 'bash'. Available tools: read."
	modified      = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
	noPrefill     = "This model does not support assistant message prefill. The conversation must end with a user message."

	cutOff = "[Tool execution was interrupted]" // what the agent sends for a call without a result
)

// A liveCase is a way in which a live session breaks.
type liveCase struct {
	name       string
	wound      string
	thinkOff   bool
	refuse     func(body string) string
	class      repair.Class
	toast      string
	autoResume bool
	explained  bool // and left alone
}

var liveCases = []liveCase{
	{name: "empty content", wound: "blank answer", class: repair.EmptyContentMessage, toast: "Fixing empty message"},
	{name: "order of thinking", wound: "reasoning last", class: repair.ThinkingBlockOrder, toast: "Fixing message structure"},
	{name: "order of thinking, resumed", wound: "reasoning last", class: repair.ThinkingBlockOrder, toast: "Fixing message structure", autoResume: true},
	{name: "thinking is off", wound: "none", thinkOff: true, refuse: whenLastThinks, class: repair.ThinkingDisabledViolation, toast: "Stripping thinking"},
	{name: "thinking is off, resumed", wound: "none", thinkOff: true, refuse: whenLastThinks, class: repair.ThinkingDisabledViolation, toast: "Stripping thinking", autoResume: true},
	{name: "missing result", wound: "tool running", refuse: when(cutOff, missingResult), class: repair.ToolResultMissing, toast: "Injecting cancelled"},
	{name: "unavailable tool", wound: "tool running", refuse: when(cutOff, noSuchTool), class: repair.UnavailableTool, toast: "unavailable tool call"},
	{name: "calls lost their results by order", wound: "reasoning behind tool", class: repair.ToolResultMissing, toast: "Injecting cancelled"},
	{name: "modified thinking", wound: "none", refuse: when("", modified), class: repair.ThinkingBlockModified, toast: "leaving history unchanged", explained: true},
	{name: "prefill", wound: "none", refuse: when("", noPrefill), class: repair.AssistantPrefillUnsupported, toast: "Prefill not supported", explained: true},
}

// whenLastThinks refuses thinking in the last answer, as a provider does where
// thinking is off.
func whenLastThinks(body string) string {
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

// A live session of the real program breaks in each class. The error is seen, the
// user is told, the store is repaired through the journal, and either the turn
// goes on by itself or the next prompt works. What has no cure is explained and
// left as it was. The callbacks come in their order.
func TestLiveServer(t *testing.T) {
	t.Parallel()
	for version := range archives {
		for n, c := range liveCases {
			if testing.Short() && (n%2 == 0) != (version == "1.18.33") {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				h, session, g := home(t, version, !c.thinkOff)
				cut(t, h, session, c.wound)
				server := h.Serve()
				seen := look(t, server)
				e := embed(t, h, server, live.Options{AutoResume: c.autoResume})
				g.set(c.refuse)
				before := conversationOf(t, e, session)

				if r := server.Prompt(session, "one more"); !strings.Contains(r.Output, `"error"`) {
					t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				eventually(t, "the end of the recovery", func() bool { return len(e.calls()) == e.want(c) })
				eventually(t, "the toast", func() bool { return seen.saw(c.toast) })
				if c.explained {
					g.set(nil)
					e.leftAlone(t, session, before)
				} else {
					e.repaired(t, c, session)
				}
				if c.autoResume {
					eventually(t, "the end of the resumed turn", func() bool { return e.atRest(t, session) })
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

// An embedded recovery is what a Go program makes of package live.
type embedded struct {
	client *mend.Client
	opt    mend.Options
	server *live.Server
	hook   *live.Hook
	called chan string
	seen   []string
}

// reader looks at a store and its server, and does nothing.
func reader(t *testing.T, h *opencode.Home, server *opencode.Server) *embedded {
	t.Helper()
	opt := mend.Options{Store: h.DataDir(), Journal: filepath.Join(t.TempDir(), "journal"), Cache: filepath.Join(t.TempDir(), "cache")}
	client, err := mend.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := live.NewServer(server.URL, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &embedded{client: client, opt: opt, server: s, called: make(chan string, 100)}
}

// embed follows the server until the test ends.
func embed(t *testing.T, h *opencode.Home, server *opencode.Server, o live.Options) *embedded {
	t.Helper()
	e := reader(t, h, server)
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

// calls are the callbacks so far.
func (e *embedded) calls() []string {
	for {
		select {
		case c := <-e.called:
			e.seen = append(e.seen, c)
		default:
			return e.seen
		}
	}
}

// want is how many callbacks the case has: thinking that was modified is not
// touched, not even by an abort.
func (e *embedded) want(c liveCase) int {
	if c.class == repair.ThinkingBlockModified {
		return 1
	}
	return 2
}

func (e *embedded) repaired(t *testing.T, c liveCase, session string) {
	t.Helper()
	es, err := e.opt.Log(journal.Query{})
	if err != nil || len(es) != 1 {
		t.Fatalf("%d entries in the journal, %v; want 1", len(es), err)
	}
	cause := es[0].Cause
	if es[0].State != change.Committed || cause.Kind != change.CauseError || repair.ParseAPIError([]byte(cause.Text)).Class != c.class {
		t.Errorf("entry is %s because of %s %q; want %s", es[0].State, cause.Kind, cause.Text, c.class)
	}
	if want := []string{"abort " + session, "complete " + session}; !slices.Equal(e.seen, want) {
		t.Errorf("callbacks %v, want %v", e.seen, want)
	}
}

func (e *embedded) leftAlone(t *testing.T, session string, before []string) {
	t.Helper()
	if es, err := e.opt.Log(journal.Query{}); err != nil || len(es) != 0 {
		t.Errorf("%d entries in the journal, %v; want none", len(es), err)
	}
	if now := conversationOf(t, e, session); !slices.Equal(now[:len(before)], before) {
		t.Error("records changed that were there before")
	}
}

// conversationOf is the stored bytes of each message with its parts.
func conversationOf(t *testing.T, e *embedded, session string) []string {
	t.Helper()
	s, err := e.client.Load(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range s.Messages {
		text := string(m.Data)
		for _, p := range m.Parts {
			text += "\n" + string(p.Data)
		}
		all = append(all, text)
	}
	return all
}

// atRest reports whether the session ends with an answer that went well, and the
// agent is done with it.
func (e *embedded) atRest(t *testing.T, session string) bool {
	t.Helper()
	s, err := e.client.Load(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Messages[len(s.Messages)-1]
	busy, err := e.server.Busy(t.Context(), live.SessionRef{ID: session})
	return m.Role == "assistant" && m.Finished() && !m.Failed && err == nil && !busy
}

// prompts counts the prompts that nobody typed.
func (e *embedded) prompts(t *testing.T, session string) int {
	t.Helper()
	s, err := e.client.Load(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Text == live.ResumeText && p.Synthetic {
				n++
			}
		}
	}
	return n
}
