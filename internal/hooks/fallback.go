package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mend/internal/live"
)

// A FallbackPolicy continues a turn with another model if its model fails. The zero value
// does nothing.
//
// It ends the turn and sends a prompt that asks the next model to continue. That model gets the conversation with the
// unanswered prompt, its files, and the results of all tools that ran. Nothing is reverted, removed or sent twice.
type FallbackPolicy struct {
	Models      []live.Model            // the models to continue with, best first
	AgentModels map[string][]live.Model // for prompts to some agents, instead of Models
	Codes       []int                   // HTTP status codes that switch to the next model
	Attempts    int                     // changes of the model until the user's next prompt
	Cooldown    time.Duration           // how long a model that failed is not used
	Silence     time.Duration           // how long a model may be silent; 0 means forever
	Restore     bool                    // return to the first model when its cool-down is over
	KeepTurns   bool                    // only choose the models of new prompts
}

// A fallbackState is the policy's state of one session.
type fallbackState struct {
	prompt live.Info  // the newest prompt
	picked live.Model // the model that the user asked for last
	asked  bool       // the agent asks for the model before each prompt, so picked is exact

	phase    fallbackPhase
	next     live.Model // the model that continues the turn
	why      string     // the reason of the failure
	ended    bool       // the message that failed has ended
	deadline time.Time  // when the phase ends without an event

	busy    bool
	active  time.Time // the newest event of the turn
	running []string  // the tool calls that are running
	worker  string    // the newest message with a tool call

	content bool   // the current answer has content
	empty   int    // consecutive answers without content
	last    string // the newest answer without an end

	failed   []live.Model // since the user's newest prompt
	attempts int          // changes since then
	usedUp   bool         // a toast has reported that no model is left
}

// A fallbackPhase is a phase of a change of the model.
type fallbackPhase int

// The phases.
const (
	phaseNone   fallbackPhase = iota
	phaseEnding               // the turn was aborted or failed: wait until it has ended
	phaseSent                 // the prompt for the next model was sent
)

// maxPhase is the longest time to wait for the events that end a phase.
const maxPhase = 10 * time.Second

type fallbackEvent struct {
	kind    fallbackKind
	at      time.Time
	message live.Info       // of sawPrompt, sawAnswer
	err     json.RawMessage // of sawError
	text    string          // of sawRetry: the reason
	next    time.Time       // of sawRetry: when the agent tries again
	part    live.Part       // of sawActivity
	model   live.Model      // of sawQuestion: the model of the prompt
	agent   string          // of sawQuestion
	named   bool            // of sawQuestion: the prompt names the model; otherwise it is the previous prompt's

	cooling map[string]time.Time  // when models that failed can be used again, by [live.Model.Key]
	known   func(live.Model) bool // whether the agent has a model; nil if unknown
	child   bool                  // another session waits for this one
}

// A fallbackKind is the kind of a [fallbackEvent].
type fallbackKind int

// The kinds of events.
const (
	sawPrompt   fallbackKind = iota + 1 // the user or the policy sent a prompt
	sawAnswer                           // an assistant message changed
	sawBusy                             // the agent works in the session
	sawIdle                             // the agent no longer works in the session
	sawError                            // the turn failed
	sawRetry                            // a request failed, and the agent will try it again
	sawActivity                         // a part of an answer changed
	sawTime                             // the time of wakeTime has come
	sawQuestion                         // the agent asks for the model of a prompt
	sawFailure                          // an action failed
	sawNewer                            // the session has a prompt that was not reported yet
	sawDeleted                          // the session was deleted
)

// mayChange reports whether the event may make the policy use another model.
func (e *fallbackEvent) mayChange() bool {
	switch e.kind {
	case sawError, sawRetry, sawTime:
		return true
	case sawAnswer:
		return e.message.HasError()
	default:
		return false
	}
}

// step returns the state after an event, and the actions. If an action fails, the following ones are skipped,
// and the policy gets sawFailure.
func (p *FallbackPolicy) step(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	switch e.kind {
	case sawPrompt:
		return s.handlePrompt(e), nil
	case sawAnswer:
		return p.handleAnswer(s, e)
	case sawBusy:
		if !s.busy {
			s.busy, s.active = true, e.at
		}
	case sawIdle:
		return p.handleIdle(s, e)
	case sawError:
		return p.handleError(s, e, e.err)
	case sawRetry:
		return p.handleRetry(s, e)
	case sawActivity:
		return s.handlePart(e), nil
	case sawTime:
		return p.handleTime(s, e)
	case sawQuestion:
		return p.handleUnsent(s, e)
	case sawFailure:
		return s.actionFailed()
	case sawNewer:
		return s.clearFailures(), nil
	case sawDeleted:
		return fallbackState{}, nil
	}
	return s, nil
}

