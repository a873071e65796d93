package hookfile_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/hookfile"
)

// TestSettings: adding hooks changes nothing else in the settings. After the hooks are removed the text is as before,
// except that an empty list or object of the user is removed with them.
func TestSettings(t *testing.T) {
	hooks := []hookfile.Hook{
		{Event: "SessionStart", Matcher: "resume", Command: `'/opt/it''s/mend' hook`, Timeout: 10},
		{Event: "SessionEnd", Command: "/opt/mend hook", Timeout: 10},
	}
	isHook := func(command string) bool {
		return strings.HasSuffix(command, "mend' hook") || command == "/opt/mend hook"
	}
	for name, test := range map[string]struct{ before, after string }{ // after is "" if it is equal to before
		"one line":           {`{"a":1.50}`, ""},
		"empty":              {"{}\n", ""},
		"indented":           {"{\n    \"z\": 1e3,\n    \"a\": [1,2]\n}\n", ""},
		"tabs":               {"{\n\t\"a\": {\n\t\t\"b\": null\n\t}\n}", ""},
		"other hooks":        {"{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": []}],\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"date\"}\n        ]\n      }\n    ]\n  },\n  \"é\": \"\\u00e9\"\n}\n", ""},
		"compact hooks":      {`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"date"}]}]}}`, ""},
		"hooks not indented": {"{\n  \"hooks\": {\"SessionStart\": [{\"hooks\": []}]}\n}", ""},
		"carriage returns":   {"{\r\n  \"a\": 1\r\n}\r\n", ""},
		"an empty list":      {`{"hooks":{"SessionStart":[]}}`, `{}`},
		"an empty object":    {`{"a":1,"hooks":{}}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			with, err := hookfile.AddHooks([]byte(test.before), hooks...)
			if err != nil || !json.Valid(with) {
				t.Fatalf("AddHooks = %v\n%s", err, with)
			}
			var found []string
			for _, command := range hookfile.Commands(with) {
				if isHook(command) {
					found = append(found, command)
				}
			}
			if len(found) != 2 {
				t.Errorf("Commands = %q", found)
			}
			removed, err := hookfile.RemoveHooks(with, isHook)
			want := test.after
			if want == "" {
				want = test.before
			}
			if err != nil || string(removed) != want {
				t.Errorf("RemoveHooks = %v\n%s\nwant\n%s\nof\n%s", err, removed, want, with)
			}
			again, err := hookfile.RemoveHooks([]byte(test.before), isHook)
			if err != nil || string(again) != test.before {
				t.Errorf("RemoveHooks of none = %v\n%s", err, again)
			}
		})
	}
	fresh, err := hookfile.AddHooks(nil, hooks[0])
	const want = `{
  "hooks": {
    "SessionStart": [
      {
        "matcher": "resume",
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/it''s/mend' hook",
            "timeout": 10
          }
        ]
      }
    ]
  }
}
`
	if err != nil || string(fresh) != want {
		t.Errorf("AddHooks of no file = %v\n%s", err, fresh)
	}
	for _, bad := range []string{`[]`, `{"hooks":[]}`, `{"hooks":{"SessionStart":{}}}`, "{ // a comment\n}", `{"a":1,}`, "\xef\xbb\xbf{}", `{"a":1}{}`, "nil"} {
		if out, err := hookfile.AddHooks([]byte(bad), hooks...); err == nil {
			t.Errorf("AddHooks(%s) = %s, want an error", bad, out)
		}
	}
	edited := `{"hooks":{"SessionStart":[{"hooks":[{"command":"date"},{"command":"/opt/mend hook"},{"command":"ls"}]}]}}`
	if out, err := hookfile.RemoveHooks([]byte(edited), isHook); err != nil || string(out) != `{"hooks":{"SessionStart":[{"hooks":[{"command":"date"},{"command":"ls"}]}]}}` {
		t.Errorf("RemoveHooks of a hook beside others = %s, %v", out, err)
	}
}

// TestRemoveManyHooks: the hooks of many events are removed in one pass. Other JSON is not changed.
func TestRemoveManyHooks(t *testing.T) {
	settingsWith := func(n int) []byte {
		var events []string
		for i := range n {
			events = append(events, fmt.Sprintf(`"e%d":[{"hooks":[{"command":"mend hook"}]},{"hooks":[{"command":"date"}]}]`, i))
		}
		return []byte(`{"hooks":{` + strings.Join(events, ",") + `}}`)
	}
	isHook := func(command string) bool { return command == "mend hook" }
	allocated := func(n int) uint64 {
		settings := settingsWith(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := hookfile.RemoveHooks(settings, isHook)
		if err != nil || len(hookfile.Commands(out)) != n {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := allocated(100), allocated(1600); large > 32*small {
		t.Errorf("removing the hooks of 1600 events takes %d bytes, of 100 events %d", large, small)
	}
	for _, other := range []string{``, `[]`, `{"hooks":[]}`, `{"hooks":{"a":7,"b":null,"c":"x","d":[7,[],{"hooks":7}]}}`, strings.Repeat(`{"hooks":`, 30000)} {
		if out, err := hookfile.RemoveHooks([]byte(other), isHook); err != nil || string(out) != other {
			t.Errorf("RemoveHooks(%.40s) = %.40s, %v", other, out, err)
		}
	}
}

// TestMarked: hooks are added after a byte order mark if the agent reads files with one, else not at all.
func TestMarked(t *testing.T) {
	const text = "\ufeff{\n  \"cleanupPeriodDays\": 20\n}\n"
	setup := agent.Setup{Program: "/opt/mend"}
	f := hookfile.File{Agent: "a", Marked: true, Disabled: func([]byte) []string { return nil }}
	with, err := f.Install([]byte(text), setup)
	if rest, ok := strings.CutPrefix(string(with), "\ufeff"); err != nil || !ok || !json.Valid([]byte(rest)) {
		t.Fatalf("Install = %q, %v", with, err)
	}
	if status, err := f.Status(with, setup); status.State != agent.Current || err != nil {
		t.Errorf("Status = %+v, %v, want the present hook", status, err)
	}
	if again, err := f.Install(with, setup); string(again) != string(with) || err != nil {
		t.Errorf("Install again = %q, %v", again, err)
	}
	if without, err := f.Uninstall(with); string(without) != text || err != nil {
		t.Errorf("Uninstall = %q, %v, want %q", without, err, text)
	}
	f.Marked = false
	if with, err := f.Install([]byte(text), setup); err == nil {
		t.Errorf("Install for an agent that does not read a byte order mark = %q, want an error", with)
	}
}
