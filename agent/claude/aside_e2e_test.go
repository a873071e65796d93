//go:build e2e

package claude_test

import (
	"strings"
	"testing"

	fixture "mend/internal/test/claude"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestRealSetAside sets aside an answer that the provider refuses and that mend does not fix. Claude Code then sends
// the messages before and after it, and continues the session. An undo restores each byte.
func TestRealSetAside(t *testing.T) {
	storetest.Long(t)
	h := fixture.NewHome(t, install(t))
	data := fixture.ByName("unknown block").Broken()
	h.Put(fixture.Session, data)
	if r := h.Prompt(fixture.Session, prompt, true); r.Answered {
		t.Fatal("the damaged session is answered")
	}
	h.Put(fixture.Session, data)
	c := client(t, h)
	setAside := func() (id string) {
		head, err := c.Session(t.Context(), fixture.Session)
		must(t, err)
		r, err := c.ProposeRepair(t.Context(), head, repair.Request{SetAside: true})
		if err != nil || len(r.LeftOut) != 1 || len(r.Unfixable) > 0 {
			t.Fatalf("left out: %v, unfixable: %+v, %v", r.LeftOut, r.Unfixable, err)
		}
		e, err := c.Apply(t.Context(), r.Plan)
		must(t, err)
		return e.ID
	}
	checkUndo(t, c, h, fixture.Session, setAside(), data)
	setAside()
	want := expectedCase(h.Read(fixture.Session))
	r := h.Prompt(fixture.Session, prompt, true)
	compareRequest(t, "set aside", want, r)
	all := strings.Join(r.Blocks, "\n")
	if !r.Answered || strings.Contains(all, "novelty") || !strings.Contains(all, "P1first") || !strings.Contains(all, "P4") {
		t.Errorf("answered: %t; the request has\n%s", r.Answered, all)
	}
	if r := h.Prompt(fixture.Session, "again", true); !r.Answered {
		t.Error("the second prompt is not answered")
	}
}
