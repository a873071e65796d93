package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/internal/live"
)

// The models of the tests.
var (
	fake  = live.Model{ProviderID: "anthropic", ModelID: "claude-fake"}
	two   = live.Model{ProviderID: "anthropic", ModelID: "claude-two"}
	three = live.Model{ProviderID: "anthropic", ModelID: "claude-three"}
)

// testPolicy returns a policy that continues with claude-two, then with claude-three.
func testPolicy() FallbackPolicy {
	return FallbackPolicy{
		Models: []live.Model{two, three}, Codes: []int{429, 500, 502, 503, 504, 529},
		Attempts: 3, Cooldown: time.Minute, Silence: 2 * time.Minute,
	}
}

// A fallbackRun passes events to a policy and records its actions.
type fallbackRun struct {
	policy  FallbackPolicy
	state   fallbackState
	now     time.Time
	cooling map[string]time.Time
	got     []string
	last    []action
}

func newFallbackRun(p FallbackPolicy) *fallbackRun {
	return &fallbackRun{policy: p, now: time.UnixMilli(1_790_000_000_000), cooling: map[string]time.Time{}}
}

// step passes one event, by default a tenth of a second after the event before.
func (r *fallbackRun) step(e fallbackEvent) {
	if e.at.IsZero() {
		r.now = r.now.Add(100 * time.Millisecond)
	} else {
		r.now = e.at
	}
	e.at, e.cooling = r.now, r.cooling
	r.state, r.last = r.policy.step(r.state, e)
	for _, a := range r.last {
		switch a.kind {
		case actCool:
			r.cooling[a.model.Key()] = a.until
			r.got = append(r.got, fmt.Sprintf("cool %s %s", a.model.ModelID, a.until.Sub(r.now).Round(time.Second)))
		case actAbort:
			r.got = append(r.got, "end the turn")
		case actPrompt:
			r.got = append(r.got, "prompt "+a.prompt.Model.ModelID)
		case actToast:
			r.got = append(r.got, "toast: "+strings.ReplaceAll(a.toast.Message, "anthropic/", ""))
		case actModel:
			r.got = append(r.got, "set "+a.model.ModelID)
		default:
			r.got = append(r.got, fmt.Sprintf("action %d", a.kind))
		}
	}
}

// TestFallbackRecorded: in the events of the real OpenCode a prompt to claude-fake fails. The policy aborts the turn if
// it continues, and then sends a prompt to claude-two.
func TestFallbackRecorded(t *testing.T) {
	p := testPolicy()
	p.Codes = append(p.Codes, 401)
	for _, version := range []string{"1.1.53", "1.2.27", "1.18.33"} {
		for kind, want := range map[string][]string{
			"429":             {"cool claude-fake 1m0s", "end the turn", "prompt claude-two", "toast: claude-fake failed: 429. claude-two continues the turn."},
			"529":             {"cool claude-fake 1m0s", "end the turn", "prompt claude-two", "toast: claude-fake failed: 529. claude-two continues the turn."},
			"429-after-write": {"cool claude-fake 1m0s", "end the turn", "prompt claude-two", "toast: claude-fake failed: 429. claude-two continues the turn."},
			"empty":           {"cool claude-fake 1m0s", "end the turn", "prompt claude-two", "toast: claude-fake failed: empty answers. claude-two continues the turn."},
			"401":             {"cool claude-fake 1m0s", "prompt claude-two", "toast: claude-fake failed: 401. claude-two continues the turn."},
		} {
			t.Run(version+"/"+kind, func(t *testing.T) {
				r := newFallbackRun(p)
				f := &fallback{watch: (&fakeAgent{}).watch(), now: func() time.Time { return r.now }}
				var ended bool // the agent reported the end of the failed message
				for n, e := range recordedEvents(t, version+"-"+kind) {
					_, fe, ok := f.decode(e)
					if !ok {
						t.Fatalf("event %d %s is ignored", n, e.Properties)
					}
					if n == 0 { // begin at the time of the recording
						r.now = fe.message.CreationTime()
					}
					fe.at = time.Time{}
					r.step(fe)
					ended = ended || fe.kind == sawAnswer && fe.message.Time.Completed != nil
					if prompts := slices.ContainsFunc(r.last, func(a action) bool { return a.kind == actPrompt }); prompts && (!ended || fe.kind != sawIdle) {
						t.Errorf("event %d: prompts before the turn has ended", n)
					}
				}
				if diff := cmp.Diff(want, r.got); diff != "" {
					t.Errorf("actions (-want +got):\n%s", diff)
				}
				if r.state.phase != phaseNone || len(r.state.failed) != 0 || r.state.prompt.Model.Key() != two.Key() {
					t.Errorf("at the end: %+v", r.state)
				}
			})
		}
	}
}

