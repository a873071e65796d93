package claude

import (
	"bytes"
	"fmt"
	"strings"
)

// A Stub is a transcript with hardly any content.
type Stub struct {
	Name string
	Data []byte
	Dies bool // 2.1 does not find it, or the provider refuses it
}

// Stubs are remains of a transcript, and similar valid ones.
func Stubs() []Stub {
	record := func(n int, rest string) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf(`"0000000%d-1111-4111-8111-111111111111"`, n-1)
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,%s,"timestamp":"2026-11-22T10:%d0:00.000Z","uuid":"0000000%d-1111-4111-8111-111111111111","sessionId":%q,"cwd":"/home/user","version":"2.1.330"}`, parent, rest, n, n, Session) + "\n"
	}
	user := func(content string) string {
		return `"type":"user","message":{"role":"user","content":` + content + `}`
	}
	answer := func(content string) string {
		return `"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"` + model + `","content":` + content + `}`
	}
	const note = `"type":"system","subtype":"informational","content":"x","isMeta":false`
	const context = `"type":"attachment","attachment":{"type":"date"}`
	hello, hi := record(1, user(`"hello"`)), record(2, answer(`[{"type":"text","text":"hi"}]`))

	var metadata []string
	for _, l := range New().Lines {
		if !bytes.Contains(l, []byte(`"parentUuid"`)) {
			metadata = append(metadata, string(l)+"\n")
		}
	}
	var all []Stub
	for _, c := range []struct {
		name, data string
		dies       bool
	}{
		{"empty", "", true},
		{"a newline", "\n", true},
		{"NUL bytes", strings.Repeat("\x00", 5000), true},
		{"text", "hello\nworld\n", true},
		{"half a record", hello[:90], true},
		{"NUL bytes before a record", "\x00\x00" + hello, true},
		{"two byte order marks", "\ufeff\ufeff" + hello, true},
		{"a byte order mark", "\ufeff" + hello, false},
		{"a byte order mark before a conversation", "\ufeff" + hello + hi, false},
		{"objects", "{}\n{}\n", true},
		{"null", "null\n", true},
		{"metadata", strings.Join(metadata, ""), true},
		{"a summary", `{"type":"summary","summary":"A talk","leafUuid":"x"}` + "\n", true},
		{"progress", record(1, `"type":"progress"`), true},
		{"a subagent's record", strings.Replace(hello, `"isSidechain":false`, `"isSidechain":true,"agentId":"a1"`, 1), true},
		{"a marked record", strings.Replace(hello, `"isSidechain":false`, `"isSidechain":true`, 1), true},
		{"a prompt without a message", record(1, `"type":"user"`), true},
		{"a prompt with a text for a message", record(1, `"type":"user","message":"x"`), true},
		{"a prompt without content", record(1, user("null")), true},
		{"a prompt of null", record(1, user("[null]")), true},
		{"a prompt of a text in a list", record(1, user(`["x"]`)), true},
		{"a prompt of null and a text", record(1, user(`[null,{"type":"text","text":"hello"}]`)), false},
		{"a prompt of no blocks", record(1, user("[]")), true},
		{"an answer of no blocks", record(1, answer("[]")), true},
		{"a prompt of no blocks after an answer", hello + hi + record(3, user("[]")), false},
		{"an answer of no blocks after a prompt", hello + record(2, answer("[]")), false},
		{"an answer without content", record(1, answer("null")), true},
		{"an answer alone", record(1, answer(`[{"type":"text","text":"hi"}]`)), true},
		{"context alone", record(1, context), true},
		{"context before a prompt", record(1, context) + record(2, user(`"hello"`)), false},
		{"a note", record(1, note), false},
		{"a compaction alone", record(1, `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":1}`), false},
		{"a note after a prompt without a message", record(1, `"type":"user"`) + record(2, note), false},
		{"a prompt", hello, false},
		{"a prompt that the program wrote", record(1, `"isMeta":true,`+user(`"hello"`)), false},
		{"a result", record(1, user(`[{"type":"tool_result","tool_use_id":"t","content":"x"}]`)), false},
	} {
		all = append(all, Stub{c.name, []byte(c.data), c.dies})
	}
	return all
}
