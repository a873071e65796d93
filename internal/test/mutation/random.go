package mutation

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Random returns one to three random mutations of a healthy store.
func Random(r *rand.Rand, s *Store) []Mutation {
	n := 1
	if r.IntN(12) == 0 {
		n = 2 + r.IntN(2)
	}
	pairs := []string{s.Session, "{session}"}
	for _, table := range []string{"message", "part"} {
		for i, rec := range s.Records[table] {
			pairs = append(pairs, rec.ID, fmt.Sprintf("{%s %d}", table, i))
		}
	}
	ids := strings.NewReplacer(pairs...)
	var all []Mutation
	for len(all) < n {
		m := s.random(r)
		for i := range m {
			m[i] = ids.Replace(m[i])
		}
		all = append(all, m)
	}
	return all
}

func (s *Store) random(r *rand.Rand) Mutation {
	switch n := r.IntN(100); {
	case n < 6:
		return s.randomText(r)
	case n < 18:
		return s.randomChange(r)
	case n < 21 && s.db == nil:
		return s.randomPlace(r)
	case n < 43 && s.db == nil:
		return s.randomEntry(r)
	case n < 48 && s.db != nil:
		return s.randomColumn(r)
	case n < 51 && s.db != nil && HasTable(s.db, "event_sequence"):
		return randomEvents(r)
	case n < 53 && s.db != nil && HasTable(s.db, "event_sequence"):
		return randomWorkspace(r)
	default:
		return s.randomJSON(r)
	}
}

