//go:build e2e

package claude_test

import (
	"fmt"
	"slices"
	"testing"

	fixture "mend/internal/test/claude"
	"mend/repair"
)

// TestRealStubs compares mend with the real program on transcripts that have lost nearly everything: mend finds them
// broken if the program does not answer, and expects the right request. After a repair without remaining broken
// findings the program answers.
func TestRealStubs(t *testing.T) {
	cmd := install(t)
	for _, s := range fixture.Stubs() {
		if testing.Short() && !fixture.Everyday(s.Name) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			h := fixture.NewHome(t, cmd)
			h.Put(fixture.Session, s.Data)
			c := expectedCase(s.Data)
			r := h.Prompt(fixture.Session, prompt, true)
			if broken := slices.ContainsFunc(repair.Diagnose(c), isBroken); broken == r.Answered || broken != s.Dies {
				t.Errorf("answered %t, mend says broken %t, want %t: %s", r.Answered, broken, s.Dies, r.Output)
			}
			compareRequest(t, "before", c, r)
			h.Put(fixture.Session, s.Data)
			id, result, err := repairSession(t, client(t, h), fixture.Session)
			must(t, err)
			if after := h.Prompt(fixture.Session, prompt, true); id != "" && !slices.ContainsFunc(result.Remaining, isBroken) && !after.Answered {
				t.Errorf("after the repair: %s", after.Output)
			}
		})
	}
}

// TestRealOtherFolder continues a session in a folder other than the folder where it began: the newest version finds
// the session by its id, and none by --continue.
func TestRealOtherFolder(t *testing.T) {
	onVersions(t, func(t *testing.T, version string, h *fixture.Home) {
		data := fixture.New().Bytes()
		h.Put(fixture.Session, data)
		same, other := h.Prompt("", prompt, true), h.In("elsewhere")
		if len(same.Blocks) < 40 {
			t.Errorf("--continue in the folder sends %d blocks", len(same.Blocks))
		}
		h.Put(fixture.Session, data)
		anywhere := version == fixture.Versions[0]
		if r := other.Prompt(fixture.Session, prompt, true); r.Answered != anywhere || anywhere && len(r.Blocks) != len(same.Blocks) || (len(h.Read(fixture.Session)) > len(data)) != anywhere || anywhere && len(other.Sessions()) > 0 {
			t.Errorf("--resume elsewhere: answered %t, %d blocks, sessions there %v: %s", r.Answered, len(r.Blocks), other.Sessions(), r.Output)
		}
		if r := other.Prompt("", prompt, true); !r.Answered || len(r.Blocks) > 0 || len(other.Sessions()) == 0 {
			t.Errorf("--continue elsewhere: answered %t, %d blocks, sessions there %v: %s", r.Answered, len(r.Blocks), other.Sessions(), r.Output)
		}
	})
}

// TestRealRefusedFile continues sessions after Claude Code or the provider has refused a file in them: with each error
// Claude Code leaves out one more file. mend finds the session broken only as long as the next prompt is refused, and its
// repair does not make Claude Code leave out another file.
func TestRealRefusedFile(t *testing.T) {
	cmd := install(t)
	for _, name := range []string{"large image in the last prompt", "large image in an early prompt", "large image in a result", "two large images in early prompts", "image of another type"} {
		if testing.Short() && name != "large image in the last prompt" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := fixture.NewHome(t, cmd)
			h.Put(fixture.Session, fixture.ByName(name).Broken())
			for n := range 4 {
				refused := h.Prompt(fixture.Session, fmt.Sprint("attempt ", n), true)
				data := h.Read(fixture.Session)
				c := expectedCase(data)
				r := h.Prompt(fixture.Session, prompt, true)
				compareRequest(t, "before", c, r)
				if broken := slices.ContainsFunc(repair.Diagnose(c), isBroken); broken == r.Answered {
					t.Errorf("after error %d (%s): answered %t, mend says broken %t: %s", n+1, refused.Output, r.Answered, broken, r.Output)
				}
				h.Put(fixture.Session, data)
				id, _, err := repairSession(t, client(t, h), fixture.Session)
				if must(t, err); (id == "") != r.Answered {
					t.Errorf("after error %d: answered %t, repair %q", n+1, r.Answered, id)
				}
				c = expectedCase(h.Read(fixture.Session))
				after := h.Prompt(fixture.Session, prompt, true)
				if compareRequest(t, "after", c, after); !after.Answered || after.Rule != r.Rule {
					t.Errorf("after the repair %q: rule %s: %s", id, after.Rule, after.Output)
				}
				h.Put(fixture.Session, data)
				if r.Answered {
					break
				}
			}
		})
	}
}
