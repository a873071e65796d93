package schema

// table has a line for each shape: its name, then its fields. The first field of a shape with cases selects the case;
// a line with two names has the fields of one case.
//
// A line that begins with a tab continues the previous line. A field has a name, followed by ! if the agent always
// needs the field and by ~ if the agent needs it only to show the session. Then come its type, optionally the @source
// of a missing value, and after = the value to use without a source.
//
// The types:
//
//	str      a text                 a|b      one of these texts       [T       a list of T
//	name     a text, not empty      msg*     a text with that prefix  {T       an object with values of T
//	num      a number               obj      an object                (shape   an object with the fields of a shape
//	fin      a finite number        any      anything                 input    an object: of a call
//	time     a number, 0 or more    bool     true or false
//	count    a whole number         path     "" or an absolute path   root     an absolute path
//
// A column may have several types: "always" marks one for all versions, and the others are for versions that validate
// records; "list" means that a wrong value breaks only the list of sessions. "json" is a column that is parsed as
// JSON; with "falsy", a value that is false in a JavaScript condition counts as NULL.
const table = `
message: role! user|assistant @role; id any; sessionID any; messageID any
message user: time! (created_time = {}; agent~ str @agent; model~ (prompt_model = {}; summary (summary;
	format (format; system str; tools {bool
created_time: created! time @created
prompt_model: providerID! str @provider; modelID! str @model; variant str
summary: title str; body str; diffs! [(diff = []
diff: file str; patch str; additions! num = 0; deletions! num = 0; status str; before any; after any
format: type! text|json_schema
format text:
format json_schema: schema! obj

message assistant: time! (answer_time = {}; error (error; parentID~ msg* @parent; modelID~ str @model;
	providerID~ str @provider; agent~ str @agent; mode~ str @agent; path! (path = {}; summary bool;
	cost! fin = 0; variant str; finish str; tokens! (tokens = {}
answer_time: created! count @created; completed count
path: cwd~ str @folder = ""; root~ str @folder = ""
tokens: total num; input! num = 0; output! num = 0; reasoning! num = 0; cache! (cache = {}
cache: read! num = 0; write! num = 0

error: name! str
error ProviderAuthError: data! (auth_error = {}
error UnknownError: data! (unknown_error = {}
error MessageOutputLengthError: data! obj = {}
error MessageAbortedError: data! (plain_error = {}
error StructuredOutputError: data! (output_error = {}
error ContextOverflowError: data! (overflow_error = {}
error ContentFilterError: data! (plain_error = {}
error APIError: data! (api_error = {}
retried: name! str
retried APIError: data! (api_error = {}
plain_error: message! str = ""
auth_error: message! str = ""; providerID! str @provider
unknown_error: message! str = ""; ref str
output_error: message! str = ""; retries! count = 0
overflow_error: message! str = ""; responseBody str
api_error: message! str = ""; statusCode count; isRetryable! bool = false; responseHeaders {str;
	responseBody str; metadata {str

part: type str; id any; sessionID any; messageID any
part text: time (span = {}; text! str = ""; synthetic bool; ignored bool; metadata obj
part reasoning: time! (span = {}; text! str; metadata obj
part file: mime! str @mime; filename str; url! str; source (source
part tool: callID! str @call; tool! str = "invalid"; metadata obj; state! (state = {}
part step-start: snapshot str
part step-finish: tokens! (tokens = {}; reason! str = "unknown"; snapshot str; cost! fin = 0
part snapshot: snapshot! str
part patch: hash! str; files! [str = []
part agent: name! str; source (quote
part compaction: auto! bool = false; overflow bool; tail_start_id msg*
part subtask: prompt! str = ""; description! str = ""; agent! str @agent; command str; model (task_model
part retry: attempt! count = 1; time! (retry_time = {}; error! (retried
span: start! count @created; end count
retry_time: created! count @created
task_model: providerID! str; modelID! str
quote: value! str; start! count; end! count

state: status! pending|running|completed|error @status; input! input = {}
state pending: raw! str = ""
state running: title str; metadata obj; time! (running_time = {}
state completed: output! str @no-output; title! str = ""; metadata! obj = {}; time! (completed_time = {};
	attachments [(attachment
state error: error! str @lost; metadata obj; time! (done_time = {}
running_time: start! count @created
done_time: start! count @created; end! count @created
completed_time: start! count @created; end! count @created; compacted count
attachment: id! prt* @file; sessionID! ses* @session; messageID! msg* @message; type! file| = "file"; mime! str;
	filename str; url! str; source (source

source: type! file|resource|symbol; text! (source_text
source file: path! str
source resource: clientName! str; uri! str
source symbol: path! str; name! str; kind! count; range! (range
source_text: value! str; start! num; end! num
range: start! (point; end! (point
point: line! count; character! count

session_row: id! ses*; workspace_id wrk*; parent_id ses*; slug! str = "recovered"; directory! path @folder = "";
	path str; title! str = "Recovered session"; version! str = "1.2.0"; share_url str; summary_additions num;
	summary_deletions num; summary_files num; summary_diffs [(row_diff json always; metadata obj json;
	revert (revert json falsy always (revert_details list; permission [(rule json falsy always; agent str list;
	model (row_model json falsy (row_variant list; time_created! count @created;
	time_updated! count list @updated; time_compacting count; time_archived num; cost! num = 0.0;
	tokens_input! num = 0; tokens_output! num = 0; tokens_reasoning! num = 0; tokens_cache_read! num = 0;
	tokens_cache_write! num = 0
row_diff: additions! fin; deletions! fin; file str; patch str; status added|deleted|modified
revert: messageID! msg*; partID prt*
revert_details: snapshot str; diff str
rule: permission! str; pattern! str; action! allow|deny|ask
row_model: id! name; providerID! name
row_variant: variant str
project_row: worktree! root @folder; vcs git| falsy always; sandboxes! [any json always [str = [];
	commands any json always

session_file: version! str = "1.1.65"; projectID! str @project = ""; directory! str @folder;
	title! str = "Recovered session"; time! (session_time = {}; parentID str; summary obj; share obj;
	revert obj
session_times: time! (session_time = {}
session_time: created! time @created; updated! time @updated
`

// lostResult is the error of a call with a lost result.
const lostResult = "[The stored record of this call was damaged; its result is lost]"

// noOutput is the output of a completed call without an output in its record: some providers refuse an empty output.
const noOutput = "[no output recorded]"
