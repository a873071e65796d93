package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"mend/agent/opencode/render"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
	"mend/repair"
)

// providers are the providers whose rules mend knows, by name.
var providers = []provider.Provider{anthropic.Provider{}, bedrock.Provider{}, chat.Provider{}, gemini.Provider{}, openai.Provider{}}

// Explanations explains all rules: those of the providers, then those of [Rules] that are not.
func Explanations() []repair.Explanation {
	var all []repair.Explanation
	add := func(e repair.Explanation) {
		if !slices.ContainsFunc(all, func(o repair.Explanation) bool { return o.Code == e.Code }) {
			all = append(all, repair.ExplainRule(e))
		}
	}
	for _, p := range providers {
		for _, r := range p.Rules() {
			e := repair.Explanation{Code: r.Code, Provider: p.Name(), Meaning: sentence(r.Text), Words: r.Words()}
			if r.Kind != nil {
				e.Class = r.Kind.Class
			}
			add(e)
		}
	}
	for _, r := range Rules {
		e := explanations[r.Code]
		e.Code, e.Class = r.Code, r.Class
		if class := classExplanations[r.Class]; e.Fix == "" {
			e.Fix, e.Loses = class.Fix, cmp.Or(e.Loses, class.Loses)
		}
		add(e)
	}
	return all
}

// sentence returns the text of a rule as a sentence, unless it begins with a name.
func sentence(text string) string {
	if !strings.HasPrefix(text, "tool_use") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text + "."
}

