package schema

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/test/storetest"
)

var update = flag.Bool("update", false, "write the golden file")

// TestVerdicts compares the reasons why values are invalid with testdata/verdicts.golden: for each field of a valid
// record without its value and with odd values. A field is followed by a line for each reason, with the values.
func TestVerdicts(t *testing.T) {
	var lines []string
	add := func(where string, verdict func(value string) string, values []string) {
		var reasons []string
		valuesOf := map[string][]string{}
		for _, value := range values {
			why := verdict(value)
			if !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
			valuesOf[why] = append(valuesOf[why], value)
		}
		lines = append(lines, where)
		for _, why := range reasons {
			lines = append(lines, fmt.Sprintf("\t%q: %s", why, strings.Join(valuesOf[why], "  ")))
		}
	}
	var more []validRecord
	for name, data := range map[string]string{
		"ProviderAuthError": `"message":"m","providerID":"p"`, "UnknownError": `"message":"m","ref":"r"`, "MessageOutputLengthError": "", "MessageAbortedError": `"message":"m"`,
		"StructuredOutputError": `"message":"m","retries":1`, "ContextOverflowError": `"message":"m","responseBody":"b"`, "ContentFilterError": `"message":"m"`,
	} {
		more = append(more, validRecord{Message, strings.Replace(records[1].data, storedError, `{"name":"`+name+`","data":{`+data+`}}`, 1)})
	}
	slices.SortFunc(more, func(a, b validRecord) int { return strings.Compare(a.data, b.data) })
	for _, source := range []string{`"type":"file","path":"p"`, `"type":"resource","clientName":"c","uri":"u"`} {
		more = append(more, validRecord{Part, `{"type":"file","mime":"image/png","url":"u","source":{` + source + `,"text":{"value":"v","start":0,"end":1}}}`})
	}
	for i, r := range append(records, more...) {
		check, id := CheckPart, "prt_1"
		if r.t == Message {
			check, id = CheckMessage, "msg_1"
		}
		for _, path := range paths(js.Parse([]byte(r.data)), nil) {
			if i >= len(records) && path[0] != "error" && path[0] != "source" {
				continue
			}
			add(fmt.Sprintf("record %d %s", i, strings.Join(path, ".")), func(value string) string {
				data, err := jsonedit.Remove([]byte(r.data), path...)
				if value != none {
					data, err = jsonedit.Set([]byte(r.data), []byte(value), path...)
				}
				if err != nil {
					t.Fatal(err)
				}
				return check(id, js.Parse(data))
			}, append([]string{none}, oddValues...))
		}
	}
	add("ids", func(value string) string {
		return CheckMessage(value, js.Parse([]byte(records[0].data))) + ", " + CheckPart(value, js.Parse([]byte(records[2].data)))
	}, []string{"msg_1", "prt_1", "", "msg", "MSG_1"})

	session := record.Session{Info: change.Record{Ref: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Cols: change.NewCols(validSession...)}}
	project := record.Session{ProjectRow: change.Record{Ref: change.Ref{Kind: change.KindProject, Project: "p"}, Cols: change.NewCols(validProject...)}}
	for _, strict := range []bool{true, false} {
		for _, c := range validSession {
			add(fmt.Sprintf("session, strict %t, %s", strict, c.Name), func(value string) string {
				s := session
				s.Info = s.Info.WithCol(oddColumn(c.Name, value))
				return faultWords(SessionFaults(&s, strict))
			}, columnValues)
		}
		for _, c := range validProject {
			add(fmt.Sprintf("project, strict %t, %s", strict, c.Name), func(value string) string {
				s := project
				s.ProjectRow = s.ProjectRow.WithCol(oddColumn(c.Name, value))
				return faultWords(ProjectFaults(&s, strict))
			}, columnValues)
		}
	}
	file := func(data string) change.Record {
		return change.Record{Ref: change.Ref{Kind: change.KindProject, Project: "p"}, Data: []byte(data)}
	}
	add("session file", func(value string) string {
		r := file(value)
		r.Ref = session.Info.Ref
		return faultWords(SessionFaults(&record.Session{Info: r}, false))
	}, []string{`{}`, `{"time":1}`, `{"time":{}}`, `{"time":[]}`, `{"time":null}`})
	add("project file", func(value string) string {
		return faultWords(ProjectFaults(&record.Session{ProjectRow: file(value)}, false))
	}, []string{`{}`, `null`, `1`, `[]`, `{"id":"p"}`, `{"id":"./p"}`, `{"id":"q"}`, `{"id":"p","sandboxes":1}`, `{"id":"p","sandboxes":[1]}`, `{"id":"p","sandboxes":0}`})

	const golden = "testdata/verdicts.golden"
	storetest.Golden(t, golden, strings.Join(lines, "\n")+"\n", *update)
}