// wakeTime returns the time at which the policy needs sawTime; the zero time for never.
func (p *FallbackPolicy) wakeTime(s fallbackState) time.Time {
	switch {
	case s.phase != phaseNone:
		return s.deadline
	case s.busy && p.Silence > 0 && len(s.running) == 0:
		return s.active.Add(p.Silence)
	default:
		return time.Time{}
	}
}

// handlePrompt handles a prompt. A user's prompt ends the change in progress.
func (s fallbackState) handlePrompt(e fallbackEvent) fallbackState {
	switch i := e.message; {
	case i.ID == s.prompt.ID: // reported again, with a summary
		s.prompt = i
		return s
	case i.Time.CreationTime < s.prompt.Time.CreationTime: // an older prompt is reported again
		return s
	}
	s.active = e.at
	ownPrompt := s.phase == phaseSent && e.message.Model != nil && e.message.Model.Key() == s.next.Key()
	s.prompt, s.phase = e.message, phaseNone
	if ownPrompt {
		return s
	}
	if m := e.message.Model; m != nil && !s.asked {
		s.picked = *m
	}
	return s.clearFailures()
}

// clearFailures returns the state without the failures of the turn.
func (s fallbackState) clearFailures() fallbackState {
	s.phase, s.failed, s.attempts, s.usedUp, s.empty = phaseNone, nil, 0, false, 0
	return s
}

// handleAnswer handles an assistant message that failed or has ended.
func (p *FallbackPolicy) handleAnswer(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	s.active = e.at
	i := &e.message
	if s.prompt.ID != "" && i.ParentID != "" && i.ParentID != s.prompt.ID || i.Summary == true {
		return s, nil // an answer to an older prompt, or the answer of a compaction
	}
	switch {
	case i.HasError() && !live.IsAbort(i.Error) && i.ID != "" && i.ID == s.worker:
		return s.lostResults()
	case s.phase == phaseEnding:
		s.ended = s.ended || i.HasError() || i.Time.Completed != nil
	case i.HasError():
		s, actions := p.handleError(s, e, i.Error)
		s.ended = s.phase == phaseEnding
		return s, actions
	case i.Finish == finishUnknown:
		return p.handleUnfinished(s, e)
	case i.IsFinished():
		return s.clearFailures(), nil
	}
	return s, nil
}

const (
	finishUnknown = "unknown" // the model gave no reason for ending
	maxEmpty      = 3         // answers in a row without content
	emptyAnswers  = "empty answers"
)

// handleUnfinished handles an answer that the model did not end. The agent then asks the model again, and repeats this
// without limit if the answers have no content.
func (p *FallbackPolicy) handleUnfinished(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	if e.message.ID == s.last { // each answer is reported twice
		return s, nil
	}
	s.last = e.message.ID
	if s.empty++; s.content {
		s.empty = 0
	}
	s.content = false
	if s.empty < maxEmpty {
		return s, nil
	}
	s.empty = 0
	return p.fail(s, e, emptyAnswers, time.Time{}, true)
}

// lostResults handles an error of a message after a tool ran in it. The agent leaves such a
// message out of the next request, so another model would call the tool again.
func (s fallbackState) lostResults() (fallbackState, []action) {
	if s.phase != phaseEnding {
		return s, nil
	}
	s.phase = phaseNone
	return s, []action{showToast(fallbackTitle, lostResultsText(s.why), live.VariantError)}
}

// handleIdle handles the end of a turn. A turn that failed is continued only after the failed message has ended, too:
// the agent loses a prompt that is sent earlier.
func (p *FallbackPolicy) handleIdle(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	s.busy, s.running = false, nil
	var actions []action
	if s.phase == phaseNone && s.empty > 0 { // the agent gave up without an error
		s.empty = 0
		s, actions = p.fail(s, e, emptyAnswers, time.Time{}, false)
		s.ended = true
	}
	if s.phase == phaseEnding && s.ended {
		s, more := s.resume(e.at)
		return s, append(actions, more...)
	}
	return s, actions
}