// recordedEvents returns the events that TestRecordFallback in cmd/mend has recorded under a name.
func recordedEvents(t *testing.T, name string) []live.Event {
	t.Helper()
	return recordedLines[live.Event](t, filepath.Join("testdata", "fallback", name+".jsonl"))
}

// userPrompt returns a prompt of the user or of the policy, the nth message of the session.
func userPrompt(n int, m live.Model) fallbackEvent {
	i := live.Info{ID: fmt.Sprintf("msg_%d", n), Role: "user", Agent: "build", Model: &m}
	i.Time.CreationTime = float64(n)
	return fallbackEvent{kind: sawPrompt, message: i}
}

// answer returns an assistant message that answers the prompt n.
func answer(n int, finish any, e string) fallbackEvent {
	i := live.Info{ID: fmt.Sprintf("msg_%d", n+1), ParentID: fmt.Sprintf("msg_%d", n), Role: "assistant", Finish: finish}
	i.Time.Completed = 1.0
	if e != "" {
		i.Error = json.RawMessage(e)
	}
	return fallbackEvent{kind: sawAnswer, message: i}
}

func retry(text string) fallbackEvent { return fallbackEvent{kind: sawRetry, text: text} }
func failure(e string) fallbackEvent  { return fallbackEvent{kind: sawError, err: json.RawMessage(e)} }

func tool(id, status string) fallbackEvent {
	e := fallbackEvent{kind: sawActivity, part: live.Part{ID: id, MessageID: "msg_2", Type: typeTool}}
	e.part.State.Status = status
	return e
}

// step returns a part without content.
func step(message string) fallbackEvent {
	return fallbackEvent{kind: sawActivity, part: live.Part{ID: "prt_s", MessageID: message, Type: "step-start"}}
}

// text returns a part with content.
func text(message string) fallbackEvent {
	return fallbackEvent{kind: sawActivity, part: live.Part{ID: "prt_t", MessageID: message, Type: "text"}}
}

func (e fallbackEvent) withID(id string) fallbackEvent { e.message.ID = id; return e }

func question(m live.Model, named bool) fallbackEvent {
	return fallbackEvent{kind: sawQuestion, model: m, agent: "build", named: named}
}

func inChild(e fallbackEvent) fallbackEvent { e.child = true; return e }

func eventAfter(r *fallbackRun, d time.Duration, e fallbackEvent) fallbackEvent {
	e.at = r.now.Add(d)
	return e
}

// apiError returns an error of a provider with its status code.
func apiError(code int, text string) string {
	return fmt.Sprintf(`{"name":"APIError","data":{"message":%q,"statusCode":%d}}`, text, code)
}

const (
	aborted    = `{"name":"MessageAbortedError","data":{"message":"The operation was aborted."}}`
	overflowed = `{"name":"ContextOverflowError","data":{"message":"prompt is too long","statusCode":400}}`
)

var (
	limited   = apiError(429, "slow down")
	maxImages = apiError(400, "a request has at most 500 images")

	nowBusy = fallbackEvent{kind: sawBusy}
	nowIdle = fallbackEvent{kind: sawIdle}
)

// abortEvents returns the events after an abort of the prompt n: the end of its answer, without an error.
func abortEvents(n int) []fallbackEvent { return []fallbackEvent{answer(n, nil, ""), nowIdle, nowIdle} }

// switchEvents returns the events of a turn in which model fails and next continues.
func switchEvents(model, next live.Model) []fallbackEvent {
	all := []fallbackEvent{userPrompt(1, model), nowBusy, retry("rate limit")}
	return append(append(all, abortEvents(1)...), userPrompt(3, next), nowBusy)
}