func faultWords(faults []Fault) string {
	var words []string
	for _, f := range faults {
		word := f.String()
		if !f.BlocksPrompts {
			word += " (list only)"
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

const none = "none"

// columnValues are values of columns: NULL, or the storage class and the value.
var columnValues = append([]string{
	"NULL", "integer 0", "integer 1", "integer -1", "real 1.5", "blob 1", "text x", "text git", "text ses_1", "text wrk_1", "text /x",
	`text C:\x`, `text {"id":"m","providerID":"p"}`, `text {"modelID":"m"}`, `text {"id":"m","providerID":"p","variant":1}`, `text {"messageID":"msg_1"}`,
	`text {"messageID":"msg_1","partID":1}`, `text {"messageID":"msg_1","diff":1}`, `text [{"permission":"a","pattern":"b","action":"deny"}]`,
	`text [{"permission":"a","pattern":"b","action":"c"}]`, `text [{"additions":1,"deletions":1}]`, `text [{"additions":1}]`, "text {",
}, func() (all []string) {
	for _, v := range oddValues {
		all = append(all, "text "+v)
	}
	return all
}()...)

// oddColumn returns a column with one of columnValues.
func oddColumn(name, value string) change.Col {
	class, text, _ := strings.Cut(value, " ")
	switch class {
	case "integer":
		var n int64
		_, _ = fmt.Sscan(text, &n)
		return change.IntCol(name, n)
	case "real":
		return change.RealCol(name, 1.5)
	case "blob":
		return change.Col{Name: name, Class: change.ClassBlob, Bytes: []byte{1}}
	case "text":
		return change.TextCol(name, text)
	}
	return change.Col{Name: name, Class: change.ClassNull}
}

var validSession = []change.Col{
	change.TextCol("id", "ses_1"), change.TextCol("workspace_id", "wrk_1"), change.TextCol("parent_id", "ses_0"), change.TextCol("slug", "s"),
	change.TextCol("directory", "/d"), change.TextCol("path", "p"), change.TextCol("title", "t"), change.TextCol("version", "1.2.0"), change.TextCol("share_url", "u"),
	change.IntCol("summary_additions", 1), change.IntCol("summary_deletions", 1), change.IntCol("summary_files", 1), change.TextCol("summary_diffs", "[]"),
	change.TextCol("metadata", "{}"), change.TextCol("revert", `{"messageID":"msg_1"}`), change.TextCol("permission", "[]"), change.TextCol("agent", "build"),
	change.TextCol("model", `{"id":"m","providerID":"p"}`), change.IntCol("time_created", 1), change.IntCol("time_updated", 1), change.IntCol("time_compacting", 1),
	change.IntCol("time_archived", 1), change.RealCol("cost", 1), change.IntCol("tokens_input", 1), change.IntCol("tokens_output", 1), change.IntCol("tokens_reasoning", 1),
	change.IntCol("tokens_cache_read", 1), change.IntCol("tokens_cache_write", 1),
}

var validProject = []change.Col{change.TextCol("worktree", "/w"), change.TextCol("vcs", "git"), change.TextCol("sandboxes", "[]"), change.TextCol("commands", "{}")}