func oneOf[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomRecord returns a record of any table, a part most likely, and its number there.
func (s *Store) randomRecord(r *rand.Rand) (Record, int) {
	table := oneOf(r, "session", "session", "message", "message", "message", "message", "part", "part", "part", "part", "part", "part", "part", "part")
	if r.IntN(50) == 0 {
		table = "project"
	}
	n := r.IntN(len(s.Records[table]))
	return s.Records[table][n], n
}

func (s *Store) randomText(r *rand.Rand) Mutation {
	rec, n := s.randomRecord(r)
	for s.db != nil && !rec.json {
		rec, n = s.randomRecord(r)
	}
	words := Mutation{"text", rec.Table, strconv.Itoa(n)}
	if r.IntN(2) == 0 {
		return append(words, "cut", strconv.Itoa(r.IntN(len(rec.Data))))
	}
	return append(words, "put", oneOf(r, "", " ", "null", "[]", "{}", "0", `"x"`, "true", "x", "\x00", "\ufeff{}", string(rec.Data)+"x", string(rec.Data)+"\n\n", "\ufeff"+string(rec.Data), "[]"+string(rec.Data)))
}

// randomChange returns words that remove or add a record.
func (s *Store) randomChange(r *rand.Rand) Mutation {
	table := oneOf(r, "message", "part", "part", "part")
	words := Mutation{"record", table, strconv.Itoa(r.IntN(len(s.Records[table])))}
	switch k := r.IntN(10); {
	case k < 3:
		return append(words, "delete")
	case table == "part" && k < 5:
		return append(words, "insert", randomFile(r))
	case table == "part":
		return append(words, "insert", oneOf(r, parts...))
	case k < 6:
		return append(words, "copy")
	default:
		return append(words, "insert", oneOf(r, messages...))
	}
}

// messages are members of a message that is added.
var messages = []string{
	`{}`,
	`{"role":"user"}`,
	`{"role":"assistant"}`,
	`{"finish":"stop"}`,
	`{"finish":"tool-calls"}`,
	`{"finish":"unknown"}`,
	`{"finish":"content-filter"}`,
	`{"summary":true}`,
	`{"summary":true,"mode":"compaction","agent":"compaction"}`,
	`{"error":{"name":"MessageAbortedError","data":{"message":"x"}}}`,
	`{"error":{"name":"APIError","data":{"message":"x","isRetryable":false}}}`,
	`{"error":{"name":"MessageOutputLengthError","data":{}}}`,
	`{"error":{"name":"UnknownError","data":{"message":"x"}}}`,
	`{"parentID":"msg_x"}`,
	`{"parentID":"{message 0}"}`,
	`{"time":{"created":1}}`,
	`{"time":{"created":{now-1000}}}`,
	`{"time":{"created":{now-1000},"completed":{now-500}}}`,
}

const (
	png    = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	atTime = `"time":{"start":1795224840000,"end":1795224841000}`
)

// parts are the data of a part that is added.
var parts = []string{
	`{"type":"text","text":"hello"}`,
	`{"type":"text","text":""}`,
	`{"type":"text","text":" \n"}`,
	`{"type":"text","text":"hello","synthetic":true}`,
	`{"type":"text","text":"hello","ignored":true}`,
	`{"type":"text","text":"hello",` + atTime + `,"metadata":{"anthropic":{}}}`,
	`{"type":"reasoning","text":"hm",` + atTime + `}`,
	`{"type":"reasoning","text":"",` + atTime + `}`,
	`{"type":"reasoning","text":"",` + atTime + `,"metadata":{"anthropic":{"redactedData":"x"}}}`,
	`{"type":"reasoning","text":"hm",` + atTime + `,"metadata":{"anthropic":{"signature":""}}}`,
	`{"type":"file","mime":"image/png","url":"` + png + `"}`,
	`{"type":"file","mime":"image/png","filename":"x.png","url":"data:image/png;base64,"}`,
	`{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}`,
	`{"type":"file","mime":"image/tiff","url":"data:image/tiff;base64,SUkqAA=="}`,
	`{"type":"file","mime":"image/svg+xml","url":"data:image/svg+xml;base64,PHN2Zy8+"}`,
	`{"type":"file","mime":"text/plain","filename":"x.txt","url":"data:text/plain;base64,eA=="}`,
	`{"type":"file","mime":"text/plain","url":"file:///home/user/project/x.txt"}`,
	`{"type":"file","mime":"application/x-directory","url":"file:///home/user/project"}`,
	`{"type":"file","mime":"application/pdf","url":"data:application/pdf;base64,JVBERi0xLjQKJSVFT0Y="}`,
	`{"type":"file","mime":"application/pdf","url":"data:application/pdf;base64,eA=="}`,
	`{"type":"file","mime":"audio/mpeg","url":"data:audio/mpeg;base64,AAAA"}`,
	`{"type":"file","mime":"","url":""}`,
	`{"type":"file","mime":"image/png","url":"http://127.0.0.1:9/x.png"}`,
	`{"type":"file","mime":"application/pdf","url":"http://127.0.0.1:9/x.pdf"}`,
	`{"type":"file","mime":"audio/mpeg","filename":"x","url":"http://127.0.0.1:9/x"}`,
	`{"type":"text","text":"hello","metadata":{"anthropic":{"type":"compaction"}}}`,
	`{"type":"text","text":"","metadata":{"anthropic":{"type":"compaction"}}}`,
	`{"type":"text","text":"hello","metadata":{"anthropic":{"citations":[{"type":"x"}]}}}`,
	`{"type":"agent","name":"build"}`,
	`{"type":"agent","name":"build","source":{"value":"@build","start":0,"end":6}}`,
	`{"type":"subtask","prompt":"do","description":"it","agent":"general"}`,
	`{"type":"subtask","prompt":"do","description":"it","agent":"general","command":"x","model":{"providerID":"anthropic","modelID":"claude-fake"}}`,
	`{"type":"compaction","auto":true}`,
	`{"type":"compaction","auto":false}`,
	`{"type":"compaction","auto":false,"tail_start_id":"{message 4}"}`,
	`{"type":"patch","hash":"x","files":["x"]}`,
	`{"type":"snapshot","snapshot":"x"}`,
	`{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"x","isRetryable":true}},"time":{"created":1795224840000}}`,
	`{"type":"step-start"}`,
	`{"type":"step-start","snapshot":"x"}`,
	`{"type":"step-finish","reason":"stop","cost":0,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"pending","input":{},"raw":""}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"running","input":{"command":"x"},"time":{"start":1795224840000}}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"error","input":{"command":"x"},"error":"no",` + atTime + `}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"error","input":{"command":"x"},"error":"no","metadata":{"interrupted":true,"output":"half"},` + atTime + `}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"completed","input":{"command":"x"},"output":"yes","title":"","metadata":{},` + atTime + `}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"completed","input":{"command":"x"},"output":"","title":"","metadata":{},` + atTime + `}}`,
	`{"type":"tool","callID":"","tool":"invalid","state":{"status":"completed","input":{"tool":"x","error":"y"},"output":"z","title":"","metadata":{},` + atTime + `}}`,
	`{"type":"tool","callID":"toolu.x:0","tool":"bash","state":{"status":"completed","input":{"command":"x"},"output":"yes","title":"","metadata":{},` + atTime + `}}`,
	`{"type":"tool","callID":"toolu_x","tool":"read file","state":{"status":"completed","input":{"path":"x"},"output":"yes","title":"","metadata":{},` + atTime + `}}`,
	`{"type":"tool","callID":"toolu_x","tool":"read","state":{"status":"completed","input":{"path":"x"},"output":"yes","title":"","metadata":{},"attachments":[{"id":"prt_x","sessionID":"{session}","messageID":"{message 1}","type":"file","mime":"image/png","url":"` + png + `"}],` + atTime + `}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","state":{"status":"completed","input":{"command":"x"},"output":"yes","title":"","metadata":{},"time":{"start":1795224840000,"end":1795224841000,"compacted":1795224842000}}}`,
	`{"type":"tool","callID":"toolu_x","tool":"task","state":{"status":"running","input":{"prompt":"x","description":"y","subagent_type":"general"},"time":{"start":1795224840000},"metadata":{"sessionId":"{session}"}}}`,
	`{"type":"tool","callID":"toolu_x","tool":"bash","metadata":{"providerExecuted":true},"state":{"status":"completed","input":{"command":"x"},"output":"yes","title":"","metadata":{},` + atTime + `}}`,
	`{"type":"unheard-of","text":"x"}`,
	`{"text":"x"}`,
}

// randomFile returns the data of a part with a file, or of a call with one, whose URL is unusual.
func randomFile(r *rand.Rand) string {
	mime := oneOf(r, "image/png", "image/png", "image/*", "application/pdf", "text/csv", "audio/mpeg")
	file := fmt.Sprintf(`{"type":"file","mime":%q,"url":%s}`, mime, randomURL(r))
	if r.IntN(4) == 0 {
		return `{"type":"tool","callID":"toolu_x","tool":"read","state":{"status":"completed","input":{},"output":"yes","title":"","metadata":{},"attachments":[` + file + `],` + atTime + `}}`
	}
	return file
}

// randomURL returns a URL of a file as JSON. Nothing answers at its addresses.
func randomURL(r *rand.Rand) string {
	head, data, _ := strings.Cut(png, ",")
	url := oneOf(r, "data:", "DATA:", " data:", "data:;base64,", "data:text/plain,x", "data:,x", "http:", "https://", "http://a b/", "http://127.0.0.1:99999/",
		"http://%zz/", "nonsense", "", "ftp://127.0.0.1:9/x", "file:///nonexistent", "x:y", "/x.png", "C:\\x.png")
	switch r.IntN(3) {
	case 0:
		url = oneOf(r, "http", "https", "HTTP", "ht\ntp") + oneOf(r, "://", ":", ":/", ":\\\\") + oneOf(r, "", "me:secret@") + oneOf(r, "127.0.0.1", "127.1", "[::1]", "LocalHost") + ":9" +
			oneOf(r, "", "/", "/x.png", "/a b", "/a/../b?c d#e", "\n")
	case 1:
		url = oneOf(r, head, head, strings.ToUpper(head), "data:image/png", "data:image/png;charset=utf-8;base64", "data:image/*;base64", "data:image/jpeg;base64", "data:text/plain;base64") + "," +
			oneOf(r, data, strings.TrimRight(data, "="), data[:len(data)-3], data+"====", strings.NewReplacer("+", "-", "/", "_").Replace(data), data[:8]+" "+data[8:], data[:8]+"\n"+data[8:],
				data[:8]+"%0A"+data[8:], strings.ReplaceAll(data, "=", "%3D"), data+"\u0000", data+"%", data+"#x", data+",x", "AAA", "AA", "A")
	}
	return `"` + url + `"`
}

var timeMembers = map[string]bool{"created": true, "completed": true, "updated": true, "start": true, "end": true, "time_created": true, "time_updated": true}

const day = 86400_000

// fractions are times that are no integers.
var fractions = []string{"1.5", "1e300"}

// randomTime returns a time as a JSON value or an SQL expression, at times one of others.
func randomTime(r *rand.Rand, others ...string) string {
	return oneOf(r, append(slices.Clip(others), "0", "-1", "1", fmt.Sprintf("{now+%d}", day), fmt.Sprintf("{now+%d}", 3650*day), fmt.Sprintf("{now+%d}", 3600_000),
		fmt.Sprintf("{now-%d}", day), fmt.Sprintf("{now-%d}", 3650*day), "1795224842000", "9007199254740993", "1e18")...)
}

func (s *Store) randomJSON(r *rand.Rand) Mutation {
	for {
		rec, n := s.randomRecord(r)
		all := Nodes(rec.Data)
		if len(all) < 2 {
			continue
		}
		p := all[1+r.IntN(len(all)-1)]
		if s.db != nil && !rec.json && strings.Count(p.Pointer, "/") < 2 {
			if n := len(all) - 1; n < 3 {
				continue
			}
		}
		words := Mutation{"json", rec.Table, strconv.Itoa(n), p.Pointer}
		if r.IntN(6) == 0 {
			if add := s.randomMember(r, rec, all); add != nil {
				return append(Mutation{"json", rec.Table, strconv.Itoa(n)}, add...)
			}
		}
		name := p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:]
		if name == "url" && r.IntN(2) == 0 {
			return append(words, "set", randomURL(r))
		}
		switch k := r.IntN(20); {
		case k < 4:
			return append(words, "remove")
		case k < 5:
			return append(words, "rename", oneOf(r, name+"s", strings.ToUpper(name), "", " "+name, "x", "type", "id"))
		case k < 6:
			return append(words, "repeat", s.randomValue(r, rec, all, p))
		case timeMembers[name]:
			return append(words, "set", oneOf(r, randomTime(r, fractions...), randomTime(r, fractions...), s.randomValue(r, rec, all, p)))
		default:
			return append(words, "set", s.randomValue(r, rec, all, p))
		}
	}
}

