//go:build e2e

package tree

import (
	"testing"
	"time"

	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/testdata"
)

// TestHeldByRealServer: Held finds the real program for the store of its own data folder, and not for another store,
// before and after the program has written there.
func TestHeldByRealServer(t *testing.T) {
	exe, err := opencode.Install("1.1.53")
	must(t, err)
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h, other := opencode.New(t, exe, api, true), opencode.New(t, exe, api, true)
	id := h.Unpack(testdata.OpenCode1153)
	other.Unpack(testdata.OpenCode1153)
	s, o := mustOpen(t, h.DataDir(), Options{}), mustOpen(t, other.DataDir(), Options{})
	before := time.Now()
	server := h.Serve()
	check := func(when string) {
		t.Helper()
		if since, err := s.Held(t.Context()); err != nil || since.Before(before.Add(-time.Second)) || since.After(time.Now()) {
			t.Errorf("%s: Held = %v, %v, want about %v", when, since, err, before)
		}
		if since, err := o.Held(t.Context()); err != nil || !since.IsZero() {
			t.Errorf("%s: Held of the other store = %v, %v, want no time", when, since, err)
		}
	}
	check("at the start")
	if r := server.Prompt(id, "one more"); r.Verdict != opencode.Alive {
		t.Fatalf("the prompt is %s: %.500s", r.Verdict, r.Output)
	}
	check("after a prompt")
	server.Close()
	if since, err := s.Held(t.Context()); err != nil || !since.IsZero() {
		t.Errorf("after the server has ended: Held = %v, %v", since, err)
	}
}
