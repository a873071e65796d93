package diagnose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/test/damage"
)

// otherParts are parts of kinds that the fixtures do not have.
var otherParts = []string{
	`{"type":"file","mime":"image/png","filename":"x.png","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==","source":{"type":"file","path":"x","text":{"value":"@x","start":0,"end":2}}}`,
	`{"type":"snapshot","snapshot":"x"}`,
	`{"type":"patch","hash":"x","files":["y"]}`,
	`{"type":"agent","name":"x","source":{"value":"@x","start":0,"end":2}}`,
	`{"type":"subtask","prompt":"x","description":"y","agent":"general","command":"z","model":{"providerID":"a","modelID":"b"}}`,
	`{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"x","statusCode":5,"isRetryable":true,"responseHeaders":{"a":"b"}}},"time":{"created":1}}`,
	`{"type":"tool","tool":"bash","callID":"call_x","state":{"status":"completed","input":{"a":1},"output":"y","title":"z","metadata":{"m":1},"time":{"start":1,"end":2,"compacted":3},
		"attachments":[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"file","mime":"image/png","url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="}]},"metadata":{"anthropic":{"a":1}}}`,
	`{"type":"tool","tool":"bash","callID":"call_y","state":{"status":"error","input":{},"error":"x","metadata":{"output":"y"},"time":{"start":1,"end":2}}}`,
	`{"type":"tool","tool":"bash","callID":"call_z","state":{"status":"running","input":{},"title":"x","metadata":{},"time":{"start":1}}}`,
	`{"type":"tool","tool":"bash","callID":"call_w","state":{"status":"pending","input":{},"raw":""}}`,
	`{"type":"text","text":"more","synthetic":true,"ignored":false,"time":{"start":1,"end":2},"metadata":{"anthropic":{"a":1}}}`,
}

// enrichedFixture returns the first half of a fixture with parts of all kinds, each in a message of its role, and with
// all optional members of messages.
func enrichedFixture(t *testing.T, version int) *record.Session {
	t.Helper()
	s := fromStore(t, version, unchanged)
	s.Messages = s.Messages[:damage.Hello+1]
	for i, data := range otherParts {
		m := &s.Messages[damage.SecondPrompt]
		if strings.Contains(data, `"tool"`) {
			m = &s.Messages[damage.OneCall]
		}
		id := fmt.Sprintf("%s_%02d", m.Parts[len(m.Parts)-1].ID[:30], i)
		if m.Role == change.RoleAssistant {
			id = fmt.Sprintf("%s_%02d", m.Parts[len(m.Parts)-2].ID[:30], i) // before the step's end
		}
		p := s.NewTextPart(m, id, "x")
		p.Data = []byte(data)
		m.Insert(record.NewPart(record.Rewrite(p.Record, membersOf(t, data)...)))
	}
	enrich(t, &s.Messages[damage.Hello], `{"error":{"name":"MessageAbortedError","data":{"message":"x"}},"summary":false,"variant":"x"}`)
	enrich(t, &s.Messages[damage.SecondPrompt], `{"summary":{"title":"x","body":"y","diffs":[{"file":"x","additions":1,"deletions":0}]},"system":"x","tools":{"bash":true},"format":{"type":"text"}}`)
	return s
}

// membersOf returns the members of a JSON object by name.
func membersOf(t *testing.T, data string) []jsonedit.Member {
	t.Helper()
	var names map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &names); err != nil {
		t.Fatal(err)
	}
	var ms []jsonedit.Member
	for name, raw := range names {
		ms = append(ms, jsonedit.Member{Name: name, Raw: raw})
	}
	slices.SortFunc(ms, func(a, b jsonedit.Member) int { return strings.Compare(a.Name, b.Name) })
	return ms
}

// enrich sets the members of data in a message.
func enrich(t *testing.T, m *record.Message, data string) {
	t.Helper()
	r := m.Record
	for _, member := range membersOf(t, data) {
		var err error
		if r.Data, err = jsonedit.Set(r.Data, member.Raw, member.Name); err != nil {
			t.Fatal(err)
		}
	}
	parts := m.Parts
	*m = record.NewMessage(r)
	m.Parts = parts
}