// explanations are those of faults that no request shows, by the code of the rule.
var explanations = map[string]repair.Explanation{
	render.FailureUnreadable: {
		Meaning: "A record is not JSON, is empty, or cannot be opened. OpenCode fails to read the session.",
		Words:   "Unexpected end of JSON input",
		Example: "A file of zero bytes after a full disk or a power cut.",
	},
	render.FailureField: {
		Meaning: "A field that OpenCode needs to build the request is missing or has the wrong type. OpenCode crashes on it.",
		Words:   `Missing key at [0]["info"]["agent"]`,
		Example: `A completed tool call without "output".`,
	},
	render.FailureClock: {
		Meaning: "An id from before the id clock wrapped on 2026-08-14, or a date in the future. OpenCode considers every new prompt answered and stays silent.",
		Example: "A session of July 2026, opened in OpenCode 1.1 today.",
	},
	render.FailureEndless: {
		Meaning: "An assistant message that sorts after every new prompt, usually because of a date in the future. OpenCode does not see its own answer and asks the model again without end. Providers that refuse a request ending with an assistant message stop it.",
		Example: "A session written while the clock was a year ahead, continued with a GPT model.",
	},
	render.FailureSubtask: {
		Meaning: "A subtask was not run, because OpenCode was stopped or the subtask's agent or model does not exist. OpenCode runs it before it answers the next prompt. It fails if the agent or the model does not exist, and a provider that requires thinking before a call refuses the next request.",
		Example: "A slash command for an agent that was removed.",
		Fix:     "A text with the subtask's prompt replaces it.",
		Loses:   "The subtask, which is not run.",
	},
	render.FailureScreen: {
		Meaning: "A record works in requests, but newer versions of OpenCode cannot show the session.",
		Example: `A tool call whose "state.input" is a text.`,
	},
	render.FailureSession: {
		Meaning: "The session's own record is damaged. OpenCode fails on it, or cannot list any session.",
		Example: "A session row whose permission column is not JSON.",
	},
	"no-session": {
		Meaning: "The session's own record does not exist, only its messages do. OpenCode does not list the session, and answers no prompt in it.",
		Fix:     "Nothing is changed. Restore the record from a backup.",
		Example: "session/PROJECT/ses_….json or the row of the session was deleted, and its messages were not.",
	},
	render.FailureProject: {
		Meaning: "The session belongs to a project that is not in the database, so OpenCode does not list it.",
		Fix:     "The session is moved to the project that has its directory.",
		Loses:   "The id of its former project.",
	},
	render.FailureProjectRow: {
		Meaning: "The row or file of the session's project is damaged, so OpenCode does not start in its folders.",
		Fix:     "The damaged columns are rebuilt.",
	},
	"events": {
		Meaning: "OpenCode 1.18 numbers the events of a session, and the session's counter is lost, damaged, or behind its events. The number of a new event is then taken, and each prompt ends with HTTP 500.",
		Words:   "Unexpected server error. Check server logs for details.",
		Example: "A database that was merged or restored table by table, without event_sequence.",
		Fix:     "The counter is set to the number of the last event.",
		Loses:   "The former value of the counter.",
	},
	"index": {
		Meaning: "A part of the database is damaged that is not of the session, whose rows are whole: an index with which OpenCode reads them, so it stops with an error or shows a part of the session, or an index or a table into which it writes for each prompt, so it answers none.",
		Words:   "SQLiteError: database disk image is malformed",
		Example: "Pages of the database were overwritten, by a disk that failed or a copy made while OpenCode was writing.",
	},
	folderRule: {
		Meaning: "The folder of the session does not exist on this machine, or a file is in its place. OpenCode 1.17.9 and later answer no prompt in the session; older versions do.",
		Words:   "Unexpected server error. Check server logs for details.",
		Example: "A project that was deleted, renamed, or is on a disk that is not mounted; a database that was copied to a machine with another user name.",
	},
	"late-prompt": {
		Meaning: "A prompt without an answer sorts after every new prompt, usually because of a date in the future. OpenCode works on that prompt instead of the new one, and begins again after each step that calls a tool, maybe without end.",
		Example: "A prompt sent while the clock was a day ahead, whose turn failed.",
	},
	"no-result": {
		Meaning: "A tool call in the format of an older tool has no result anywhere in the session.",
		Fix:     "A result that says that the call was cancelled is added.",
		Loses:   "Nothing.",
	},
	"link": {
		Meaning: "A file in a prompt is a link to the web. For each request the provider loads it, or OpenCode does where the provider follows no such link. mend does not try that, so it does not know whether the next prompt works.",
		Words:   "AI_DownloadError: Failed to download https://…",
		Example: `{"type": "file", "mime": "application/pdf", "url": "https://example.com/x.pdf"}`,
		Fix:     "A line of text with the address replaces the file. Only with --latent.",
		Loses:   "The file. The model sees its address, without a password and a query.",
	},
	"name": {
		Meaning: "A record is stored under another id than the one inside it, or under no usable id.",
		Fix:     "Nothing is changed: OpenCode reads the record anyway.",
	},
	"unlisted": {
		Meaning: "OpenCode does not list the session: it is archived, or its folder is of another project now. OpenCode 1.1 then answers no prompt in it either.",
		Fix:     "OpenCode 1.1: the session's record is moved to the project of its folder. Else nothing is changed.",
		Loses:   "The id of its former project.",
	},
	"beside": {
		Meaning: "A file that is not a record is among the records. OpenCode 1.1 reads it as one, and fails or reads one too many.",
		Fix:     "Nothing is changed, since it may be your own file. scan prints the command that moves it away.",
		Example: "part/msg_…/prt_….json.bak, a backup of an editor.",
	},
	"stray": {
		Meaning: "An unexpected file or row is in the place of a record.",
		Fix:     "Nothing is changed. Move it out of the store if nothing needs it.",
	},
	"row": {
		Meaning: "A row of the session is of no form that OpenCode writes: its id is not text, its time is not an integer, or its data is a blob. The session is not examined.",
		Fix:     "Nothing is changed. Put the row right with SQL, then scan again.",
	},
	"listed": {
		Meaning: "The table of sessions has a row without a valid id, so OpenCode cannot list any session.",
		Fix:     "mend cannot change such a row. scan prints the SQL that finds it.",
	},
	"hidden": {
		Meaning: "A file or folder of the session cannot be opened, so its contents are unknown.",
		Fix:     "Nothing is changed. Make it readable, then scan again.",
	},
	"place": {
		Meaning: "Something else is in the place of a folder of records. OpenCode cannot store anything there, and answers no prompt.",
		Fix:     "Nothing is changed. Move it out of the store, and put the folder back if there is a copy of it.",
		Example: "A file message instead of the folder with all messages.",
	},
	"linked": {
		Meaning: "A folder of the session's records is a symbolic link. OpenCode follows it and mend does not, so its contents are unknown.",
		Fix:     "Nothing is changed. Put the folder itself in the place of the link, then scan again.",
	},
}
