package diagnose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

// disturb makes one random change.
func disturb(t *rapid.T, s *record.Session) {
	if len(s.Messages) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.Messages)-1).Draw(t, "message")
	m := &s.Messages[i]
	j := rapid.IntRange(-1, len(m.Parts)-1).Draw(t, "part")
	switch rapid.SampledFrom([]string{"value", "value", "value", "drop", "swap", "repeat", "stray", "revert"}).Draw(t, "change") {
	case "value":
		disturbRecord(t, m, j)
	case "drop":
		if j < 0 {
			s.Messages = slices.Delete(s.Messages, i, i+1)
		} else {
			m.Parts = slices.Delete(m.Parts, j, j+1)
		}
	case "swap": // what two parts say
		if k := rapid.IntRange(0, max(len(m.Parts)-1, 0)).Draw(t, "with"); j >= 0 {
			a, b := m.Parts[j], m.Parts[k]
			m.Parts[j], m.Parts[k] = partAt(b, a.Ref), partAt(a, b.Ref)
		}
	case "repeat": // a part of another message
		from := rapid.SampledFrom(s.Messages).Draw(t, "from")
		if len(from.Parts) > 0 {
			p := rapid.SampledFrom(from.Parts).Draw(t, "what")
			ref := p.Ref
			ref.Message, ref.Part = m.Ref.Message, ref.Part+rapid.SampledFrom([]string{"", "x", "_"}).Draw(t, "suffix")
			m.Parts = append(m.Parts, partAt(p, ref))
		}
	case "stray":
		s.Stray = []session.Stray{{Path: "x", Why: "it is a link"}}
	case "revert":
		s.Info.Ref = session.Ref{Kind: session.KindSession, Session: s.ID}
		s.Info.Data = fmt.Appendf(nil, `{"id":%q,"revert":{"messageID":%q}}`, s.ID, m.ID)
	}
}

// partAt returns the part under another name.
func partAt(p record.Part, ref session.Ref) record.Part {
	data, err := jsonedit.Set(p.Data, jsonedit.Quote(ref.Part), "id")
	if err != nil {
		data = p.Data
	}
	return record.NewPart(session.Record{Ref: ref, Data: data, Mode: p.Mode})
}

// oddValues are what a member may be changed to; "" removes it.
var oddValues = []string{
	"", "null", "0", "-1", "1.5", "1e3", "1795224839999", "1999999999999", "true", "false", `""`, `" "`, `"\n"`, `"\u2003"`, `"x"`, `"msg_x"`, `"a b"`, "{}", "[]", `[""]`, "[1]", `{"x":{}}`,
	`"user"`, `"assistant"`, `"text"`, `"tool"`, `"reasoning"`, `"step-start"`, `"compaction"`, `"completed"`, `"error"`, `"running"`, `"toolu_0002A"`, `"tool-calls"`, `"\ud800"`,
	`{"anthropic":{"signature":""}}`, `{"anthropic":{"redactedData":"x"}}`, `{"start":1,"end":2,"compacted":3}`, `{"providerID":"openai","modelID":"gpt"}`,
}

// oddMembers are members that may be added.
var oddMembers = []string{
	"error", "summary", "ignored", "synthetic", "metadata", "attachments", "system", "compacted", "providerExecuted", "variant", "total", "x",
}

// disturbRecord puts a random value into a message, for j < 0, or into a part.
func disturbRecord(t *rapid.T, m *record.Message, j int) {
	path := rapid.SampledFrom(pathsOf(m, j)).Draw(t, "path")
	disturbMember(m, j, path, rapid.SampledFrom(oddValues).Draw(t, "value"))
}

// pathsOf returns the paths of all members of a record and of some that are not there.
func pathsOf(m *record.Message, j int) [][]string {
	data := m.Data
	if j >= 0 {
		data = m.Parts[j].Data
	}
	all := pathsIn(data, nil)
	for _, path := range slices.Clone(all) {
		for _, name := range oddMembers {
			if odd := append(slices.Clone(path[:len(path)-1]), name); !slices.ContainsFunc(all, func(p []string) bool { return slices.Equal(p, odd) }) {
				all = append(all, odd)
			}
		}
	}
	return all
}

// disturbMember puts a value into a message, for j < 0, or into a part, and reports
// whether it could.
func disturbMember(m *record.Message, j int, path []string, value string) bool {
	r := &m.Record
	if j >= 0 {
		r = &m.Parts[j].Record
	}
	var data []byte
	var err error
	if value == "" {
		data, err = jsonedit.Remove(r.Data, path...)
	} else {
		data, err = jsonedit.Set(r.Data, []byte(value), path...)
	}
	if err != nil || string(data) == string(r.Data) {
		return false
	}
	if j >= 0 {
		m.Parts[j] = record.NewPart(session.Record{Ref: r.Ref, Data: data, Mode: r.Mode})
	} else {
		*m = rebuiltMessage(m, string(data))
	}
	return true
}

// pathsIn lists the paths of all members, also of those of members.
func pathsIn(data []byte, above []string) (all [][]string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil && len(above) == 0 {
		return [][]string{{"x"}}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path := append(slices.Clone(above), name)
		all = append(all, path)
		if members[name][0] == '{' {
			all = append(all, pathsIn(members[name], path)...)
		}
	}
	return all
}

// rebuiltMessage returns the message with other data.
func rebuiltMessage(m *record.Message, data string) record.Message {
	n := record.NewMessage(session.Record{Ref: m.Ref, Data: []byte(data), Mode: m.Mode})
	n.Parts = m.Parts
	return n
}

// complete gives an answer the time at which it ended.
func complete(m *record.Message) {
	if m.Role == session.RoleAssistant && m.Completed == 0 {
		*m = rebuiltMessage(m, strings.Replace(string(m.Data), `"time":{`, `"time":{"completed":9000,`, 1))
	}
}