// TestFallback: these events lead to these actions of the policy. Rows with an issue number are complaints about
// oh-my-opencode that do not apply to mend.
func TestFallback(t *testing.T) {
	const toTwo = "toast: claude-fake failed: 429. claude-two continues the turn."
	cool := func(m live.Model) string { return "cool " + m.ModelID + " 1m0s" }
	oneSwitch := []string{cool(fake), "end the turn", "prompt claude-two", toTwo}
	for _, c := range []struct {
		name   string
		policy func(*FallbackPolicy)
		events []fallbackEvent
		then   func(*fallbackRun) // passes more events, which depend on the time
		want   []string
	}{
		{name: "answers without content, for which OpenCode asks again without end (#7133)", events: []fallbackEvent{
			userPrompt(1, fake), text("msg_1"), nowBusy, step("msg_2"), answer(1, "unknown", ""), answer(1, "unknown", ""), step("msg_3"), answer(1, "unknown", "").withID("msg_3"),
			answer(1, "unknown", "").withID("msg_4"), answer(1, nil, "").withID("msg_5"), nowIdle,
		}, want: []string{cool(fake), "end the turn", "prompt claude-two", "toast: claude-fake failed: empty answers. claude-two continues the turn."}},
		{name: "one answer without content ends the turn (#7133)", events: []fallbackEvent{userPrompt(1, fake), nowBusy, step("msg_2"), answer(1, "unknown", ""), nowIdle}, want: []string{
			cool(fake), "prompt claude-two", "toast: claude-fake failed: empty answers. claude-two continues the turn.",
		}},
		{name: "one answer with content ends the turn", events: []fallbackEvent{userPrompt(1, fake), nowBusy, text("msg_2"), answer(1, "unknown", ""), nowIdle}},
		{name: "one answer without content, and an abort of the user", events: []fallbackEvent{userPrompt(1, fake), nowBusy, answer(1, "unknown", ""), answer(1, nil, "").withID("msg_3"), nowIdle}},
		{name: "two answers without content, and one with content", events: []fallbackEvent{userPrompt(1, fake), nowBusy, answer(1, "unknown", ""), answer(1, "unknown", "").withID("msg_3"), text("msg_4"), answer(1, "stop", "").withID("msg_4"), nowIdle}},
		{name: "answers with content and without a finish reason", events: []fallbackEvent{
			userPrompt(1, fake), nowBusy, text("msg_2"), answer(1, "unknown", ""), text("msg_3"), answer(1, "unknown", "").withID("msg_3"), tool("prt_1", "completed"), answer(1, "unknown", "").withID("msg_4"), text("msg_5"), answer(1, "unknown", "").withID("msg_5"),
		}},
		{name: "each prompt restarts the time of silence (#7659)", events: []fallbackEvent{userPrompt(1, fake), nowBusy}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Minute, userPrompt(3, fake)))
			r.step(eventAfter(r, time.Minute+time.Second, fallbackEvent{kind: sawTime}))
			r.step(eventAfter(r, time.Minute, fallbackEvent{kind: sawTime}))
		}, want: []string{cool(fake), "end the turn"}},
		{name: "no failure", events: []fallbackEvent{userPrompt(1, fake), nowBusy, answer(1, "stop", ""), nowIdle}},
		{name: "a retry (#2918, #2681, #2393, #2747, #5435, #3130)", events: switchEvents(fake, two), want: oneSwitch},
		{name: "a text without a code", events: []fallbackEvent{userPrompt(1, fake), retry("Cannot connect to API")}, want: []string{cool(fake), "end the turn"}},
		{name: "an error that ended the turn", events: []fallbackEvent{userPrompt(1, fake), nowBusy, failure(limited), nowIdle, answer(1, nil, limited), nowIdle}, want: []string{cool(fake), "prompt claude-two", toTwo}},
		{name: "an error in the message alone", events: []fallbackEvent{userPrompt(1, fake), nowBusy, answer(1, nil, limited), nowIdle}, want: []string{cool(fake), "prompt claude-two", toTwo}},
		{name: "a prompt before the message has ended would be lost", events: []fallbackEvent{userPrompt(1, fake), nowBusy, failure(limited), nowIdle, nowIdle}, want: []string{cool(fake)}},
		{name: "the end of the turn is not reported", events: []fallbackEvent{userPrompt(1, fake), nowBusy, failure(limited), nowIdle}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, maxPhase, fallbackEvent{kind: sawTime}))
		}, want: []string{cool(fake), "prompt claude-two", toTwo}},
		{name: "the second model fails too, with the same text (#6579)", events: append(switchEvents(fake, two), append([]fallbackEvent{retry("rate limit")}, abortEvents(3)...)...), want: append(slices.Clone(oneSwitch),
			cool(two), "end the turn", "prompt claude-three", "toast: claude-two failed: 429. claude-three continues the turn.")},
		{
			name: "the chain is used up: the turn is not aborted, and the user is told once", policy: func(p *FallbackPolicy) { p.Models = []live.Model{two} },
			events: append(switchEvents(fake, two), retry("rate limit"), retry("rate limit")),
			want:   append(slices.Clone(oneSwitch), cool(two), "toast: claude-two failed: 429. No other model is available. OpenCode tries it again.", cool(two)),
		},
		{
			name: "the chain is used up by an error", policy: func(p *FallbackPolicy) { p.Models = []live.Model{fake} },
			events: []fallbackEvent{userPrompt(1, fake), failure(limited), nowIdle, answer(1, nil, limited), nowIdle},
			want:   []string{cool(fake), "toast: claude-fake failed: 429. No other model is available.", cool(fake)},
		},
		{
			name: "the limit of changes", policy: func(p *FallbackPolicy) { p.Attempts = 1 }, events: append(switchEvents(fake, two), retry("rate limit")),
			want: append(slices.Clone(oneSwitch), cool(two), "toast: claude-two failed: 429. No other model is available. OpenCode tries it again."),
		},
		{name: "the policy's abort comes back as an error and is not the user's (#4006, #6751, #6637, #7362)", events: []fallbackEvent{
			userPrompt(1, fake), nowBusy, retry("rate limit"), nowIdle, failure(aborted), nowIdle, answer(1, nil, aborted), nowIdle, userPrompt(3, two), nowBusy, retry("rate limit"),
		}, want: append(slices.Clone(oneSwitch), cool(two), "end the turn")},
		{name: "an abort of the user", events: []fallbackEvent{userPrompt(1, fake), nowBusy, failure(aborted), nowIdle, answer(1, nil, aborted), nowIdle}},
		{
			name: "a failure after an abort of the user does not lead back to a model that failed (#6751)", events: append(append(switchEvents(fake, two), failure(aborted), answer(3, nil, aborted), nowIdle),
				append([]fallbackEvent{userPrompt(5, two), nowBusy, retry("rate limit")}, abortEvents(5)...)...),
			want: append(slices.Clone(oneSwitch), cool(two), "end the turn", "prompt claude-three", "toast: claude-two failed: 429. claude-three continues the turn."),
		},
		{name: "the user prompts while the turn ends", events: []fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit"), userPrompt(3, fake), answer(1, nil, ""), nowIdle}, want: []string{cool(fake), "end the turn"}},
		{name: "an old prompt is reported again", events: append(switchEvents(fake, two), userPrompt(1, fake), answer(3, "stop", ""), nowIdle), want: oneSwitch},
		{
			name: "equal entries of the chain", policy: func(p *FallbackPolicy) { p.Models = []live.Model{two, two, three} }, events: append(switchEvents(fake, two), retry("rate limit")),
			want: append(slices.Clone(oneSwitch), cool(two), "end the turn"),
		},
		{
			name: "an entry with a variant is the policy's own change, and no model of that name is asked (#6611)", policy: func(p *FallbackPolicy) {
				p.Models = []live.Model{{ProviderID: two.ProviderID, ModelID: two.ModelID, Variant: "high"}, three}
			},
			events: append(switchEvents(fake, two), retry("rate limit")),
			want:   []string{cool(fake), "end the turn", "prompt claude-two", "toast: claude-fake failed: 429. claude-two(high) continues the turn.", cool(two), "end the turn"},
		},
		{name: "the same model with another variant fails too (#6611)", policy: func(p *FallbackPolicy) {
			p.Models = []live.Model{{ProviderID: fake.ProviderID, ModelID: fake.ModelID, Variant: "low"}, two}
		}, events: switchEvents(fake, two), want: oneSwitch},
		{name: "dots and capitals do not make another model (#6668)", policy: func(p *FallbackPolicy) {
			p.Models = []live.Model{{ProviderID: "Anthropic", ModelID: "Claude.Fake"}, two}
		}, events: switchEvents(fake, two), want: oneSwitch},
		{name: "models that the agent does not have (#2295, #3776, #6573)", events: []fallbackEvent{
			userPrompt(1, fake), nowBusy, {kind: sawRetry, text: "rate limit", known: func(m live.Model) bool { return m == three }}, answer(1, nil, ""), nowIdle,
		}, want: []string{cool(fake), "end the turn", "prompt claude-three", "toast: claude-fake failed: 429. claude-three continues the turn."}},
		{
			name: "the chain of the agent", policy: func(p *FallbackPolicy) { p.AgentModels = map[string][]live.Model{"build": {three}} },
			events: append([]fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit")}, abortEvents(1)...),
			want:   []string{cool(fake), "end the turn", "prompt claude-three", "toast: claude-fake failed: 429. claude-three continues the turn."},
		},
		{
			name: "an agent whose chain is empty (#2941)", policy: func(p *FallbackPolicy) { p.AgentModels = map[string][]live.Model{"build": {}} },
			events: []fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit")},
			want:   []string{cool(fake), "toast: claude-fake failed: 429. No other model is available. OpenCode tries it again."},
		},
		{name: "a number in the text is not a code", events: []fallbackEvent{userPrompt(1, fake), failure(maxImages), answer(1, nil, maxImages), nowIdle}},
		{name: "a code that is not listed", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "messages.1: content is not supported by this model"))}},
		{name: "an address that does not exist", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(404, "Not Found"))}},
		{name: "an error of the content that mentions the model", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "This model does not support assistant message prefill."))}},
		{name: "a rejected key", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(401, "invalid x-api-key"))}, want: []string{cool(fake)}},
		{name: "a rejected key, Gemini", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "API key not valid. Please pass a valid API key."))}, want: []string{cool(fake)}},
		{name: "a rejected key, Bedrock", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(403, "The security token included in the request is invalid."))}, want: []string{cool(fake)}},
		{name: "an unknown model, Anthropic", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(404, "model: claude-fake"))}, want: []string{cool(fake)}},
		{name: "an unknown model, OpenAI", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(404, "The model `gpt-0` does not exist or you do not have access to it."))}, want: []string{cool(fake)}},
		{name: "an unknown model, Gemini", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(404, "models/gemini-0 is not found for API version v1beta, or is not supported for generateContent."))}, want: []string{cool(fake)}},
		{name: "an unknown model, OpenRouter", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "a/b is not a valid model ID"))}, want: []string{cool(fake)}},
		{name: "an unknown model, Bedrock", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "The provided model identifier is invalid."))}, want: []string{cool(fake)}},
		{name: "an unknown model, Copilot", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "The requested model is not supported."))}, want: []string{cool(fake)}},
		{name: "a retryable error with a code that is not listed", policy: func(p *FallbackPolicy) { p.Codes = []int{429} }, events: []fallbackEvent{userPrompt(1, fake), failure(`{"name":"APIError","data":{"message":"x","statusCode":500,"isRetryable":true}}`)}},
		{name: "a text of a code that is not listed", policy: func(p *FallbackPolicy) { p.Codes = []int{429} }, events: []fallbackEvent{userPrompt(1, fake), retry("Provider is overloaded"), retry("Internal Server Error")}},
		{name: "a request that is too long", events: []fallbackEvent{userPrompt(1, fake), failure(overflowed)}},
		{name: "an answer with the words of a rate limit", events: []fallbackEvent{userPrompt(1, fake), nowBusy, {kind: sawActivity, part: live.Part{ID: "prt_1", Type: "text", Text: "rate limit: too many requests"}}, answer(1, "stop", ""), nowIdle}},
		{name: "free usage, in the status (#6636)", policy: func(p *FallbackPolicy) { p.Codes = nil }, events: []fallbackEvent{userPrompt(1, fake), retry("Free usage exceeded")}, want: []string{cool(fake), "end the turn"}},
		{name: "a full queue, in the status (#6636)", events: append([]fallbackEvent{userPrompt(1, fake), nowBusy, retry("Streaming response failed: [503] The request queue is full.")}, abortEvents(1)...), want: []string{
			cool(fake), "end the turn", "prompt claude-two", "toast: claude-fake failed: 503. claude-two continues the turn.",
		}},
		{name: "a server's error in a stream (#3799)", events: []fallbackEvent{
			userPrompt(1, fake), failure(`{"name":"UnknownError","data":{"message":"{\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"message\":\"An error occurred while processing your request.\"}}"}}`),
		}, want: []string{cool(fake)}},
		{name: "free usage, in the error", policy: func(p *FallbackPolicy) { p.Codes = nil }, events: []fallbackEvent{userPrompt(1, fake), failure(apiError(402, "Free usage exceeded"))}, want: []string{cool(fake)}},
		{name: "a used-up balance", events: []fallbackEvent{userPrompt(1, fake), failure(apiError(400, "Your credit balance is too low to access the API"))}, want: []string{cool(fake)}},
		{name: "an unknown model", events: []fallbackEvent{userPrompt(1, fake), failure(`{"name":"UnknownError","data":{"message":"Model not found: anthropic/claude-fake."}}`)}, want: []string{cool(fake)}},
		{name: "a provider without a key", events: []fallbackEvent{userPrompt(1, fake), failure(`{"name":"ProviderAuthError","data":{"providerID":"anthropic","message":"x"}}`)}, want: []string{cool(fake)}},
		{name: "a broken stream", events: []fallbackEvent{userPrompt(1, fake), failure(`{"name":"UnknownError","data":{"message":"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"}}`)}, want: []string{cool(fake)}},
		{name: "an error without a cause in the model", events: []fallbackEvent{userPrompt(1, fake), failure(`{"name":"UnknownError","data":{"message":"boom"}}`), failure(`7`), failure(``)}},
		{name: "the provider asks for an hour", events: []fallbackEvent{userPrompt(1, fake), failure(`{"name":"APIError","data":{"message":"x","statusCode":429,"responseHeaders":{"retry-after":"3600"}}}`)}, want: []string{"cool claude-fake 1h0m0s"}},
		{
			name: "a running tool is not interrupted", events: []fallbackEvent{userPrompt(1, fake), nowBusy, tool("prt_1", "running"), tool("prt_2", "running"), retry("rate limit"), tool("prt_1", "completed"), retry("rate limit"), tool("prt_2", "error"), retry("rate limit")},
			want: []string{cool(fake), "end the turn"},
		},
		{name: "a step in which a tool ran is not sent to another model, which would call the tool again", events: []fallbackEvent{
			userPrompt(1, fake), nowBusy, tool("prt_1", "running"), tool("prt_1", "completed"), failure(limited), nowIdle, answer(1, nil, limited), nowIdle, nowIdle,
		}, want: []string{cool(fake), "toast: Failed during a tool call: 429. Check its effects, then send a prompt."}},
		{name: "the step after a tool call is sent to another model", events: []fallbackEvent{
			userPrompt(1, fake), nowBusy, {kind: sawActivity, part: live.Part{ID: "prt_1", MessageID: "msg_0", Type: typeTool}}, failure(limited), nowIdle, answer(1, nil, limited), nowIdle,
		}, want: []string{cool(fake), "prompt claude-two", toTwo}},
		{name: "silence, also of a main session (#4528, #6534)", events: []fallbackEvent{userPrompt(1, fake), nowBusy}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Minute, fallbackEvent{kind: sawActivity}))
			r.step(eventAfter(r, time.Minute+time.Second, fallbackEvent{kind: sawTime}))
			r.step(eventAfter(r, time.Minute, fallbackEvent{kind: sawTime}))
		}, want: []string{cool(fake), "end the turn"}},
		{name: "silence while a tool runs", events: []fallbackEvent{userPrompt(1, fake), nowBusy, tool("prt_1", "running")}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Hour, fallbackEvent{kind: sawTime}))
			r.step(eventAfter(r, time.Second, tool("prt_1", "completed")))
			r.step(eventAfter(r, time.Minute, fallbackEvent{kind: sawTime}))
		}},
		{name: "silence of an idle session", events: []fallbackEvent{userPrompt(1, fake), nowBusy, answer(1, "stop", ""), nowIdle}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Hour, fallbackEvent{kind: sawTime}))
		}},
		{name: "silence is allowed", policy: func(p *FallbackPolicy) { p.Silence = 0 }, events: []fallbackEvent{userPrompt(1, fake), nowBusy}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Hour, fallbackEvent{kind: sawTime}))
		}},
		{name: "the next model is silent, too", events: switchEvents(fake, two), then: func(r *fallbackRun) {
			r.step(eventAfter(r, 2*time.Minute, fallbackEvent{kind: sawTime}))
		}, want: append(slices.Clone(oneSwitch), cool(two), "end the turn")},
		{name: "silence with no model left", policy: func(p *FallbackPolicy) { p.Models = []live.Model{fake} }, events: []fallbackEvent{userPrompt(1, fake), nowBusy}, then: func(r *fallbackRun) {
			r.step(eventAfter(r, 2*time.Minute, fallbackEvent{kind: sawTime}))
		}, want: []string{cool(fake), "toast: claude-fake failed: silent for 2m0s. No other model is available. OpenCode still waits."}},
		{name: "the abort fails", events: []fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit"), {kind: sawFailure}, answer(1, nil, ""), nowIdle}, want: []string{cool(fake), "end the turn"}},
		{
			name: "the prompt fails", events: append(append([]fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit")}, abortEvents(1)...), fallbackEvent{kind: sawFailure}),
			want: append(slices.Clone(oneSwitch), "toast: claude-two did not continue the turn. Send your prompt again."),
		},
		{name: "a subagent is not ended and gets no prompt (#5240)", events: []fallbackEvent{userPrompt(1, fake), nowBusy, inChild(retry("rate limit")), answer(1, "stop", ""), nowIdle}, want: []string{cool(fake)}},
		{
			name: "an agent that ends with its turn", policy: func(p *FallbackPolicy) { p.KeepTurns = true }, events: []fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit"), question(fake, false)},
			want: []string{cool(fake), "set claude-two", "toast: claude-fake failed a short time ago. This prompt goes to claude-two."},
		},
		{name: "the session is deleted", events: []fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit"), {kind: sawDeleted}, answer(1, nil, ""), nowIdle}, want: []string{cool(fake), "end the turn"}},

		{
			name: "a prompt for a model that failed a short time ago", events: append(switchEvents(fake, two), question(fake, true)),
			want: append(slices.Clone(oneSwitch), "set claude-two", "toast: claude-fake failed a short time ago. This prompt goes to claude-two."),
		},
		{name: "a prompt after the cool-down (#3984)", events: append([]fallbackEvent{question(fake, true)}, switchEvents(fake, two)...), then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Minute, question(fake, true)))
		}, want: oneSwitch},
		{name: "a model that the user chooses is used (#5816)", events: append(append([]fallbackEvent{question(fake, true)}, switchEvents(fake, two)...), question(three, true)), want: oneSwitch},
		{name: "a model that the user chooses is used although it failed a short time ago", events: append(append([]fallbackEvent{question(fake, true)}, switchEvents(fake, two)...), question(three, true), question(fake, true)), want: oneSwitch},
		{name: "the policy's own prompt is not changed", events: append(append([]fallbackEvent{userPrompt(1, fake), nowBusy, retry("rate limit")}, abortEvents(1)...), question(two, true)), want: oneSwitch},
		{name: "a prompt without a model stays with the next model", events: append([]fallbackEvent{question(fake, true)}, switchEvents(fake, two)...), then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Minute, question(two, false)))
		}, want: oneSwitch},
		{name: "a prompt without a model returns to the first model, if set", policy: func(p *FallbackPolicy) { p.Restore = true }, events: append([]fallbackEvent{question(fake, true)}, switchEvents(fake, two)...), then: func(r *fallbackRun) {
			r.step(eventAfter(r, time.Second, question(two, false)))
			r.step(eventAfter(r, time.Minute, question(two, false)))
		}, want: append(slices.Clone(oneSwitch), "set claude-fake")},
		{
			name: "a prompt for which no model is left", policy: func(p *FallbackPolicy) { p.Models = []live.Model{two} }, events: append(switchEvents(fake, two), retry("rate limit"), question(fake, true)),
			want: append(slices.Clone(oneSwitch), cool(two), "toast: claude-two failed: 429. No other model is available. OpenCode tries it again."),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := testPolicy()
			if c.policy != nil {
				c.policy(&p)
			}
			r := newFallbackRun(p)
			for _, e := range c.events {
				r.step(e)
			}
			if c.then != nil {
				c.then(r)
			}
			if diff := cmp.Diff(c.want, r.got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestContinuation: the prompt that continues a turn keeps the user's settings (#2621), has the variant of the chain if
// the chain names one, and is not shown as the user's (#4085).
func TestContinuation(t *testing.T) {
	for _, variant := range []string{"", "low"} {
		next := live.Model{ProviderID: "openai", ModelID: "gpt-5", Variant: variant}
		s := fallbackState{next: next, prompt: live.Info{
			ID: "msg_1", Agent: "plan", Model: &fake, Variant: "high", Tools: map[string]bool{"bash": false}, System: "Be brief.", Format: json.RawMessage(`{"type":"text"}`),
		}}
		want := live.Prompt{
			Parts: []live.PromptPart{{Type: "text", Text: continueText, Synthetic: true}}, Agent: "plan", Model: &live.Model{ProviderID: "openai", ModelID: "gpt-5"},
			Variant: map[string]string{"": "high", "low": "low"}[variant], Tools: map[string]bool{"bash": false}, System: "Be brief.", Format: json.RawMessage(`{"type":"text"}`),
		}
		if diff := cmp.Diff(want, s.continuation()); diff != "" {
			t.Errorf("variant %q (-want +got):\n%s", variant, diff)
		}
	}
}

// watchRecorded passes recorded events to the hooks, up to the first event that contains until.
func watchRecorded(t *testing.T, f *fakeAgent, until string) {
	t.Helper()
	h := New(f.watch(), f, Options{Fallback: testPolicy()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { h.Run(ctx); close(done) }()
	for _, e := range recordedEvents(t, "1.18.33-429") {
		if until != "" && strings.Contains(string(e.Properties), until) {
			break
		}
		h.Accept(e)
		synctest.Wait()
	}
	time.Sleep(maxPhase - time.Second)
	cancel()
	<-done
}

// TestFallbackWatch: with the events of the real OpenCode the hooks make these calls.
func TestFallbackWatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fakeAgent)
		want   map[string]int
		toast  string
	}{
		{"continued", func(*fakeAgent) {}, map[string]int{"abort": 1, "prompt": 1, "toast": 1}, "claude-two continues the turn"},
		{"another process of mend was faster", func(f *fakeAgent) {
			newer := live.Message{Info: live.Info{ID: "msg_3", SessionID: "ses_1", Role: "user"}}
			newer.Info.Time.CreationTime = 4_000_000_000_000
			f.messages = []live.Message{newer}
		}, map[string]int{"abort": 0, "prompt": 0, "toast": 0}, ""},
		{"the abort fails", func(f *fakeAgent) { f.errors = map[string]error{"abort": errTest} }, map[string]int{"abort": 1, "prompt": 0, "toast": 0}, ""},
		{"the prompt fails", func(f *fakeAgent) { f.errors = map[string]error{"prompt": errTest} }, map[string]int{"abort": 1, "prompt": 1, "toast": 1}, "Send your prompt again"},
		{"the session stays busy (#5784, #5109)", func(f *fakeAgent) { f.busy = true }, map[string]int{"abort": 1, "prompt": 0, "toast": 1}, "Send your prompt again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeAgent{}
				c.change(f)
				watchRecorded(t, f, `"msg_3"`)
				for verb, n := range c.want {
					if got := f.count(verb); got != n {
						t.Errorf("%s %d times, want %d; did %v", verb, got, n, f.recordedCalls())
					}
				}
				if c.toast != "" && (len(f.toasts) == 0 || !strings.Contains(f.toasts[0].Message, c.toast)) {
					t.Errorf("toasts %+v, want %s", f.toasts, c.toast)
				}
			})
		})
	}
}

