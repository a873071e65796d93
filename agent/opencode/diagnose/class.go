package diagnose

import "mend/repair"

// The classes of faults that only OpenCode's sessions can have.
const (
	IDsBeforeWrap repair.Class = "ids_before_clock_wrap" // ids that older versions take for newer than every new one
	HiddenSession repair.Class = "hidden_session"        // the agent does not list it
	MissingFolder repair.Class = "missing_folder"        // the session's folder does not exist
)

// Classes returns the classes of faults that a user can ask for by name.
func Classes() []repair.Class {
	return []repair.Class{
		repair.ToolResultMissing, repair.ThinkingBlockOrder, repair.ThinkingDisabledViolation, repair.EmptyContentMessage,
		repair.InvalidToolCall, repair.InvalidFile, repair.FirstPromptMissing, repair.IncompleteRecord, repair.UnreadableRecord, IDsBeforeWrap,
	}
}

// ExplainClass explains a class. An unknown class has only a code.
func ExplainClass(c repair.Class) repair.Explanation {
	if e, ok := classExplanations[c]; ok {
		e.Code = string(c)
		return e
	}
	return repair.ExplainClass(c)
}

var classExplanations = map[repair.Class]repair.Explanation{
	IDsBeforeWrap: {
		Meaning: "The session has ids from before 2026-08-14, when OpenCode's id clock wrapped. Older versions of OpenCode then consider every new prompt answered.",
		Fix:     "Messages and parts get new ids in chronological order, and all references are updated.",
		Loses:   "The former ids.",
	},
	HiddenSession: {
		Meaning: "The agent does not list the session: it is archived, or belongs to a project entry that a newer one replaced.",
		Fix:     "Nothing is changed, because this may be intentional. With OpenCode 1.1 the session's record is moved to the project of its folder, without which no prompt is answered.",
	},
	MissingFolder: {
		Meaning: "The session's folder, or that of its workspace, does not exist on this machine. OpenCode 1.17.9 and later answer no prompt in such a session: each ends with HTTP 500.",
		Fix:     "mend changes no path, since only you know the right one: create the folder again, or export the session and import it where the folder is now. A path of Windows on another system is emptied. If the folder of the session's workspace is missing and its own is not, mend repair takes the session out of the workspace.",
	},
}