// members lists members that a record may have and the fixture's records do not, by the
// pointer of their object.
var members = map[string][][2]string{
	"": {
		{"error", `{"name":"MessageAbortedError","data":{"message":"x"}}`},
		{"error", `{"name":"APIError","data":{"message":"x","isRetryable":false}}`},
		{"summary", "true"},
		{"finish", `"stop"`},
		{"ignored", "true"},
		{"synthetic", "true"},
		{"metadata", `{"anthropic":{"signature":"x"}}`},
		{"metadata", `{"anthropic":{"redactedData":"x"}}`},
		{"metadata", `{"providerExecuted":true}`},
		{"variant", `"x"`},
		{"system", `"x"`},
		{"tools", `{"bash":false}`},
		{"format", `{"type":"text"}`},
		{"tail_start_id", `"{message 2}"`},
		{"revert", `{"messageID":"{message 3}"}`},
		{"revert", `{"messageID":"{message 4}","partID":"{part 12}"}`},
		{"parentID", `"{session}"`},
		{"model", `{"providerID":"anthropic","modelID":"claude-fake"}`},
		{"share", `{"url":"x"}`},
		{"workspaceID", `"x"`},
		{"agent", `"plan"`},
		{"mode", `"plan"`},
		{"name", `"x"`},
		{"auto", "true"},
		{"url", `"data:image/png;base64,AAAA"`},
		{"mime", `"image/png"`},
	},
	"/state": {
		{"attachments", `[{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}]`},
		{"attachments", `[{"type":"file","mime":"text/plain","url":"data:text/plain;base64,AAAA"}]`},
		{"attachments", `[{"mime":"application/pdf","url":"file:///x.pdf"}]`},
		{"error", `"x"`},
		{"raw", `"x"`},
		{"output", `"x"`},
		{"title", `"x"`},
	},
	"/state/time":     {{"compacted", "1795224842000"}},
	"/state/metadata": {{"interrupted", "true"}, {"output", `"x"`}},
	"/time":           {{"compacting", "1795224842000"}, {"archived", "1795224842000"}, {"completed", "1795224842000"}, {"initialized", "1"}},
}

