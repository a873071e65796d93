package diagnose

import (
	"fmt"
	"sync"

	"mend/agent/opencode/render"
	"mend/repair"
)

// A finding is a violation of a provider's rule, a failure of the agent, or a problem that a rule of this package finds
// in the records.
type finding = repair.Finding

// IDsBeforeWrap is the class of ids that older versions consider newer than every new id. Only OpenCode's sessions can
// have it.
const IDsBeforeWrap repair.Class = "ids_before_clock_wrap"

// Classes returns the classes of findings that a user can ask for by name.
func Classes() []repair.Class { return append(repair.Classes(), IDsBeforeWrap) }

var classes = map[repair.Class]repair.Explanation{
	IDsBeforeWrap: {
		Tier: repair.Auto,
		Meaning: "The session has ids from before 2026-08-14, when OpenCode's id clock wrapped. Older versions of OpenCode " +
			"then consider every new prompt answered.",
		Fix:   "Messages and their parts get new ids in chronological order, and all references are updated.",
		Loses: "The former ids.",
	},
	repair.HiddenSession: {
		Meaning: "The agent does not list the session, or does not find it: it is archived, belongs to a project entry " +
			"that a newer one replaced, or the agent's index names another path.",
		Fix: "mend restore lists the session again. mend fix does not: to archive a session may be intentional.",
	},
	repair.MissingFolder: {
		Meaning: "The session's folder, or that of its workspace, does not exist on this machine. OpenCode 1.17.9 and " +
			"later answer no prompt in such a session: each ends with HTTP 500.",
		Fix: "If exactly one folder has the same repository, the session is moved to it. Otherwise you decide: mend " +
			"move OLD NEW if the folder was moved or renamed, mkdir if it was deleted. A Windows path on another system " +
			"is emptied.",
	},
}

const (
	notInStore = "A tool call and its result are stored as one, so this happens while the request is built, often " +
		"after a compaction."
	whyLongText = "The text was not made by a tool, so mend does not remove it. To continue without it, fork the " +
		"session before that message."
	endsWithAnswer = "Nothing stored is broken. Send any message in the session."
	unknownBytes   = "Its contents are unknown. Make it readable or restore a backup, then scan again."
)

// rules are the failures of the agent, the rules on records, and OpenCode's additions to rules of the
// engine.
var rules = sync.OnceValue(func() *repair.Rules { return repair.NewRules(classes, rows...) })

