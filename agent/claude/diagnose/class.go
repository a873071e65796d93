package diagnose

import (
	"sync"

	"mend/agent/claude/transcript"
	"mend/repair"
)

// Guide explains the findings in a transcript.
func Guide() repair.Guide {
	return table().Guide(
		repair.MissingHistory, repair.ToolResultMissing, repair.ThinkingBlockOrder, repair.EmptyContentMessage,
		repair.InvalidToolCall, repair.InvalidFile, repair.FirstPromptMissing, repair.IncompleteRecord,
		repair.UnreadableRecord,
	)
}

const reportedOnly = "mend does not repair that. mend restore brings back a kept copy, and mend undo " +
	"reverts a repair."

// table has Claude Code's own rules, and its changes to the provider's.
var table = sync.OnceValue(func() *repair.Rules {
	toolName, _ := repair.EngineRule("tool-name")
	return repair.NewRules(map[repair.Class]repair.Explanation{
		repair.MissingFolder: {
			Meaning: "The session's folder does not exist on this machine. Claude Code lists a session only in its " +
				"folder; --resume with its id finds it.",
			Fix: "A repair changes nothing. If the folder was moved or renamed, mend move OLD NEW moves its sessions " +
				"to the new one.",
		},
	},
		repair.Rule{
			Code: ruleBreak, Class: repair.MissingHistory,
			Meaning: "A record names a predecessor that is not in the transcript, so the conversation begins there. A " +
				"record whose predecessor is null begins a conversation on purpose.",
			Example: `"parentUuid": an id that no line has`,
			Fix:     "The record is appended again with the record before it as its predecessor.",
			Loses:   "Nothing.",
		},
		repair.Rule{
			Code: ruleHistory, Class: repair.MissingHistory,
			Meaning: "Messages do not reach the model, in a way that no user has reported: the lines are out of order, two " +
				"records share an id, records are marked as a subagent's, or a compaction has lost its beginning or the ids " +
				"of the messages that it preserved.",
			Example: "a transcript whose lines were sorted, reversed or merged",
			NoFix:   reportedOnly,
		},
		repair.Rule{
			Code: ruleUnread, Class: repair.UnreadableRecord,
			Meaning: "A line contains a complete record that Claude Code does not read, because of the bytes before it. " +
				"Any other line that is not a record is a note.",
			Example: "NUL bytes, a byte order mark or a torn record at the start of the line",
			Fix:     "The record is appended on a line of its own.",
			Loses:   "Nothing.",
		},
		repair.Rule{
			Code: ruleTorn, Class: repair.LostContent,
			Meaning: "A line holds only a part of a prompt, an answer or a result, or a record without its message. Claude " +
				"Code skips it silently.",
			NoFix:   "The rest is not in the file. If mend has kept it: mend restore.",
			Example: "a line that ends in the middle, as after a crash or on a full disk",
		},
		repair.Rule{
			Code: ruleUnknown, Class: repair.UnreadableRecord,
			Meaning: "Records have types that mend does not know. Version " + transcript.Version + " skips them; a newer " +
				"version may send them.",
			NoFix: "None: mend leaves them as they are.",
			Loses: "Nothing.",
		},
		repair.Rule{
			Code: "R22", Class: repair.InvalidFile,
			Meaning: "A document of the type application/pdf is not a PDF.",
			NoFix:   "Claude Code leaves it out by itself.",
		},
		repair.Rule{
			Code: "R23", Class: repair.IncompleteRecord,
			Meaning: "A block, or one of its fields, has a type that the provider does not accept.",
			NoFix:   reportedOnly,
		},
		repair.Rule{
			Code: "R24", Class: repair.InvalidToolCall,
			Why:     toolName.Why,
			Fixes:   toolName.Fixes,
			Meaning: "The name of a tool has characters other than letters, digits, _ and -, or more than 128.",
			Fix:     "The tool gets a name that the provider accepts.",
			Loses:   "The name that the model used.",
			Healed:  "Claude Code 2.1.332 sends the name tool_name_missing where a name is not a string.",
		},
		repair.Rule{Code: "R7", Healed: "Claude Code 2.1.330 tries again without thinking."},
		repair.Rule{Code: "R8", Healed: "Claude Code 2.1.330 tries again without thinking."},
		repair.Rule{Code: "R9", Healed: "Claude Code 2.1.330 tries again without thinking."},
		repair.Rule{Code: "R27", Healed: "Claude Code 2.1.332 replaces that half with U+FFFD everywhere."},
		repair.Rule{
			Code: "R25", Class: repair.IncompleteRecord,
			Meaning: "A block has a field that the provider does not accept.",
			Fix:     "The field is removed.",
			Loses:   "The field.",
		},
		repair.Rule{
			Code: "R26", Class: repair.InvalidFile,
			Meaning: "The documents of the conversation are larger than the 32 MB that a request may have.",
			NoFix:   "mend trim SESSION --hard replaces the largest files with lines of text.",
		},
		repair.Rule{
			Code: ruleBranch, Class: repair.MissingHistory,
			Meaning: "Two processes wrote to the transcript, and only the branch of the last one is sent. A branch that " +
				"you may have left yourself, by going back to an earlier prompt, is a note.",
			Fix:   "The branch in use is linked to the end of the other one. A note is left alone.",
			Loses: "Nothing.",
		},
		repair.Rule{
			Code: ruleUnreadable, Class: repair.UnreadableRecord, Shown: repair.NotLoaded,
			Meaning: "Claude Code finds no prompt and no answer in the transcript, so it does not list the session.",
			Example: "a transcript that is empty, has only NUL bytes, or has only titles and settings",
			NoFix:   "Only a copy helps: mend restore, if mend kept one.",
			Loses:   "Nothing.",
		},
		repair.Rule{
			Code: ruleFolder, Class: repair.MissingFolder, Shown: repair.NoFolder,
			Meaning: "The folder of the session does not exist, so Claude Code does not list the session, and " +
				"--continue does not find it.",
			Example: "a project that was renamed or moved, a worktree that was removed",
			NoFix:   "mend move OLD NEW moves the sessions of a folder to another one.",
			Loses:   "Nothing.",
		},
		repair.Rule{
			Code: ruleSummary, Class: repair.MissingHistory,
			Meaning: "A compaction has no summary, so nothing that was said before it reaches the model.",
			Fix:     "The compaction is removed: the whole history is sent again.",
			Loses:   "Nothing.",
		},
	)
})
