package diagnose

import (
	"slices"

	"mend/agent/opencode/render"
	"mend/repair"
	"mend/session"
)

// A Rule is one kind of fault: what it is called, how it is told, what fixes it.
type Rule struct {
	// Code is that of the provider's rule (docs/providers.md), of what ends
	// the agent (package render), or a word for what the records alone show.
	Code  string
	Class repair.Class
	// Asked says that the fault is looked for only where its class is asked for,
	// by name or by an API error: nothing that mend can see shows it.
	Asked bool

	find     func(*simulation) []fault // what the request does not show
	severity repair.Severity           // of what find finds; zero for what the fault says, or a [Note]
	first    bool                      // it is fixed before what the request shows, which may come of it
	class    func(*simulation, fault) repair.Class
	why      func(*simulation, fault) string
	fixes    func(*simulation, fault) []fix // the one that loses least first
	noFix    string                         // why there may be none, and what the user can do
}

// Rules are all rules: those of the provider, by number, what ends the agent, and
// what is found in the records.
var Rules = []Rule{
	{Code: "R1", Class: repair.ToolResultMissing, class: classOfBetween, why: whyLostCall, fixes: fixLostCall},
	{Code: "R2", Class: repair.ToolResultMissing, why: always("The result of a tool call goes out without the call right before it."), noFix: notInStore},
	{Code: "R3", Class: repair.ThinkingBlockOrder, why: always("The newest answer is in an open tool loop and does not start with thinking, as the provider wants it while the model thinks."), fixes: fixLoopStart},
	{Code: "R4", Class: repair.ThinkingDisabledViolation, why: always("The newest answer is in an open tool loop and holds thinking, which the provider refuses while thinking is off."), fixes: fixLoopThinking},
	{Code: "R5", Class: repair.EmptyContentMessage, why: whyBlank, fixes: fixBlank},
	{Code: "R6", Class: repair.EmptyContentMessage, why: always("Nothing of the message is left in the request, and the provider takes no message without content."), fixes: fixEmptyTurn},
	{Code: "R9", Class: repair.ThinkingSignature, why: always("Thinking goes out without a signature, and the provider takes none like that."), fixes: fixThinking},
	{Code: "R10", Class: repair.ThinkingBlockOrder, class: classOfLast, why: whyLast, fixes: fixLast},
	{Code: "R11", Class: repair.EmptyContentMessage, why: whyBlank, fixes: fixBlank},
	{Code: "time", Class: repair.IncompleteRecord, find: findTimes, first: true, why: whyTime, fixes: fixTimes},
	{Code: "R12", Class: repair.AssistantPrefillUnsupported, why: whyEndsWithAnswer, fixes: fixLateAnswer, noFix: "Nothing in the store is broken: send any message in the session."},
	{Code: "R13", Class: repair.InvalidToolCall, why: whyCallID, fixes: fixCallID},
	{Code: "R14", Class: repair.InvalidToolCall, why: always("The input of the call is no object, and the provider takes nothing else."), fixes: fixInput},
	{Code: "R15", Class: repair.InvalidFile, why: whyFile, fixes: fixFile},
	{Code: "R16", Class: repair.FirstPromptMissing, why: always("The conversation starts with an answer: its first prompt is lost, and the provider wants one first."), fixes: fixFirstPrompt},
	{Code: "R17", Class: repair.InvalidToolCall, why: always("An earlier call has the same id, and the provider wants every id once."), fixes: fixCallID},

	{Code: render.FailureUnreadable, Class: repair.UnreadableRecord, why: whyUnreadable, fixes: withFacts(salvageFixes), noFix: unknownBytes},
	{Code: render.FailureField, Class: repair.IncompleteRecord, why: whyField, fixes: withFacts(completeFixes)},
	{Code: render.FailureMedia, Class: repair.InvalidFile, why: whyFile, fixes: fixFile},
	{Code: render.FailureClock, Class: repair.IDsBeforeWrap, class: classOfClock, why: whyClock, fixes: fixClock},
	{Code: render.FailureScreen, Class: repair.IncompleteRecord, why: whyScreen, fixes: withFacts(completeFixes), noFix: "The kind of record is not one that mend knows; it is left as it is."},

	{Code: "unfinished", Class: repair.ToolResultMissing, severity: repair.Latent, find: findUnfinished, why: whyUnfinished, fixes: fixUnfinished, noFix: whyNoCall},
	{Code: "no-result", Class: repair.ToolResultMissing, severity: repair.Latent, find: findLostResults, why: whyLostResult, fixes: fixLostResult, noFix: whyNoCall},
	{Code: "tool-name", Class: repair.InvalidToolCall, severity: repair.Latent, find: findToolNames, why: whyToolName, fixes: fixToolName},
	{Code: "order", Class: repair.ThinkingBlockOrder, find: findThinkingOrder, why: whyOrder, fixes: fixOrder},
	{Code: "nothing", Class: repair.EmptyContentMessage, find: findNothing, why: whyNothing, fixes: fixEmptyTurn},
	{Code: "name", Class: repair.UnreadableRecord, find: findNames, why: whyDefect, noFix: "The agent reads it all the same, so it is left as it is."},
	{Code: render.FailureSession, Class: repair.UnreadableRecord, severity: repair.Broken, find: findInfo, why: whyDefect, fixes: withFacts(sessionInfoFixes), noFix: unknownBytes},
	{Code: render.FailureProject, Class: repair.IncompleteRecord, severity: repair.Broken, find: findLostProject, why: whyLostProject, fixes: withSessionOnly(projectFixes), noFix: "No project of the database has the session's directory: start the agent once in that directory, which makes one, and scan again."},
	{Code: render.FailureProjectRow, Class: repair.UnreadableRecord, why: whyProjectRow, fixes: withFacts(projectRowFixes)},
	{Code: "unlisted", Class: repair.HiddenSession, find: findUnlisted, why: func(_ *simulation, f fault) string { return f.Says }, noFix: "It is left as it is, since that may be meant: nothing in the session is wrong, and mend works on it all the same."},
	{Code: "beside", Class: repair.ForeignFile, find: findFiles, why: whyBeside, fixes: fixBeside},
	{Code: "stray", Class: repair.UnreadableRecord, find: findStrays, why: whyStray, noFix: "It is left as it is: look at it, and move it out of the store if nothing needs it."},
	{Code: "listed", Class: repair.UnreadableRecord, severity: repair.Broken, find: findListed, why: whyStray, noFix: "No plan can name the row. While no agent runs, look at it with SQL (SELECT rowid, * FROM session WHERE typeof(id) <> 'text' OR substr(id, 1, 3) <> 'ses'), and delete it or give it an id that begins with ses."},
	{Code: "hidden", Class: repair.UnreadableRecord, severity: repair.Broken, find: findHidden, why: whyStray, noFix: "Nothing in it was looked at: make it readable, and scan again."},

	{Code: "thinking", Class: repair.ThinkingDisabledViolation, Asked: true, severity: repair.Latent, find: findThinking, why: whyThinking, fixes: fixThinkingOff},
	{Code: "R7", Class: repair.ThinkingSignature, Asked: true, severity: repair.Latent, find: findSent, why: always("The provider does not take the signature of this thinking, and a signature cannot be made."), fixes: fixThinking},
	{Code: "R8", Class: repair.ThinkingBlockModified, Asked: true, severity: repair.Latent, find: findSent, why: always("The thinking is not what the provider signed, and cannot be made good."), fixes: fixThinking},
	{Code: "encrypted", Class: repair.EncryptedReasoning, Asked: true, severity: repair.Latent, find: findEncrypted, why: always("The encrypted reasoning was issued to another account or key, and only that one can use it."), fixes: fixEncrypted},
	{Code: "image", Class: repair.InvalidFile, Asked: true, severity: repair.Latent, find: findSentFiles, why: whyFile, fixes: fixFile},
	{Code: "unavailable", Class: repair.UnavailableTool, Asked: true, severity: repair.Latent, find: findUnavailable, why: whyUnfinished, fixes: fixUnfinished},
}

