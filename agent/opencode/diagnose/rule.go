package diagnose

import (
	"cmp"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/repair"
)

// A Rule is one kind of fault: its name, how it is found and described, and its fixes.
type Rule struct {
	// Code is the code of the provider's rule (docs/providers.md) or of a failure of the
	// agent (package render), or a word for what is found in records.
	Code  string
	Class repair.Class // "" for a rule that the engine has, see [repair.ClassOf]
	// Asked says that the rule runs only if its class is asked for, by name or by an API
	// error, because nothing in the store shows the fault.
	Asked bool

	find     func(*simulation) []fault // finds faults in records; nil for those of the request
	severity repair.Severity           // of the faults of find; zero for that of the fault itself, or else a [Note]
	class    func(*simulation, fault) repair.Class
	why      func(*simulation, fault) string // nil if the engine says it, see [repair.RemedyOf]
	// fixes are those that are the agent's own, the one that loses least first. Those of the engine
	// follow.
	fixes func(*simulation, fault) []fix
	noFix string // why there may be no fix, and what the user can do
}

// Rules are the failures of the agent, the rules on records, and those rules of the providers of
// which the agent knows more than the engine does.
var Rules = []Rule{
	{Code: "R2", noFix: notInStore},
	{Code: "R6", fixes: completeMessage},
	{Code: "R9", fixes: bedrockFixes},
	{Code: "R10", fixes: completeMessage},
	{Code: "R12", why: whyEndsWithAnswer, fixes: fixLateAnswer, noFix: endsWithAnswer},
	{Code: "R16", fixes: firstPromptFixes},

	{Code: "O1", noFix: notInStore},
	{Code: "O2", noFix: notInStore},
	{Code: "O12", noFix: whyLongText},
	{Code: "O13", fixes: fixBareReasoning},

	{Code: "C1", fixes: fixProviderCalls, noFix: notInStore},
	{Code: "C2", noFix: notInStore},
	{Code: "C6", fixes: completeMessage},
	{Code: "C9", noFix: whyLongText},
	{Code: "V1", fixes: completeMessage},

	{Code: "G2", fixes: completeMessage},
	{Code: "G5", noFix: notInStore},
	{Code: "G6", fixes: fixProviderCalls, noFix: notInStore},
	{Code: "G7", noFix: "A signature cannot be made. Send one more prompt: then the call needs none."},
	{Code: "G12", why: whyEndsWithAnswer, fixes: fixLateAnswer, noFix: endsWithAnswer},

	{Code: "B1", fixes: firstPromptFixes},
	{Code: "B3", fixes: completeMessage},
	{Code: "B8", fixes: fixProviderCalls},
	{Code: "B11", fixes: completeMessage},

	{Code: render.FailureUnreadable, Class: repair.UnreadableRecord, why: whyUnreadable, fixes: withFacts(salvageFixes), noFix: unknownBytes},
	{Code: render.FailureField, Class: repair.IncompleteRecord, why: whyField, fixes: withFacts(completeFixes)},
	{Code: render.FailureMedia, Class: repair.InvalidFile},
	{Code: render.FailureClock, Class: IDsBeforeWrap, class: classOfClock, why: whyClock, fixes: fixClock},
	{Code: render.FailureEndless, Class: IDsBeforeWrap, class: classOfClock, why: whyEndless, fixes: fixLateAnswer},
	{Code: render.FailureSubtask, Class: repair.ToolResultMissing, find: findSubtasks, why: whySubtask, fixes: fixSubtasks},
	{Code: render.FailureScreen, Class: repair.IncompleteRecord, why: whyScreen, fixes: withFacts(completeFixes), noFix: "mend does not know this kind of record, and does not change it."},

	{Code: "late-prompt", Class: IDsBeforeWrap, class: classOfClock, severity: repair.Latent, find: findLatePrompt, why: whyLatePrompt, fixes: fixClock},
	{Code: "unfinished", severity: repair.Latent, find: findUnfinished, noFix: whyNoCall},
	{Code: "no-result", Class: repair.ToolResultMissing, severity: repair.Latent, find: findLostResults, why: whyLostResult, fixes: fixLostResult, noFix: whyNoCall},
	{Code: "link", Class: repair.InvalidFile, severity: repair.Latent, find: findWebLinks, why: whyWebLink, fixes: fixWebLink},
	{Code: "tool-name", severity: repair.Latent, find: findToolNames},
	{Code: "order", find: findThinkingOrder},
	{Code: "nothing", find: findNothing, fixes: completeMessage},
	{Code: "name", Class: repair.UnreadableRecord, find: findNames, why: whyDefect, noFix: "OpenCode reads the record anyway, so mend does not change it."},
	{Code: render.FailureSession, Class: repair.UnreadableRecord, severity: repair.Broken, find: findInfo, why: whyDefect, fixes: withFacts(sessionInfoFixes), noFix: unknownBytes},
	{Code: "no-session", Class: repair.IncompleteRecord, severity: repair.Broken, find: findLostInfo, why: always("The session's own record does not exist, only its messages do. OpenCode does not list the session, and answers no prompt in it."), noFix: "mend does not create the record, because the session's project, folder and permission rules are in it alone. Restore session/PROJECT/ID.json, or the row of the table session, from a backup, then scan again. If the session was deleted, \"mend repair --orphans\" moves what is left of it into the journal."},
	{Code: render.FailureProject, Class: repair.IncompleteRecord, severity: repair.Broken, find: findLostProject, why: whyLostProject, fixes: withSessionOnly(projectFixes), noFix: "No project in the database has the session's directory. Start OpenCode once in that directory, which creates the project, then scan again."},
	{Code: render.FailureProjectRow, Class: repair.UnreadableRecord, why: whyProjectRow, fixes: withFacts(projectRowFixes)},
	{Code: "events", Class: repair.IncompleteRecord, find: findEvents, why: whyEvents, fixes: withSessionOnly(eventFixes), noFix: "The number of the last event is too large to count on from it. To continue in a new session, fork this one (/fork)."},
	{Code: "index", Class: repair.UnreadableRecord, severity: repair.Broken, find: findIndexFault, why: func(_ *simulation, f fault) string { return f.Text }, noFix: "The database must be rebuilt, and mend changes nothing before that. \"mend scan\" says how."},
	{Code: folderRule, Class: MissingFolder, find: findFolder, why: whyFolder, fixes: fixFolder},
	{Code: "unlisted", Class: HiddenSession, find: findUnlisted, why: func(_ *simulation, f fault) string { return f.Text }, fixes: withSessionOnly(unlistedFixes), noFix: "Not changed, because this may be intentional. The session itself is fine, and mend can still repair it."},
	strayRule("beside", "OpenCode 1.1 reads each file in this folder as a record, and fails or reads one too many: %s.", ""),
	strayRule("row", "The session is not examined, because mend cannot use one of its rows (%s).", "OpenCode writes no such row. While OpenCode is not running, look at the row with SQL: give it the id, the time and the data that it should have, or delete it. Then scan again."),
	strayRule("stray", "Unexpected file at %s (not a session record).", "Not changed. Look at it, and move it out of the store if nothing needs it."),
	strayRule("listed", "The table of sessions has a row without a valid id (%s), so OpenCode cannot list any session.", "mend cannot change this row, because it has no usable id. While OpenCode is not running, look at the row with SQL (SELECT rowid, * FROM session WHERE typeof(id) <> 'text' OR substr(id, 1, 3) <> 'ses'), then delete it or give it an id that begins with ses."),
	strayRule("unnamed", "A session is not examined, because mend cannot use its id (%s).", "An id has ASCII letters, digits, _, - and . alone, and begins with a letter or a digit. If OpenCode cannot continue the session, give its rows in session, message and part another session id with SQL, while OpenCode is not running; then scan again."),
	strayRule("hidden", "The contents here are unknown: %s.", "mend could not look inside. Make it readable, then scan again."),
	strayRule("place", "OpenCode stores records in a folder here, and answers no prompt without it: %s.", "Move it out of the store by hand, and put the folder back if there is a copy of it. Without one OpenCode makes an empty folder. Then scan again."),
	strayRule("linked", "OpenCode follows this link and mend does not, so the contents are unknown: %s.", "mend follows no link in a store. Put the folder itself in the place of the link, then scan again."),

	{Code: "thinking", Asked: true, severity: repair.Latent, find: findThinking},
	{Code: "R7", Asked: true, severity: repair.Latent, find: findSent(repair.ThinkingSignature), fixes: bedrockFixes},
	{Code: "R8", Asked: true, severity: repair.Latent, find: findSent(repair.ThinkingBlockModified), fixes: bedrockFixes},
	{Code: "encrypted", Asked: true, severity: repair.Latent, find: findEncrypted},
	{Code: "item", Asked: true, severity: repair.Latent, find: findItems},
	{Code: "reasoning", Asked: true, severity: repair.Latent, find: findMissingReasoning},
	{Code: "image", Asked: true, severity: repair.Latent, find: findSentFiles},
	{Code: "unavailable", Asked: true, severity: repair.Latent, find: findUnavailable},
}

