package schema

import (
	"bytes"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/js"
	"mend/change"
	"mend/internal/jsonedit"
)

type validRecord struct {
	t    string
	data string
}

const storedError = `{"name":"APIError","data":{"message":"m","statusCode":429,"isRetryable":true,"responseHeaders":{"a":"b"},"responseBody":"x","metadata":{"a":"b"}}}`

// records are valid records with every field of the table.
var records = []validRecord{
	{Message, `{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"p","modelID":"m","variant":"v"},` +
		`"summary":{"title":"t","body":"b","diffs":[{"file":"f","patch":"p","additions":1,"deletions":0,"status":"added"}]},"system":"s","tools":{"bash":true},` +
		`"format":{"type":"json_schema","schema":{}}}`},
	{Message, `{"role":"assistant","time":{"created":1,"completed":2},"error":` + storedError + `,` +
		`"parentID":"msg_0","modelID":"m","providerID":"p","agent":"build","mode":"build","path":{"cwd":"/c","root":"/r"},"summary":false,"cost":0.5,"variant":"v","finish":"stop",` +
		`"tokens":{"total":1,"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}}`},
	{Part, `{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"t","synthetic":true,"ignored":false,"time":{"start":1,"end":2},"metadata":{"anthropic":{"a":1}}}`},
	{Part, `{"type":"reasoning","text":"t","time":{"start":1,"end":2},"metadata":{"anthropic":{"signature":"s"}}}`},
	{Part, `{"type":"file","mime":"image/png","filename":"f","url":"data:image/png;base64,AAAA","source":{"type":"symbol","path":"p","name":"n","kind":1,"text":{"value":"v","start":0,"end":1},"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":3}}}}`},
	{Part, `{"type":"tool","callID":"c","tool":"bash","metadata":{"openai":{}},"state":{"status":"completed","input":{},"output":"o","title":"t","metadata":{"a":1},"time":{"start":1,"end":2,"compacted":3},"attachments":[{"id":"prt_2","sessionID":"ses_1","messageID":"msg_1","type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}]}}`},
	{Part, `{"type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"e","time":{"start":1,"end":2}}}`},
	{Part, `{"type":"tool","callID":"c","tool":"bash","state":{"status":"running","input":{},"title":"t","metadata":{},"time":{"start":1}}}`},
	{Part, `{"type":"tool","callID":"c","tool":"bash","state":{"status":"pending","input":{},"raw":"r"}}`},
	{Part, `{"type":"step-start","snapshot":"s"}`},
	{Part, `{"type":"step-finish","reason":"stop","snapshot":"s","cost":0,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}}`},
	{Part, `{"type":"snapshot","snapshot":"s"}`},
	{Part, `{"type":"patch","hash":"h","files":["f"]}`},
	{Part, `{"type":"agent","name":"n","source":{"value":"v","start":0,"end":1}}`},
	{Part, `{"type":"compaction","auto":true,"overflow":false,"tail_start_id":"msg_1"}`},
	{Part, `{"type":"subtask","prompt":"p","description":"d","agent":"a","command":"c","model":{"providerID":"p","modelID":"m"}}`},
	{Part, `{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"m","isRetryable":true}},"time":{"created":1}}`},
}

// oddValues are values of every JSON type.
var oddValues = []string{"null", "true", "0", "-1", "1.5", "1e400", `""`, `" "`, `"12"`, `"true"`, `"msg_x"`, `"\u0061"`, `{}`, `{"a":1}`, `{"a":{}}`, `[]`, `[1]`, `["x"]`, `[{}]`}

// everything is a context with a value for every source.
var everything = Context{
	Ref:  change.Ref{Session: "ses_7", Message: "msg_7", Part: "prt_7"},
	Role: "user", Time: 7, Agent: "given", Provider: "given", Model: "given", Parent: "msg_7", Folder: "/", CallID: "given", Updated: 7, Project: "given",
}

// paths returns the path of each value inside v; above is the path of v.
func paths(v js.Value, above []string) (all [][]string) {
	i := -1
	for name, member := range v.Children() {
		i++
		if v.Kind() == '[' {
			name = strconv.AppendInt(nil, int64(i), 10)
		}
		path := append(slices.Clone(above), string(name))
		all = append(all, path)
		if member.Kind() == '{' || member.Kind() == '[' {
			all = append(all, paths(js.Value{Value: member}, path)...)
		}
	}
	return all
}

// TestDerivationsAgree: the functions that use the table agree: a completed record is valid, and completing it again
// does not change it.
func TestDerivationsAgree(t *testing.T) {
	completed := 0
	check := func(r string, data []byte) {
		after, c, err := Complete(data, r, everything)
		if err != nil {
			return
		}
		completed++
		if (len(c) == 0) != bytes.Equal(data, after) {
			t.Errorf("%s became %s, with the changes %+v", data, after, c)
		}
		if _, known := shapes()[r].cases[textOf(js.Parse(after).Get(shapes()[r].key.name))]; !known {
			return // records of unknown kinds are not completed
		}
		if why := shapes()[r].check(js.Parse(after)); why != "" {
			t.Errorf("%s was completed to %s, which is invalid:%s", data, after, why)
		}
		if again, c, err := Complete(after, r, everything); err != nil || len(c) > 0 || !bytes.Equal(again, after) {
			t.Errorf("%s was completed to %s, and then to %s, %+v, %v", data, after, again, c, err)
		}
	}
	for _, r := range records {
		data := []byte(r.data)
		if why := shapes()[r.t].check(js.Parse(data)); why != "" {
			t.Errorf("%s%s", data, why)
		}
		if after, c, err := Complete(data, r.t, Context{}); err != nil || len(c) > 0 || !bytes.Equal(after, data) {
			t.Errorf("%s was completed to %s, %+v, %v", data, after, c, err)
		}
		for _, path := range paths(js.Parse(data), nil) {
			removed, err := jsonedit.Remove(data, path...)
			if err != nil {
				t.Fatal(err)
			}
			check(r.t, removed)
			for _, value := range oddValues {
				with, err := jsonedit.Set(data, []byte(value), path...)
				if err != nil {
					t.Fatal(err)
				}
				check(r.t, with)
			}
		}
	}
	if completed < 1000 {
		t.Errorf("only %d records were completed", completed)
	}
}

// TestCompleteFilled: Complete fills in missing and null values, and returns their paths. It changes nothing else.
func TestCompleteFilled(t *testing.T) {
	data := `{"role":"user","time":{"created":5},"agent":null,"model":{"providerID":"p"},"summary":{"diffs":[{"additions":1},{"deletions":2}]},"tools":null,"mine":[1]}`
	got, filled, err := Complete([]byte(data), Message, everything)
	want := `{"role":"user","time":{"created":5},"agent":"given","model":{"providerID":"p","modelID":"given"},"summary":{"diffs":[{"additions":1,"deletions":0},{"deletions":2,"additions":0}]},"mine":[1]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	paths := []string{"agent", "model.modelID", "summary.diffs.0.deletions", "summary.diffs.1.additions", "tools"}
	if diff := cmp.Diff(paths, filled); diff != "" {
		t.Errorf("filled (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{"type":"reasoning"}`, `{"type":"text","text":7}`, `{"type":"retry","attempt":1,"error":{"name":"UnknownError"},"time":{"created":1}}`} {
		if after, _, err := Complete([]byte(bad), Part, everything); err == nil {
			t.Errorf("%s was completed to %s, want an error", bad, after)
		}
	}
}