// TestCompleteEveryField removes each field of each record, or sets it to null. A finding about that record is fixed if
// the value is known.
func TestCompleteEveryField(t *testing.T) {
	values := []string{"", "null"}
	all := render.Profiles()
	for _, i := range []int{0, len(damage.Versions) - 1} { // a tree and a database
		version := damage.Versions[i]
		t.Run(version, func(t *testing.T) {
			s, seen := enrichedFixture(t, i), map[string]bool{}
			profiles := []render.Profile{all[0], all[len(all)-1]}
			healthy, faults := violationCounts(s, profiles)
			if j := slices.IndexFunc(faults, func(f finding) bool { return f.Code == render.FailureScreen || f.Code == render.FailureField }); j >= 0 {
				t.Fatalf("the undamaged fixture has the finding %v", faults[j])
			}
			for r := range s.Records {
				kind := textAt(r.Data, "type") + textAt(r.Data, "role") + textAt(r.Data, "state", "status") + fmt.Sprint(len(paths(r.Data)))
				if r.Ref.Kind == change.KindSession || seen[kind] {
					continue
				}
				seen[kind] = true
				for _, path := range paths(r.Data) {
					if slices.Contains([]string{"id", "sessionID", "messageID", "type"}, path[0]) && len(path) == 1 {
						continue // ids are not in the data of a row, and without its type a record is of an unknown kind
					}
					for _, v := range values {
						if notCompleted[strings.Join(path, ".")+"="+v] {
							continue
						}
						broken := alter(t, s, r, v, path)
						testCompletion(t, broken, r, healthy, profiles, fmt.Sprintf("%s of %s = %q", path, r.Ref, v))
					}
				}
			}
		})
	}
}

// notCompleted are values that are reported, and that completing the record does not fix.
var notCompleted = map[string]bool{"finish=null": true}

// alter returns the session with another value at a path of one record. "" removes the value.
func alter(t *testing.T, s *record.Session, r *change.Record, value string, path []string) *record.Session {
	t.Helper()
	data, err := jsonedit.Remove(r.Data, path...)
	if value != "" {
		data, err = jsonedit.Set(r.Data, []byte(value), path...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return replaced(s, withData(*r, data))
}

func testCompletion(t *testing.T, broken *record.Session, r *change.Record, healthy map[faultPlace]int, profiles []render.Profile, name string) {
	t.Helper()
	_, faults := violationCounts(broken, profiles)
	at := slices.IndexFunc(faults, func(f finding) bool {
		return f.Ref == r.Ref && (f.Code == render.FailureScreen || f.Code == render.FailureField)
	})
	if at < 0 {
		return
	}
	fixes := recordFixes(&simulation{s: broken}, faults[at])
	shape := map[change.Kind]string{change.KindMessage: schema.Message, change.KindPart: schema.Part}[r.Ref.Kind]
	_, p := stateOf(caseOf(broken, Options{}, true)).part(r.Ref)
	if m := broken.Message(r.Ref.Message); len(fixes) == 0 && m != nil {
		data := m.Data
		if p != nil {
			data = p.Data
		}
		if _, filled, err := schema.Complete(data, shape, schema.Context{Ref: r.Ref, CallID: "call_1", Time: 1}); err != nil || len(filled) == 0 {
			return // the value is not known, so the finding is only reported
		}
	}
	if after := firstHolding(t, broken, healthy, fixes, profiles); after == nil {
		why := "no fix"
		if len(fixes) > 0 {
			d := edited(t, broken, fixes[0])
			_, left := violationCounts(d, profiles)
			why = fmt.Sprint(fixes[0].Text, left)
		}
		t.Errorf("%s: %s: no fix holds: %s", name, faults[at].Text, why)
	}
}

// TestCompleteMissingOutput: a completed call that has lost its output gets a placeholder, because some providers
// refuse an empty output. An empty output that the agent stored stays.
func TestCompleteMissingOutput(t *testing.T) {
	for i, version := range damage.Versions {
		s := fromStore(t, i, unchanged)
		call := lastOf(s.Messages[damage.OneCall].Parts, (*record.Part).IsTool)
		for name, c := range map[string]struct{ value, want string }{
			"missing": {"", `"[no output recorded]"`},
			"null":    {"null", `"[no output recorded]"`},
			"empty":   {`""`, `""`},
		} {
			result, err := Plan(alter(t, s, &call.Record, c.value, []string{"state", "output"}), Request{Latent: true})
			if err != nil {
				t.Fatal(err)
			}
			_, p := stateOf(caseOf(result.After, Options{}, true)).part(call.Ref)
			if got, _ := jsonedit.Get(p.Data, "state", "output"); string(got) != c.want {
				t.Errorf("%s, %s: output %s, want %s", version, name, got, c.want)
			}
		}
	}
}