// TestFallbackAsks: the policy uses only models that the agent has, if the agent can list them, and does not end the
// turn of a subagent.
func TestFallbackAsks(t *testing.T) {
	for _, c := range []struct {
		name, parent string
		errors       map[string]error
		want         string // the model of the prompt
	}{
		{name: "the agent's models", want: "claude-three"},
		{name: "the agent cannot list them", errors: map[string]error{"models": errTest, "parent": errTest}, want: "claude-two"},
		{name: "a subagent", parent: "ses_0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeAgent{errors: c.errors, models: []live.Model{fake, three}, parent: c.parent}
				watchRecorded(t, f, `"msg_3"`)
				got := ""
				if len(f.prompts) > 0 {
					got = f.prompts[0].Model.ModelID
				}
				if got != c.want || (f.count("abort") > 0) != (c.want != "") {
					t.Errorf("the next model is %q, want %q; calls %q", got, c.want, f.recordedCalls())
				}
			})
		})
	}
}

// TestFallbackPublishes: other plugins get the start and the end of a change of the model.
func TestFallbackPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeAgent{}
		watchRecorded(t, f, "")
		calls := f.recordedCalls()
		start, sent, end := slices.Index(calls, "publish mend.recovery.started ses_1"), slices.Index(calls, "prompt"), slices.Index(calls, "publish mend.recovery.finished ses_1")
		if start < 0 || sent < start || end < sent {
			t.Errorf("calls %q, want the prompt between the events", calls)
		}
	})
}

// TestFallbackToasts: a toast has at most 15 words.
func TestFallbackToasts(t *testing.T) {
	for _, why := range []string{"429", "quota used up", "silent for 2m0s", emptyAnswers} {
		for _, text := range []string{switchedText(fake, why, two), usedUpText(fake, why, true), lostResultsText(why), avoidedText(fake, two), notContinuedText(two)} {
			if n := len(strings.Fields(text)); n > 15 {
				t.Errorf("%q has %d words", text, n)
			}
		}
	}
}
