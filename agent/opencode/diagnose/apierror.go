package diagnose

import (
	"sync"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/repair"
)

// ParseAPIError parses an error of a model API or of OpenCode itself: JSON as it is stored or reported, or plain text.
func ParseAPIError(input []byte) repair.APIError { return errorParser().Parse(input) }

// errorParser is made on first use: most runs of the program parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(allErrorTexts()...)
})

func allErrorTexts() []provider.ErrorTexts {
	return []provider.ErrorTexts{
		anthropic.ErrorTexts(), openai.ErrorTexts(), chat.ErrorTexts(), gemini.ErrorTexts(), bedrock.ErrorTexts(), errorTexts,
	}
}

// errorTexts are OpenCode's own errors. Their ranks are relative to the providers' ranks.
var errorTexts = provider.ErrorTexts{
	Kinds: []provider.ErrorKind{
		{
			Rank: 160,
			Any: []provider.Words{
				{"dummy_tool"},
				{"unavailable tool"},
				{"model tried to call unavailable"},
				{"nosuchtoolerror"},
				{"no such tool"},
			},
			Class: repair.UnavailableTool,
			Explanation: "The model called a tool that does not exist. OpenCode stored that as the result of the call. " +
				"Continue; if the model repeats it, go back to before the first such call.",
		},
		{
			Rank: 200,
			Any: []provider.Words{
				{"missing key at"},
				{"invalid string", "must start with", "prt"},
				{"invalid string", "must start with", "msg"},
				{"must start with", `"ses"`},
				{"invalid string", "must start with", "wrk"},
				{"modelmessage[]"},
				{"json.parse(...).map is not a function"},
			},
			Class: repair.IncompleteRecord,
			Explanation: "Something stored in the session lacks a field that OpenCode needs, or has an invalid one. No " +
				"request was sent.",
		},
		{
			Rank:  201,
			Any:   []provider.Words{{"expected a string starting with"}},
			Class: repair.IncompleteRecord,
			Explanation: "Something stored in the session has an id in another format. But if OpenCode got \"dummy\" while it " +
				"started with --continue, nothing stored is broken: open the session by its id, `opencode -s ID`.",
		},
		{
			Rank: 199, // before a missing key
			Any: []provider.Words{
				{"v1 migration failed"},
				{"failed to drain session"},
				{"schemaerror: missing key"},
				{"migration.v1-v2"},
			},
			About: request.AboutStore,
			Explanation: "This is an error of OpenCode 2, which takes over the sessions of version 1 once. mend changes " +
				"nothing in such a store. `mend scan` lists the sessions, and `mend keep` copies them. Version 2 does not import " +
				"a file that `opencode export` of version 1 wrote.",
		},
		{
			Rank:  202,
			Any:   []provider.Words{{"session file is corrupted"}},
			About: request.AboutOther,
			Explanation: "This is an error of GitHub Copilot CLI, whose sessions mend does not read. A line of its file " +
				"events.jsonl is torn.",
		},
		{
			Rank:  204,
			Any:   []provider.Words{{"config file at", "is not valid json"}},
			About: request.AboutService,
			Explanation: "OpenCode cannot read its settings file. Nothing stored in a session is broken. Correct the file " +
				"that the error names.",
		},
		{
			Rank: 205,
			Any: []provider.Words{
				{"unrecognized token '<'", "json"},
				{"unexpected token '<'", "json"},
				{"unexpected token <", "json"},
			},
			About: request.AboutService,
			Explanation: "An HTML page came instead of the provider's answer, usually from a proxy or a wrong address. This " +
				"is not about a stored session. Check the address in the settings, and the network.",
		},
		{
			Rank: 210,
			Any: []provider.Words{
				{"unexpected end of json input"},
				{"json", "unexpected eof"},
				{"syntaxerror: failed to parse json"},
				{"unterminated string in json"},
				{"json parse error: unterminated string"},
				{"json parse error: unrecognized token"},
				{"json parse error: unable to parse json string"},
				{"json parse error: expected '}'"},
				{"json parse error: expected ']'"},
				{"property value in json"},
				{"property name in json"},
				{"property name or '}' in json"},
				{"non-whitespace character after json"},
				{"bad control character in string literal in json"},
			},
			Class: repair.UnreadableRecord,
			Explanation: "Something stored in the session is truncated or empty, and OpenCode fails to read it. No request " +
				"was sent.",
		},
		{
			Rank:  220,
			Any:   []provider.Words{{"failed to download http"}},
			Class: repair.InvalidFile,
			Explanation: "OpenCode must download a linked file before it sends the request, because the provider does not " +
				"follow links, but the download fails. No request was sent.",
		},
		{
			Rank: 230,
			Any: []provider.Words{
				{"database disk image is malformed"},
				{"sqlite_corrupt"},
				{"file is not a database"},
				{"sqlite_notadb"},
				{"malformed database schema"},
				{"database corruption"},
			},
			About: request.AboutStore,
			Explanation: "The error is about OpenCode's whole database, not about one session. Close OpenCode. `mend " +
				"salvage` brings back every row that can be read, into a new database, and keeps the damaged one.",
		},
		{
			Rank:  235,
			Any:   []provider.Words{{"database or disk is full"}, {"sqlite_full"}},
			About: request.AboutStore,
			Explanation: "The disk was full when OpenCode wrote. Free some space: `mend clean` shows what takes the space, " +
				"and `mend clean events` removes OpenCode's second copy of them, up to 96 % of its database. Do not delete the " +
				"database. `mend scan` shows whether a session was damaged.",
		},
		{
			Rank: 240,
			Any: []provider.Words{
				{"database is locked"},
				{"database table is locked"},
				{"database schema is locked"},
				{"sqlite_busy"},
				{"sqlite_locked"},
				{"locktimeouterror"},
				{"failed to execute statement"},
			},
			About: request.AboutStore,
			Explanation: "Another process was writing to OpenCode's database for longer than OpenCode waits. Nothing " +
				"stored is broken. End the process that has the database open, such as another window of OpenCode, " +
				"then send the prompt again.",
		},
		{
			Rank: 245,
			Any: []provider.Words{
				{"readonly database"},
				{"sqlite_readonly"},
				{"unable to open database file"},
				{"sqlite_cantopen"},
			},
			About: request.AboutStore,
			Explanation: "OpenCode may not open or write its database. Often a program that ran as root created the file. " +
				"Make your user the owner of the database, of the files beside it and of their folder, and make them " +
				"writable. Nothing stored is broken.",
		},
		{
			Rank:  250,
			Any:   []provider.Words{{"disk i/o error"}, {"sqlite_ioerr"}, {"sqlite_protocol"}},
			About: request.AboutStore,
			Explanation: "The disk or the network file system failed while OpenCode used its database. Check them first. If " +
				"the database is damaged, `mend salvage` brings back every row that can be read; it reads around what the disk " +
				"cannot.",
		},
		{
			Rank: 255,
			Any: []provider.Words{
				{"failed to run data migrations"},
				{"no such table"},
				{"no such column"},
				{"has no column named"},
				{"duplicate column name"},
				{"table", "already exists", "sql"},
				{"failed to run the query", "alter table"},
				{"failed to run the query", "create table"},
				{"migrations in the database that do not match"},
			},
			About: request.AboutStore,
			Explanation: "The tables of the database are not the ones that this version of OpenCode expects, usually after an " +
				"update or a return to an older version. Run the newest version that used the store. `mend scan` shows whether " +
				"the sessions can be read.",
		},
		{
			Rank: 181,
			Any: []provider.Words{
				{"compaction produced no summary"},
				{"compaction worker returned"},
				{"generate compressed context"},
				{"auto compact failed"},
				{"too large to compact"},
			},
			Class: repair.ContextTooLong,
			Explanation: "The agent could not compact the session: it is too long, or the model gave no summary. Nothing " +
				"stored is broken. `mend trim SESSION` makes the next request smaller and removes nothing; with --hard it also " +
				"sets early turns aside, until a compaction fits again. Or compact it with another model.",
		},
		{
			Rank:  260,
			Any:   []provider.Words{{"string or blob too big"}, {"sqlite_toobig"}, {"sqlite_nomem"}},
			About: request.AboutStore,
			Explanation: "OpenCode loads more of the session at once than it can hold. Continue in a new session; a newer " +
				"version may load this one.",
		},
		{
			Rank:  270, // a log may explain it first
			Any:   []provider.Words{{"unexpected server error. check server logs"}},
			Class: repair.UnreadableRecord,
			Explanation: "OpenCode failed before it sent a request, usually because it cannot read something stored in the " +
				"session. A damaged database, a missing folder or a wrong setting has the same effect: `opencode " +
				"--print-logs` shows which.",
		},
	},
	Tool: `(?:unavailable tool|no such tool)[:\s'"]+([^'".\s]+)`,
}