// resume continues the turn with the next model: it returns the actions that send the prompt and show a toast.
func (s fallbackState) resume(now time.Time) (fallbackState, []action) {
	failed := s.failed[len(s.failed)-1]
	s.phase, s.deadline = phaseSent, now.Add(maxPhase)
	return s, []action{
		{kind: actPrompt, prompt: s.continuation()},
		showToast(fallbackTitle, switchedText(failed, s.why, s.next), live.VariantWarning),
	}
}

// continueText is the prompt that asks another model to continue a turn.
const continueText = "[the model of this turn failed - another model continues it; results of tools above are valid, do not repeat those calls]"

// continuation returns the prompt that continues the turn, with the settings of the unanswered prompt. The agent also
// sends the unanswered prompt to the model.
func (s fallbackState) continuation() live.Prompt {
	i := s.prompt
	model := s.next
	model.Variant = ""
	variant := i.Variant
	if i.Model != nil {
		variant = cmp.Or(variant, i.Model.Variant)
	}
	return live.Prompt{
		Parts: []live.PromptPart{{Type: typeText, Text: continueText, Synthetic: true}},
		Agent: i.Agent, Model: &model, Variant: cmp.Or(s.next.Variant, variant),
		Tools: i.Tools, System: i.System, Format: i.Format,
	}
}

// handleError handles an error that ended the turn.
func (p *FallbackPolicy) handleError(s fallbackState, e fallbackEvent, raw json.RawMessage) (fallbackState, []action) {
	switch {
	case s.phase == phaseEnding: // the agent reports the policy's own abort, or the error again
		return s, nil
	case live.IsAbort(raw):
		return s.clearFailures(), nil
	}
	why, wait := p.reason(raw)
	if why == "" {
		return s, nil
	}
	return p.fail(s, e, why, e.at.Add(wait), false)
}

// handleRetry handles a request that the agent will send again.
func (p *FallbackPolicy) handleRetry(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	s.active, s.busy = e.at, true
	if s.phase != phaseNone || len(s.running) > 0 { // a running tool is not interrupted
		return s, nil
	}
	why := p.reasonOfText(e.text)
	if why == "" {
		return s, nil
	}
	return p.fail(s, e, why, e.next, true)
}

// handlePart handles a change of a part: the model or a tool works.
func (s fallbackState) handlePart(e fallbackEvent) fallbackState {
	s.active = e.at
	if e.part.MessageID != s.prompt.ID && !strings.HasPrefix(e.part.Type, "step-") {
		s.content = true
	}
	if e.part.Type != typeTool {
		return s
	}
	s.worker = e.part.MessageID
	i := slices.Index(s.running, e.part.ID)
	switch running := e.part.State.Status == statusRunning; {
	case running && i < 0:
		s.running = append(slices.Clone(s.running), e.part.ID)
	case !running && i >= 0:
		s.running = slices.Delete(slices.Clone(s.running), i, i+1)
	}
	return s
}

// handleTime handles sawTime, at the time that wakeTime returned.
func (p *FallbackPolicy) handleTime(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	if at := p.wakeTime(s); at.IsZero() || e.at.Before(at) {
		return s, nil
	}
	switch s.phase {
	case phaseEnding: // no event reported the end of the turn
		return s.resume(e.at)
	case phaseSent: // no event reported the prompt
		return s.actionFailed()
	default:
		s.active = e.at
		return p.fail(s, e, whySilent+p.Silence.String(), time.Time{}, true)
	}
}

// whySilent is the beginning of the reason for a failure without an error.
const whySilent = "silent for "

// fail handles a failure of the model. running is set if the turn has not ended. The turn is ended only if there is a
// next model.
func (p *FallbackPolicy) fail(s fallbackState, e fallbackEvent, why string, until time.Time, running bool) (fallbackState, []action) {
	if s.prompt.Model == nil {
		return s, nil
	}
	model := *s.prompt.Model
	if again := e.at.Add(p.Cooldown); until.Before(again) {
		until = again
	}
	actions := []action{{kind: actCool, model: model, until: until}}
	s.failed = append(slices.Clone(s.failed), model)
	if e.child || p.KeepTurns { // a waiting session would mistake the end of the turn for the answer
		return s, actions
	}
	next, ok := p.choose(s, e, s.prompt.Agent)
	switch {
	case ok:
	case s.usedUp:
		return s, actions
	default:
		s.usedUp = true
		return s, append(actions, showToast(fallbackTitle, usedUpText(model, why, running), live.VariantError))
	}
	s.attempts++
	s.phase, s.next, s.why, s.ended, s.deadline = phaseEnding, next, why, false, e.at.Add(maxPhase)
	if running {
		actions = append(actions, action{kind: actAbort})
	}
	return s, actions
}