// rows has the rules in the order in which their findings are fixed.
var rows = []repair.Rule{
	{Code: "R1", Healed: "OpenCode 1.18.30 sends tool calls after the other blocks of their step."},
	{Code: "R2", NoFix: notInStore},
	{Code: "R6", Healed: "OpenCode 1.15.0 sends the thinking of another model as text."},
	{Code: "R12", Why: why(whyEndsWithAnswer), Fixes: fixes(fixOrder), NoFix: endsWithAnswer},
	{Code: "R16", Fixes: fixes(fixOrder)},
	{Code: "R27", Healed: "OpenCode 1.14.48 replaces that half with U+FFFD in prompts, answers and results, but not in " +
		"the input of a call."},

	{Code: "O1", NoFix: notInStore},
	{Code: "O2", NoFix: notInStore},
	{Code: "O12", NoFix: whyLongText},
	{Code: "O13", Fixes: fixes(fixBareReasoning)},

	{Code: "C1", NoFix: notInStore},
	{Code: "C2", NoFix: notInStore},
	{Code: "C9", NoFix: whyLongText},

	{Code: "G5", NoFix: notInStore},
	{Code: "G6", NoFix: notInStore},
	{Code: "G7", NoFix: "A signature cannot be made. Send one more prompt: then the call needs none."},
	{Code: "G12", Why: why(whyEndsWithAnswer), Fixes: fixes(fixOrder), NoFix: endsWithAnswer},

	{Code: "B1", Fixes: fixes(fixOrder)},

	{
		Code: render.FailureUnreadable, Class: repair.UnreadableRecord, Why: why(whyUnreadable), Fixes: fixes(recordFixes),
		NoFix:   unknownBytes,
		Meaning: "A record is not JSON, is empty, or cannot be opened. OpenCode fails to read the session.",
		Words:   "Unexpected end of JSON input",
		Example: "A file of zero bytes after a full disk or a power cut.",
	},
	{
		Code: render.FailureField, Class: repair.IncompleteRecord, Fixes: fixes(recordFixes),
		Why:     whyRecord("OpenCode crashes on %s: %s."),
		Meaning: "A field that OpenCode needs to build the request is missing or has the wrong type. OpenCode crashes on it.",
		Words:   `Missing key at [0]["info"]["agent"]`,
		Example: `A completed tool call without "output".`,
		Healed:  "OpenCode 1.18.33 answers anyway.",
	},
	{Code: render.FailureMedia, Class: repair.InvalidFile, Healed: "OpenCode 1.15.0 leaves out what is attached to a " +
		"result and is neither an image nor a PDF."},
	{
		Code: render.FailureClock, Class: IDsBeforeWrap, ClassOf: classOf(classOfOrder), Find: find(findLatePrompt),
		Why: why(whyOrder), Fixes: fixes(fixOrder),
		Meaning: "A message sorts after every new prompt: its id is from before the id clock wrapped on 2026-08-14, or it " +
			"is dated in the future. OpenCode considers every new prompt answered and stays silent, asks again without end " +
			"because it does not see its own answer, or works on that message instead of the new prompt.",
		Example: "A session of July 2026, opened in OpenCode 1.1 today; one written while the clock was a year ahead.",
		Healed:  "OpenCode 1.18.15 considers a prompt answered only if an answer names it.",
	},
	{
		Code: render.FailureScreen, Class: repair.IncompleteRecord, Once: true, Fixes: fixes(recordFixes),
		Why:     whyText("Newer versions of OpenCode cannot show the session: %s."),
		NoFix:   "mend does not know this kind of content, and does not change it.",
		Meaning: "A record works in requests, but newer versions of OpenCode cannot show the session.",
		Example: `A tool call whose "state.input" is a text.`,
	},

	{Code: "unfinished", Severity: repair.Latent, Find: find(findUnfinished), NoFix: whyNoCall},
	{Code: "tool-name", Severity: repair.Latent, Find: find(findToolNames)},
	{Code: "order", Find: find(findThinkingOrder)},
	{
		Code: "emptied", Class: repair.LostContent, Severity: repair.Lost, Find: find(findEmptied),
		NoFix: "mend restore brings it back if it was kept. OpenCode answers a prompt, and knows nothing of what was said " +
			"before.",
		Meaning: "No message of the session has a part, though the model answered: everything that was said is gone. " +
			"OpenCode shows empty messages, and answers the next prompt as if it were the first one.",
		Example: "A database that lost the pages of its table of parts, or a tree without its folder part.",
	},
	{
		Code: "salvaged", Class: repair.LostContent, Severity: repair.Lost,
		Meaning: "A salvage could not read some records of the session in the damaged database.",
		Example: "A part on a page that was overwritten, and of which no event has a copy.",
		NoFix: "A repair cannot bring it back. mend restore does, if it was kept. mend forget ID, with the id of the " +
			"salvage, drops the note.",
	},
	{
		Code: "open-summary", Class: repair.IncompleteRecord, Severity: repair.Latent, Find: find(findOpenSummaries),
		Fixes: fixes(fixOpenSummary),
		Meaning: "The summary of a compaction has no `time.completed`. OpenCode 1 sends it anyway. The import of " +
			"OpenCode 2 drops the compaction, and the session then sends all of its history.",
		Example: "A summary that a plugin wrote.",
	},
	{
		Code: "compaction", Class: repair.IncompleteRecord, Severity: repair.Broken, Find: find(findRefusedCompaction),
		Fixes: fixes(fixRefusedCompaction), NoFix: "mend trim SESSION makes its request smaller, with --hard until it fits.",
		Meaning: "The provider refuses the request of a compaction, and OpenCode repeats it before each prompt. If the " +
			"newest answer filled the model's context, OpenCode begins another one after the repair: in opencode.json set " +
			"agent.compaction.model to another model, or compaction.auto to false.",
		Example: "A provider that refuses to summarise a conversation, or a compaction with too small a model.",
	},
	{Code: "nothing", Find: find(findNothing)},
	{
		Code: "name", Class: repair.UnreadableRecord, Find: find(findNames),
		Why:   whyRecord("The id of %s is not usable, or is not the one in its name: %s."),
		NoFix: "OpenCode reads it anyway, so mend does not change it.",
		Meaning: "A record is stored under another id than the one inside it, or under no usable id. A session with such a " +
			"file cannot be opened from the list, and a message without an id has no certain place among the others.",
	},
	{
		Code: render.FailureSession, Class: repair.UnreadableRecord, Severity: repair.Broken, Find: find(findInfo),
		Why:   whyText("The session's own data is damaged (%s). OpenCode fails on it, or cannot list any session."),
		Fixes: fixes(sessionInfoFixes), NoFix: unknownBytes,
		Meaning: "The session's own record is damaged. OpenCode fails on it, or cannot list any session.",
		Example: "A session row whose permission column is not JSON.",
	},
	{
		Code: "no-session", Class: repair.IncompleteRecord, Severity: repair.Broken, Find: find(findLostInfo),
		NoFix: "mend does not rebuild it, because only this record has the session's project, folder and permission rules. " +
			"mend restore brings it back if it was kept.",
		Meaning: "The session's own record does not exist, only its messages do. OpenCode does not list the session, and " +
			"answers no prompt in it.",
		Example: "session/PROJECT/ses_….json or the row of the session was deleted, and its messages were not.",
	},
	{
		Code: render.FailureProject, Class: repair.IncompleteRecord, Severity: repair.Broken,
		Find: find(func(c *simulation) []finding { return c.sessionFinding(c.s.ProjectMissing, c.s.Project) }),
		Why: whyText("The session belongs to the project %q, which is not in the database. OpenCode does not list the " +
			"session, and newer versions cannot continue it."),
		Fixes: fixes(projectFixes), NoFix: "No project in the database has the session's " +
			"directory. Start OpenCode once in that directory, which creates the project, then scan again.",
		Meaning: "The session belongs to a project that is not in the database, so OpenCode does not list it.",
		Fix:     "The session is moved to the project that has its directory.",
		Loses:   "The id of its former project.",
	},
	{
		Code: render.FailureProjectRow, Class: repair.UnreadableRecord,
		Why: whyText("The record of the session's project is damaged (%s), so OpenCode does not start in its folders."),
		NoFix: "mend changes no row or file of a project, which other sessions share. Restore it from a backup, or " +
			"continue in a new session in another folder.",
		Meaning: "The row or file of the session's project is damaged, so OpenCode does not start in its folders.",
	},
	{
		Code: "events", Class: repair.IncompleteRecord, Severity: repair.Broken, Find: find(findEvents),
		NoFix: "To continue in a new session, fork this one (/fork). mend restore brings back an earlier state if it was " +
			"kept.",
		Meaning: "The counter of the session's events is lower than the number of its last event. So the number of a new " +
			"event is taken, and each prompt of OpenCode 1.18 ends with HTTP 500.",
		Words:   "Unexpected server error. Check server logs for details.",
		Example: "A database that was merged or restored table by table, without event_sequence.",
	},
	{
		Code: "index", Class: repair.UnreadableRecord, Severity: repair.Broken,
		Find:  find(func(c *simulation) []finding { return c.sessionFinding(c.s.IndexFault != "", c.s.IndexFault) }),
		NoFix: "mend salvage rebuilds the database. mend changes no session in it before that.",
		Meaning: "A part of the database is damaged, perhaps outside the rows of the session. If OpenCode reads " +
			"that part with the session, or for a new prompt, it stops with an error, or shows only a part of the session.",
		Words:   "SQLiteError: database disk image is malformed",
		Example: "Pages of the database were overwritten, by a disk that failed or a copy made while OpenCode was writing.",
	},
	{
		Code: folderRule, Class: repair.MissingFolder, Shown: repair.NoFolder, Find: find(findFolder), Why: why(whyFolder),
		Fixes: fixes(fixFolder),
		Meaning: "The folder of the session does not exist on this machine, or a file is in its place. OpenCode 1.17.9 and " +
			"later answer no prompt in the session; older versions do.",
		Words: "Unexpected server error. Check server logs for details.",
		Example: "A project that was deleted, renamed, or is on a disk that is not mounted; a database that was copied to " +
			"a machine with another user name.",
	},
	{
		Code: "unlisted", Class: repair.HiddenSession, Shown: repair.Hidden, Find: find(findUnlisted),
		Fixes: fixes(onRestore(unlistedFixes)),
		Meaning: "OpenCode does not list the session: its folder now belongs to another project. OpenCode 1.1 then " +
			"answers no prompt in it either.",
		Fix:   "The session's record is moved to the project of its folder by mend restore.",
		Loses: "The id of its former project.",
	},
	{
		Code: "orphan", Class: repair.HiddenSession, Shown: repair.Hidden,
		Find: find(func(c *simulation) []finding {
			return c.sessionFinding(c.s.ParentMissing && c.s.Parent != "", fmt.Sprintf("The session is a subagent's, and its "+
				"main session %.60s does not exist. OpenCode lists it nowhere.", c.s.Parent))
		}),
		Fixes: fixes(onRestore(orphanFixes)),
		Meaning: "The session of a subagent whose main session does not exist. OpenCode lists such a session only with its " +
			"main session, so it can only be opened by its id.",
		Fix:     "mend restore lists the session as a main session.",
		Loses:   "The id of the main session, which does not exist.",
		Example: "An import of this session alone, or another tool that removed the main session.",
	},
	{
		Code: "archived", Class: repair.HiddenSession, Shown: repair.Archived,
		Find: find(func(c *simulation) []finding {
			return c.sessionFinding(isArchived(c.s), "The session is archived, so OpenCode does not list it.")
		}),
		Fixes:   fixes(onRestore(archivedFixes)),
		Meaning: "The session is archived, so OpenCode does not list it.",
		Loses:   "The time at which it was archived.",
	},
	{
		Code: "left-behind", Class: repair.HiddenSession, Severity: repair.Broken,
		Find: findTakeover(true, "OpenCode 2 has taken over the database, and has not imported the session: it shows "+
			"nothing of it."),
		NoFix: "mend changes nothing in such a database. \"mend scan SESSION --text\" prints the session, \"mend keep\" " +
			"copies it, and OpenCode 1 still opens it.",
		Meaning: "OpenCode 2 has taken over the database, and did not import the session: it imports once, and some " +
			"sessions are left out or were made later.",
		Words: "the session this tab points to no longer exists on this server",
	},
	{
		Code: "taken-over", Class: repair.HiddenSession, Severity: repair.Note, Shown: repair.TakenOver,
		Find:  findTakeover(false, "OpenCode 2 has taken over the database. mend does not judge its copy of the session."),
		NoFix: "mend changes nothing in such a database. The copy that mend reads is from before the import.",
		Meaning: "OpenCode 2 has taken over the database, and has the session in tables of its own, which mend does not " +
			"judge.",
	},
	stray("OpenCode 1.1 reads each file in this folder as part of the session, and fails or reads one too many: %s.",
		repair.Rule{
			Code: "beside",
			Meaning: "A file that is not a record is among the records. OpenCode 1.1 reads it as one, and fails or reads one " +
				"too many.",
			NoFix:   yourFile,
			Example: "part/msg_…/prt_….json.bak, a backup of an editor.",
		}),
	stray("mend cannot use a row of the database (%s): its session is not examined, or OpenCode lists no session "+
		"because of it.", repair.Rule{
		Code: "row",
		NoFix: "mend changes no row that it cannot name in its journal. OpenCode opens every other session by its id " +
			"(opencode --session ID); mend scan prints the ids.",
		Meaning: "OpenCode does not write such a row: its id is not valid, its time is not an integer, or its data " +
			"is a blob. Its session is not examined, and OpenCode may list no session because of it.",
	}),
	stray("Unexpected file at %s (not a session).", repair.Rule{
		Code:    "stray",
		NoFix:   "Not changed. It does no harm.",
		Meaning: "An unexpected file or row is in the place of a record.",
	}),
	stray("The contents here are unknown: %s.", repair.Rule{
		Code:    "hidden",
		NoFix:   "mend could not look inside. Make it readable, then scan again.",
		Meaning: "A file or folder of the session cannot be opened, so its contents are unknown.",
	}),
	stray("OpenCode stores the session in a folder here, and answers no prompt without it: %s.", repair.Rule{
		Code: "place",
		NoFix: "mend does not know what made it, so it leaves it. If you move it away, OpenCode creates the folder again, " +
			"and mend restore brings back the session if it was kept.",
		Meaning: "Something else is in the place of a folder of records. OpenCode cannot store anything there, and answers " +
			"no prompt.",
		Example: "A file message instead of the folder with all messages.",
	}),
	stray("OpenCode follows this link and mend does not, so the contents are unknown: %s.", repair.Rule{
		Code:  "linked",
		NoFix: "mend follows no link in a store, so it does not know whether the session works.",
		Meaning: "A folder of the session's records is a symbolic link. OpenCode follows it and mend does not, so its " +
			"contents are unknown.",
	}),

	{Code: "unavailable", Find: find(findUnavailable)},
}