const (
	notInStore     = "A tool call and its result are one record, so this happens while the request is built, often after a compaction."
	whyLongText    = "The text was not made by a tool, so mend does not remove it. To continue without it, fork the session before that message."
	endsWithAnswer = "Nothing stored is broken. Send any message in the session."
	unknownBytes   = "Its contents are unknown. Make it readable or restore a backup, then scan again."
)

// baseClass returns the class of the rule's findings, if they do not have others.
func (r *Rule) baseClass() repair.Class { return cmp.Or(r.Class, repair.ClassOf(r.Code)) }

// ruleOf returns the rule with that code.
func ruleOf(code string) *Rule {
	if i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Code == code }); i >= 0 {
		return &Rules[i]
	}
	return &Rule{Code: code}
}

// always returns a function that always returns why.
func always(sentence string) func(*simulation, fault) string {
	return func(*simulation, fault) string { return sentence }
}

// eachPart calls f for every readable part of the session.
func (c *simulation) eachPart(f func(m *record.Message, p *record.Part)) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		for j := range m.Parts {
			if !m.Parts[j].Malformed() {
				f(m, &m.Parts[j])
			}
		}
	}
}

// withSessionOnly adapts a function that needs only the session.
func withSessionOnly(f func(*record.Session, fault) []fix) func(*simulation, fault) []fix {
	return func(c *simulation, at fault) []fix { return f(c.s, at) }
}

// withFacts adapts a function that also needs the facts of damaged records.
func withFacts(f func(*facts, fault) []fix) func(*simulation, fault) []fix {
	return func(c *simulation, at fault) []fix { return f(c.known(), at) }
}