// randomMember returns words that add a member to an object of the record, or nil.
func (s *Store) randomMember(r *rand.Rand, rec Record, all []Node) Mutation {
	p := oneOf(r, all...)
	for i := 0; len(members[p.Pointer]) == 0 && i < 10; i++ {
		p = oneOf(r, all...)
	}
	if len(members[p.Pointer]) == 0 || rec.Data[p.start] != '{' || s.db != nil && !rec.json && p.Pointer == "" {
		return nil
	}
	m := oneOf(r, members[p.Pointer]...)
	if r.IntN(2) == 0 {
		m[1] = s.randomValue(r, rec, all, p)
	}
	return Mutation{p.Pointer, "add", m[0], m[1]}
}

func (s *Store) randomValue(r *rand.Rand, rec Record, all []Node, p Node) string {
	if r.IntN(4) == 0 { // the value of another member
		return all[1+r.IntN(len(all)-1)].Value(rec.Data)
	}
	was := p.Value(rec.Data)
	return oneOf(r, "null", "true", "false", "0", "1", "-1", "1.5", "9007199254740993", `""`, `" "`, `"x"`, `"\u0000"`, `"\ud800"`, `"null"`, `"0"`,
		"[]", "{}", "[null]", `[""]`, "[[]]", `["x"]`, `{"x":null}`, `{"x":{}}`, `{"x":{"y":[]}}`, `{"":""}`, `{"0":"x"}`, `{"length":1}`,
		"["+was+"]", `{"x":`+was+`}`, `"{message `+strconv.Itoa(r.IntN(len(s.Records["message"])))+`}"`, `"{part `+strconv.Itoa(r.IntN(len(s.Records["part"])))+`}"`,
		`"{session}"`, `"msg_x"`, `"user"`, `"assistant"`, `"text"`, `"tool"`, `"reasoning"`, `"file"`, `"compaction"`, `"step-start"`, `"error"`, `"pending"`)
}