// findTakeover returns a function that finds a session that a newer generation of OpenCode took over, or did not
// import.
func findTakeover(leftBehind bool, why string) func(*repair.Case) []finding {
	return func(s *repair.Case) []finding {
		c := stateOf(s)
		return c.sessionFinding(c.s.TakenOver && c.s.LeftBehind == leftBehind, why)
	}
}

// find, why, classOf and fixes convert functions of this agent for a [repair.Rule].

func find(f func(*simulation) []finding) func(*repair.Case) []finding {
	return func(s *repair.Case) []finding {
		c := stateOf(s)
		if c.isUnknown() { // only strays are reported
			return nil
		}
		return f(c)
	}
}

func why(f func(*simulation, finding) string) func(*repair.Fault) string {
	return func(x *repair.Fault) string { return f(stateOf(x.Case), x.Finding) }
}

func classOf(f func(*simulation, finding) repair.Class) func(*repair.Fault) repair.Class {
	return func(x *repair.Fault) repair.Class { return f(stateOf(x.Case), x.Finding) }
}

func fixes(f func(*simulation, finding) []repair.Fix) func(*repair.Fault) []repair.Fix {
	return func(x *repair.Fault) []repair.Fix {
		c := stateOf(x.Case)
		all := f(c, x.Finding)
		for i := range all {
			all[i].Whole = all[i].Whole || c.message(x.Ref) == nil
		}
		return all
	}
}

// draftEdit returns an edit of a draft of this agent.
func draftEdit(f func(*draft) error) func(repair.Editor) error {
	return func(d repair.Editor) error { return f(d.(*draft)) }
}
