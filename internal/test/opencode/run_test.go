//go:build e2e

package opencode

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// fixtures are the archives of [damage.Versions].
var fixtures = [...][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833}

func install(t *testing.T, version string) string {
	t.Helper()
	exe, err := Install(version)
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// damagedHome returns a home with the damaged fixture of a version, by number, and the
// session's id.
func damagedHome(t *testing.T, version int, apply func(damage.Store)) (*Home, string) {
	t.Helper()
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := New(t, install(t, damage.Versions[version]), api, true)
	session := h.Unpack(fixtures[version])
	apply(h.Store(session))
	return h, session
}

// TestContinue: the fixtures are healthy: the real program continues them, runs tools and sends their results.
func TestContinue(t *testing.T) {
	storetest.Long(t)
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			h, session := damagedHome(t, i, func(damage.Store) {})
			r := h.Continue(session, "please TOOLS again")
			if r.Verdict != Alive || r.Code != 0 || r.TimedOut || r.Session != session {
				t.Fatalf("Continue(%s) = %s, exit %d, session %s; output:\n%s", session, r.Verdict, r.Code, r.Session, tail(r.Output))
			}
			if len(r.Calls) != 2 {
				t.Fatalf("Continue sent %d requests, want 2", len(r.Calls))
			}
			messages := r.Calls[1].Request.Messages
			want := endpoint.Content{
				{Type: "tool_result", ToolUseID: r.Calls[0].Answer[2].ID, Content: endpoint.Content{endpoint.Text("one\n")}},
				{Type: "tool_result", ToolUseID: r.Calls[0].Answer[3].ID, Content: endpoint.Content{endpoint.Text("two\n")}},
			}
			if got := messages[len(messages)-1].Content; !reflect.DeepEqual(got, want) {
				t.Errorf("last turn of the second request = %+v, want %+v", got, want)
			}
			if got, want := messages[len(messages)-2].Content, r.Calls[0].Answer; !reflect.DeepEqual(got, want) {
				t.Errorf("answer sent back = %+v, want %+v", got, want)
			}
		})
	}
}

// TestRun: a new session thinks exactly if its home is configured so.
func TestRun(t *testing.T) {
	for _, version := range damage.Versions {
		for _, thinking := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/thinking %t", version, thinking), func(t *testing.T) {
				api := endpoint.New(nil)
				t.Cleanup(api.Close)
				h := New(t, install(t, version), api, thinking)
				r := h.Run("please TOOL")
				if r.Verdict != Alive || r.Code != 0 || r.Session == "" || len(r.Calls) != 2 {
					t.Fatalf("Run = %s, exit %d, session %q, %d requests; output:\n%s", r.Verdict, r.Code, r.Session, len(r.Calls), tail(r.Output))
				}
				for _, c := range r.Calls {
					if got := c.Request.Thinking.On(); got != thinking {
						t.Errorf("request %d: thinking %t, want %t", c.N, got, thinking)
					}
				}
			})
		}
	}
}

// TestThinkingTurnedOff: the thinking of earlier responses is sent and accepted even if thinking is now off.
func TestThinkingTurnedOff(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			api := endpoint.New(nil)
			t.Cleanup(api.Close)
			h := New(t, install(t, version), api, false)
			r := h.Continue(h.Unpack(fixtures[i]), "one more")
			if r.Verdict != Alive || len(r.Calls) == 0 {
				t.Fatalf("Continue = %s, %d requests, want %s; output:\n%s", r.Verdict, len(r.Calls), Alive, tail(r.Output))
			}
			if body := string(r.Calls[0].Raw); !strings.Contains(body, `"type":"thinking"`) {
				t.Errorf("no thinking in the request: %.600s", body)
			}
		})
	}
}

// TestDirectoryGone: OpenCode 1.18 answers no prompt in a session with a missing directory.
func TestDirectoryGone(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			h, session := damagedHome(t, i, func(s damage.Store) {
				if db, ok := s.(damage.Database); ok { // the directory of the tree's fixture is missing
					db.SQL("update session set directory = '/gone'")
				}
			})
			r := h.Continue(session, "one more")
			if want := [3]string{Alive, Alive, Dead}[i]; r.Verdict != want {
				t.Errorf("Continue = %s, want %s; output:\n%s", r.Verdict, want, tail(r.Output))
			}
		})
	}
}

// TestDamages: each kind of damage has its recorded effect on one version, the versions in turn. TestMatrix of cmd/mend
// does the same with a server, in a tenth of the time.
func TestDamages(t *testing.T) {
	for n, w := range damage.Table {
		i := n % len(damage.Versions)
		if testing.Short() && n%16 > 0 {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", damage.Versions[i], w.Name), func(t *testing.T) {
			t.Parallel()
			h, session := damagedHome(t, i, w.Apply)
			r := h.Continue(session, "one more")
			if r.Verdict != w.Want[i] {
				t.Errorf("Continue after %q = %s, want %s; exit %d, output:\n%s", w.Name, r.Verdict, w.Want[i], r.Code, tail(r.Output))
			}
		})
	}
}

// tail returns the end of a long output.
func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-2000):]
}
