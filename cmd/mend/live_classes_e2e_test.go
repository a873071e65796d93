//go:build e2e

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/repair"
)

// Error texts of the provider for the classes whose errors the agent itself avoids.
const (
	missingResult = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
	thinkingOff   = "messages.%d.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
	noSuchTool    = "Model tried to call unavailable tool 'bash'. Available tools: read."
	modified      = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
	noPrefill     = "This model does not support assistant message prefill. The conversation must end with a user message."

	interruptedResult = "[Tool execution was interrupted]" // what the agent sends for a call without a result
)

type liveCase struct {
	name             string
	damage           string
	thinkingDisabled bool
	refuse           func(body string) string
	class            repair.Class
	toast            string
	autoResume       bool
	explainOnly      bool // and not changed
}

var liveCases = []liveCase{
	{name: "empty content", damage: "blank answer", class: repair.EmptyContentMessage, toast: "Fixing empty message"},
	{name: "order of thinking", damage: "reasoning last", class: repair.ThinkingBlockOrder, toast: "Fixing message structure"},
	{name: "order of thinking, resumed", damage: "reasoning last", class: repair.ThinkingBlockOrder, toast: "Fixing message structure", autoResume: true},
	{name: "thinking is off", damage: "none", thinkingDisabled: true, refuse: refuseLastThinking, class: repair.ThinkingDisabledViolation, toast: "Stripping thinking"},
	{name: "thinking is off, resumed", damage: "none", thinkingDisabled: true, refuse: refuseLastThinking, class: repair.ThinkingDisabledViolation, toast: "Stripping thinking", autoResume: true},
	{name: "missing result", damage: "tool running", refuse: refuseIf(interruptedResult, missingResult), class: repair.ToolResultMissing, toast: "Injecting cancelled"},
	{name: "unavailable tool", damage: "tool running", refuse: refuseIf(interruptedResult, noSuchTool), class: repair.UnavailableTool, toast: "unavailable tool call"},
	{name: "calls lost their results by order", damage: "reasoning after tool", class: repair.ToolResultMissing, toast: "Injecting cancelled"},
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

// A liveClient reads the store of a home beside its server.
type liveClient struct {
	client *mend.Store
	server *opencode.Server
}

func openLiveClient(t *testing.T, h *opencode.Home, server *opencode.Server) *liveClient {
	t.Helper()
	opt := mend.Options{Agents: agents.All, Store: h.DataDir(), Journal: mend.OpenJournal(filepath.Join(t.TempDir(), "journal")), Cache: filepath.Join(t.TempDir(), "cache")}
	client, err := mend.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	return &liveClient{client, server}
}

// messages reads the messages of a session from the store.
func (e *liveClient) messages(t *testing.T, id string) []record.Message {
	t.Helper()
	head, err := e.client.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	records, err := e.client.Reader().Records(t.Context(), head)
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

// idle reports whether the last message succeeded and the agent has finished it.
func (e *liveClient) idle(t *testing.T, id string) bool {
	t.Helper()
	ms := e.messages(t, id)
	m := ms[len(ms)-1]
	return m.Role == "assistant" && m.IsFinished() && !m.Failed && !isBusy(t, e.server, id)
}

// prompts returns the number of prompts that the user did not write.
func (e *liveClient) prompts(t *testing.T, id string) int {
	t.Helper()
	n := 0
	for _, m := range e.messages(t, id) {
		for _, p := range m.Parts {
			if p.Text == live.ResumeText && p.Synthetic || strings.HasPrefix(p.Text, live.ResumeText+"\n<!--") {
				n++
			}
		}
	}
	return n
}