// randomEvents returns a change of the events or of their counter, which is at 99.
func randomEvents(r *rand.Rand) Mutation {
	return Mutation{"sql", "pragma foreign_keys = off; " + oneOf(r,
		"delete from event_sequence",
		"delete from event",
		"delete from event where seq > 50; update event_sequence set seq = 50",
		"update event_sequence set seq = "+oneOf(r, "-1000", "-2", "-1", "0", "50", "98", "1000", "9007199254740993", "-9007199254740993", "1e300", "9e999", "50.5", "'x'", "''", "'-'", "x'61'"),
		"update event_sequence set owner_id = "+oneOf(r, "'x'", "x'00'", "1"),
		"update event_sequence set aggregate_id = "+oneOf(r, "'ses_x'", "cast(aggregate_id as blob)"),
		"update event set aggregate_id = 'ses_x'",
		"update event set type = 'x', data = 'x'",
		"insert into event values ('evt_x', '{session}', "+oneOf(r, "100", "101", "108", "200", "9007199254740993", "'x'", "100.5")+", 'session.updated.1', '{}')",
	)}
}

// randomWorkspace returns a change that puts the session into a workspace.
func randomWorkspace(r *rand.Rand) Mutation {
	const folder = "(select directory from session where id = '{session}')"
	return Mutation{"sql", fmt.Sprintf("pragma foreign_keys = off; insert into workspace (id, type, name, directory, project_id, time_used) values ('wrk_1', 'worktree', 'n', %s, 'global', 1795224840000); update session set workspace_id = 'wrk_1'%s",
		oneOf(r, folder, folder, "'/'", folder+" || '/gone'", folder+" || '/gone'", "''", "null", "x'61'"), oneOf(r, "", "", ", directory = directory || '/gone'"))}
}