const (
	notInStore   = "A call and its result are one record, so this comes about while the request is made, often by a compaction."
	unknownBytes = "What it holds is not known: make it readable, or put a copy from a backup in its place, and scan again."
)

// ruleOf returns the rule with that code.
func ruleOf(code string) *Rule {
	if i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Code == code }); i >= 0 {
		return &Rules[i]
	}
	return &Rule{Code: code, why: func(_ *simulation, f fault) string { return f.Says }}
}

// always returns a why that is always the same.
func always(sentence string) func(*simulation, fault) string {
	return func(*simulation, fault) string { return sentence }
}

// eachPart calls f for every part of the session that can be read.
func (c *simulation) eachPart(f func(m *session.Message, p *session.Part)) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		for j := range m.Parts {
			if !m.Parts[j].Malformed() {
				f(m, &m.Parts[j])
			}
		}
	}
}

// withSessionOnly is for fixes that need no more than the session.
func withSessionOnly(f func(*session.Session, fault) []fix) func(*simulation, fault) []fix {
	return func(c *simulation, at fault) []fix { return f(c.s, at) }
}

// withFacts is for fixes that also need what damaged records still tell: for messages
// what those tell that were completed before them, too.
func withFacts(f func(*facts, fault) []fix) func(*simulation, fault) []fix {
	return func(c *simulation, at fault) []fix {
		if c.draftFacts != nil && at.Ref.Kind == session.KindMessage {
			return f(c.draftFacts, at)
		}
		return f(c.known(), at)
	}
}