// choose returns the first model of the chain that has not failed in this turn, is not
// cooling down, and exists.
func (p *FallbackPolicy) choose(s fallbackState, e fallbackEvent, agent string) (live.Model, bool) {
	if s.attempts >= p.Attempts {
		return live.Model{}, false
	}
	i := slices.IndexFunc(p.chain(agent), func(m live.Model) bool {
		failed := slices.ContainsFunc(s.failed, func(f live.Model) bool { return f.Key() == m.Key() })
		return !failed && !e.isCooling(m) && (e.known == nil || e.known(m))
	})
	if i < 0 {
		return live.Model{}, false
	}
	return p.chain(agent)[i], true
}

// chain returns the models to continue with for an agent.
func (p *FallbackPolicy) chain(agent string) []live.Model {
	if models, ok := p.AgentModels[agent]; ok {
		return models
	}
	return p.Models
}

// isCooling reports whether the model failed a short time ago.
func (e *fallbackEvent) isCooling(m live.Model) bool { return e.at.Before(e.cooling[m.Key()]) }

// handleUnsent handles a prompt that was not sent yet. If its model failed recently, another model gets the prompt,
// unless the user has just picked that model.
func (p *FallbackPolicy) handleUnsent(s fallbackState, e fallbackEvent) (fallbackState, []action) {
	if s.phase == phaseSent && e.model.Key() == s.next.Key() {
		return s, nil
	}
	s.asked = true
	before := s.picked
	if e.named || before == (live.Model{}) {
		s.picked = e.model
	}
	if e.named && before != (live.Model{}) && before.Key() != e.model.Key() {
		return s, nil // picked by hand
	}
	if !e.named && p.Restore && e.model.Key() != s.picked.Key() && !e.isCooling(s.picked) && (e.known == nil || e.known(s.picked)) {
		return s, []action{{kind: actModel, model: s.picked}}
	}
	if !e.isCooling(e.model) {
		return s, nil
	}
	fresh := s.clearFailures() // the limits of changes and failures are per turn
	next, ok := p.choose(fresh, e, e.agent)
	if !ok {
		return s, nil
	}
	return s, []action{
		{kind: actModel, model: next},
		showToast(fallbackTitle, avoidedText(e.model, next), live.VariantWarning),
	}
}

// actionFailed handles a failed action: the turn continues without a change of the model.
func (s fallbackState) actionFailed() (fallbackState, []action) {
	sent := s.phase == phaseSent
	s.phase = phaseNone
	if !sent {
		return s, nil
	}
	return s, []action{showToast(fallbackTitle, notContinuedText(s.next), live.VariantError)}
}

// An agentError is an error as the agent reports it.
type agentError struct {
	Name string `json:"name"`
	Data struct {
		Message         string            `json:"message"`
		StatusCode      int               `json:"statusCode"`
		IsRetryable     bool              `json:"isRetryable"`
		ResponseHeaders map[string]string `json:"responseHeaders"`
	} `json:"data"`
}

// reason returns why an error makes the policy use another model, in a word or two, and how long the provider asks to
// wait. It returns "" for all other errors, such as errors caused by the user or by the session's content, and for
// errors with a code that is not listed.
func (p *FallbackPolicy) reason(raw json.RawMessage) (why string, wait time.Duration) {
	var e agentError
	if json.Unmarshal(raw, &e) != nil {
		return "", 0
	}
	if n, err := strconv.Atoi(e.Data.ResponseHeaders["retry-after"]); err == nil && n > 0 {
		wait = min(time.Duration(n)*time.Second, maxCooldown)
	}
	switch e.Name {
	case "ContextOverflowError", "MessageOutputLengthError":
		return "", 0
	case "ProviderModelNotFoundError", "ModelNotFoundError":
		return "model not found", wait
	case "ProviderAuthError", "LoadAPIKeyError", "AI_LoadAPIKeyError":
		return "no API key", wait
	}
	code := e.Data.StatusCode
	switch text := e.Data.Message; {
	case slices.Contains(p.Codes, code):
		return strconv.Itoa(code), wait
	case quotaText().MatchString(text):
		return "quota used up", wait
	case isUnknownModel(code, text):
		return "model not found", wait
	case code == 401, code != 0 && code < 500 && keyText().MatchString(text):
		return "API key rejected", wait
	case code != 0:
		return "", 0
	case e.Data.IsRetryable || codeOfText(text) != 0:
		return p.reasonOfText(text), wait
	default:
		return "", 0
	}
}

