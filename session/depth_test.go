package session

import (
	"errors"
	"strings"
	"testing"
)

// nest is a value in so many lists, or objects.
func nest(open, end, value string, levels int) string {
	return strings.Repeat(open, levels) + value + strings.Repeat(end, levels)
}

// What is as deep as the bound is read, by the scanner and by the library; what is
// deeper is reported, and nothing that is merely long or damaged.
func TestNestsTooDeep(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", "", false},
		{"lists", nest("[", "]", "1", MaxDepth), false},
		{"lists, one more", nest("[", "]", "1", MaxDepth+1), true},
		{"objects", nest(`{"a": `, "}", "1", MaxDepth), false},
		{"objects, one more", nest(`{"a": `, "}", "1", MaxDepth+1), true},
		{"a byte order mark", "\ufeff" + nest("[", "]", "1", MaxDepth+1), true},
		{"cut off", strings.Repeat(`{"a":[1,`, MaxDepth), true},
		{"cut off at the bound", strings.Repeat(`[`, MaxDepth), false},
		{"brackets in a string", `{"a":"` + strings.Repeat("[", 2*MaxDepth) + `"}`, false},
		{"behind a wrong character", `{"a":x` + strings.Repeat("[", 2*MaxDepth), false},
		{"many", "[" + strings.Repeat("[],", MaxDepth) + "[]]", false},
	} {
		if got := NestsTooDeep([]byte(c.text)); got != c.want {
			t.Errorf("%s: NestsTooDeep = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDepthOfRecords(t *testing.T) {
	for _, escaped := range []string{"a", `\u0061`} { // with an escape in a name the library reads it
		for extra, want := range map[int]bool{0: false, 1: true} {
			data := `{"id":"prt_1","type":"tool","` + escaped + `":` + nest("[", "]", "1", MaxDepth-1+extra) + `}`
			p := NewPart(Record{Ref: Ref{Kind: KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_1"}, Data: []byte(data)})
			if p.Unreadable() != want || p.Malformed() != want {
				t.Errorf("a part of %d levels, %q: %+v, want it unreadable: %v", MaxDepth+extra, escaped, p.Defect, want)
			}
			s := Session{ID: "ses_1", Messages: []Message{{Parts: []Part{p}}}}
			var deep *DepthError
			if got := errors.As(s.CheckDepth(), &deep); got != want {
				t.Errorf("a part of %d levels: CheckDepth reports it: %v, want %v", MaxDepth+extra, got, want)
			}
		}
	}
	column := Session{Info: Record{Ref: Ref{Kind: KindSession, Session: "ses_1"}, Cols: []Col{TextCol("revert", nest("[", "]", "1", MaxDepth+1))}}}
	if column.CheckDepth() == nil {
		t.Error("CheckDepth reports no column that nests too deep")
	}
}

// An object that was not read to its end is kept in part where the agent knows what
// is in it, and no deeper.
func TestSalvageDeep(t *testing.T) {
	v := Salvage([]byte(`{"x":1,"a":` + strings.Repeat(`{"a":`, MaxDepth-1)))
	if want := `{"x":1,"a":` + nest(`{"a":`, "}", "{}", keptDepth-2) + "}"; string(v.Data) != want || len(v.Cut) != keptDepth {
		t.Errorf("Salvage gives %s, cut at %q, want %s", v.Data, v.Cut, want)
	}
}

func TestEditMembers(t *testing.T) {
	edit := func(name string, raw []byte) ([]byte, bool) {
		if name == "set" {
			return []byte(`"x"`), true
		}
		return raw, name != "gone"
	}
	for data, want := range map[string]string{
		`{}`:                                    `{}`,
		`{ "gone": 1 }`:                         `{}`,
		`{"a":1 , "set" :2, "gone":[1],"b":3 }`: `{"a":1 , "set" :"x","b":3 }`,
		`{"gone":1,"set":1,"gone":2,"set":2}`:   `{"set":1,"set":"x"}`,
	} {
		if got, err := EditMembers([]byte(data), edit); err != nil || string(got) != want {
			t.Errorf("EditMembers(%s) = %s, %v, want %s", data, got, err, want)
		}
	}
	if _, err := EditMembers([]byte(`[]`), edit); err == nil {
		t.Error("EditMembers of a list gives no error")
	}
}