func (s *Store) randomColumn(r *rand.Rand) Mutation {
	columns := map[string][]string{}
	for table := range s.Records {
		st, _, err := s.db.Prepare("select name from pragma_table_info(?1)")
		if err != nil {
			panic(err)
		}
		_ = st.BindText(1, table)
		for st.Step() {
			if name := st.ColumnText(0); name != "id" || table == "message" || table == "part" {
				columns[table] = append(columns[table], name)
			}
		}
		_ = st.Close()
	}
	table := oneOf(r, "session", "session", "session", "message", "message", "part", "part")
	if r.IntN(40) == 0 {
		table = "project"
	}
	column := oneOf(r, columns[table]...)
	n := r.IntN(len(s.Records[table]))
	words := Mutation{"column", table, strconv.Itoa(n), column}
	switch {
	case table != "session" && table != "project" && strings.HasPrefix(column, "time_"): // mend examines no other classes of times and ids
		return append(words, oneOf(r, randomTime(r), "-"+column, column+" + 1"))
	case table != "session" && table != "project" && (column == "id" || strings.HasSuffix(column, "_id")):
		return append(words, oneOf(r, "'x'", column+" || 'x'", "'x' || "+column, "upper("+column+")", "'{message 2}'", "'{message 4}'", "'{part 3}'"))
	case strings.HasPrefix(column, "time_") && r.IntN(2) == 0:
		return append(words, oneOf(r, randomTime(r, fractions...), "'x'", "'2026-11-22 10:00:00'", "cast("+column+" as blob)", "-"+column, column+" + 0.5"))
	}
	return append(words, oneOf(r, "null", "''", "' '", "'x'", "0", "-1", "1", "1.5", "9223372036854775807", "-9223372036854775808", "1e300", "x''", "x'00ff'", "x'7b7d'",
		"'null'", "'[]'", "'{}'", `'"s"'`, "'1'", "'true'", `'{"a":'`, "'[null]'", `'{"x":null}'`, "'[[]]'", "'[{}]'",
		"cast("+column+" as blob)", "cast("+column+" as text)", column+" || 'x'", "'x' || "+column, "upper("+column+")", "char(0) || "+column, column+" || char(0)",
		"'{session}'", "'{message 2}'", "'{message 4}'", "'{part 3}'", `'{"messageID":"{message 3}"}'`, `'{"messageID":"{message 4}","partID":"{part 12}"}'`,
		`'{"messageID":"x"}'`, `'{"messageID":1}'`, `'{"id":"claude-fake","providerID":"anthropic"}'`, `'{"id":1}'`, `'{"providerID":"anthropic"}'`, "'build'", "'global'"))
}

// randomPlace returns words that put something in the place of a folder of records, or the
// session into another project.
func (s *Store) randomPlace(r *rand.Rand) Mutation {
	if r.IntN(3) == 0 {
		return Mutation{"record", "session", "0", oneOf(r, "move", "copy"), oneOf(r, "other", "0123456789abcdef0123456789abcdef01234567")}
	}
	words := Mutation{"place", oneOf(r, "session", "session/global", "message", "message/{session}", "part", "part/{message 0}", "part/{message 2}", "project", "session_diff")}
	switch k := r.IntN(10); {
	case k < 5:
		return append(words, "file", oneOf(r, "", "x", "{}"))
	case k < 8:
		return append(words, "link", "moved")
	default:
		return append(words, "fifo")
	}
}

func (s *Store) randomEntry(r *rand.Rand) Mutation {
	message := r.IntN(len(s.Records["message"]))
	part := r.IntN(len(s.Records["part"]))
	rec, _ := s.randomRecord(r)
	folder := oneOf(r, "message/{session}", "message/{session}", fmt.Sprintf("part/{message %d}", message), fmt.Sprintf("part/{message %d}", message), fmt.Sprintf("part/{message %d}", message),
		"session/global", "session", "message", "part", "project", "session_diff", "")
	if strings.HasPrefix(folder, "part/") && r.IntN(2) == 0 {
		var own []Record
		for _, p := range s.Records["part"] {
			if p.owner == s.Records["message"][message].ID {
				own = append(own, p)
			}
		}
		rec = oneOf(r, own...)
	}
	path, _ := filepath.Rel(s.Path, rec.path)
	id := rec.ID
	name := oneOf(r, id+".json~", id+".json.bak", "."+id+".json.swp", id+".json.tmp", id+" (1).json", "Copy of "+id+".json", id+"x.json", id+".JSON", id+".jso", id, id+"z",
		"Thumbs.db", ".DS_Store", "desktop.ini", "x", "ab", "abcde", ".json", ".a.json", "🦊.json", "é.json", "msg_x.json", "prt_x.json", "prt_0.json", "zzz.json", "prt_zzzz.json", "msg_zzzz.json",
		fmt.Sprintf("{message %d}", message), fmt.Sprintf("{message %d}.json", message), fmt.Sprintf("{part %d}.json", part), "a\nb.json", " .json", "#"+id+".json#", id+".json.sync-conflict-20261122.json", "_"+id+".json", "x.yaml.json")
	words := Mutation{"entry", folder, name}
	switch k := r.IntN(100); {
	case k < 45:
		return append(words, "file", oneOf(r, "", "x", "{}", "null", "[]", "0", `{"id":"x"}`, "\x00\x00"))
	case k < 70:
		return append(words, "copy", path)
	case k < 85:
		return append(words, "folder")
	case k < 92:
		return append(words, oneOf(r, "link", "link", "hardlink"), path)
	case k < 99:
		return append(words, "link", "nothing")
	default:
		return append(words, "fifo")
	}
}