// isUnknownModel reports whether an error means that the provider has no such model. Anthropic
// names only the model.
func isUnknownModel(code int, text string) bool {
	if strings.HasPrefix(text, "Model not found") || strings.HasPrefix(text, "ProviderModelNotFoundError") {
		return true
	}
	return code == 404 && strings.HasPrefix(text, "model: ") || code >= 400 && code < 500 && modelText().MatchString(text)
}

// modelText matches other providers' errors about unknown models.
var modelText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(the |requested |selected )*models?[ /:]\S{1,100} (does not exist|(is |was )?not found|is not (available|supported)\b)|is not a valid model\b|` +
		`model identifier is invalid|\bmodel_not_(found|supported)\b|^the (requested|selected) model is not (available|supported)|^(unknown|no such) model\b`)
})

// keyText matches providers' errors about rejected keys that do not have the code 401.
var keyText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(invalid|incorrect|wrong|expired|unknown)[ _-](x-)?api[ _-]?key|api[ _-]?key (is )?(not valid|invalid|expired|incorrect)|security token included in the request is (invalid|expired)`)
})

// maxCooldown limits the time that a provider can ask to wait.
const maxCooldown = 24 * time.Hour

// reasonOfText returns the reason of a failed request that can be repeated, or "" if the code that the text implies is
// not listed.
func (p *FallbackPolicy) reasonOfText(text string) string {
	switch code := codeOfText(text); {
	case quotaText().MatchString(text):
		return "quota used up"
	case code == 0:
		return "request failed"
	case slices.ContainsFunc(sameCodes(code), func(c int) bool { return slices.Contains(p.Codes, c) }):
		return strconv.Itoa(code)
	default:
		return ""
	}
}

// codeTexts find the status code that a text implies, because an agent that reports a retry does not give the code.
var codeTexts = sync.OnceValue(func() []codeText {
	return []codeText{
		{429, regexp.MustCompile(`(?i)rate[ _-]?limit|too many requests|cool(ing)?[ -]?down`)},
		{529, regexp.MustCompile(`(?i)overloaded`)},
		{503, regexp.MustCompile(`(?i)service (is )?(temporarily )?unavailable|temporarily unavailable|request queue is full`)},
		{502, regexp.MustCompile(`(?i)bad gateway`)},
		{504, regexp.MustCompile(`(?i)gateway time-?out`)},
		{500, regexp.MustCompile(`(?i)internal[ _]server[ _]error|\bserver_error\b|error occurred while processing your request`)},
	}
})

type codeText struct {
	code int
	text *regexp.Regexp
}

// codeOfText returns the status code that a text implies, or 0.
func codeOfText(text string) int {
	for _, c := range codeTexts() {
		if c.text.MatchString(text) {
			return c.code
		}
	}
	return 0
}

// sameCodes returns the codes that providers use for the same failure.
func sameCodes(code int) []int {
	if code == 529 || code == 503 {
		return []int{503, 529}
	}
	return []int{code}
}

// quotaText matches errors of a provider that will not answer for a longer time.
var quotaText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)quota.?exceeded|exceeded.{0,40}quota|usage quota|subscription.?(quota|limit)|insufficient.?(quota|balance|funds?|credits?)|` +
		`billing.?(hard.?)?limit|exhausted your capacity|resource.?exhausted|out of credits?|credits? exhausted|payment.?required|usage.?(limit|exceeded)|` +
		`credit balance.{0,20}too low|limit exhausted|` +
		`使用上限|达到.*限制|额度.*不足|余额.*不足|已耗尽`)
})

const fallbackTitle = "Model fallback"

func switchedText(failed live.Model, why string, next live.Model) string {
	return fmt.Sprintf("%s failed: %s. %s continues the turn.", failed, why, next)
}

func usedUpText(failed live.Model, why string, running bool) string {
	text := fmt.Sprintf("%s failed: %s. No other model is available.", failed, why)
	switch {
	case !running:
		return text
	case strings.HasPrefix(why, whySilent):
		return text + " OpenCode still waits."
	default:
		return text + " OpenCode tries it again."
	}
}

func avoidedText(avoided, next live.Model) string {
	return fmt.Sprintf("%s failed a short time ago. This prompt goes to %s.", avoided, next)
}

func lostResultsText(why string) string {
	return fmt.Sprintf("Failed during a tool call: %s. Check its effects, then send a prompt.", why)
}

func notContinuedText(next live.Model) string {
	return fmt.Sprintf("%s did not continue the turn. Send your prompt again.", next)
}
