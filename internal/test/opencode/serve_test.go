//go:build e2e

package opencode

import (
	"net"
	"strings"
	"testing"
	"time"

	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

// TestServe: a server reads the store again for every prompt, so a session that was repaired meanwhile works.
func TestServe(t *testing.T) {
	storetest.Long(t)
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			h, session := damagedHome(t, i, damage.Text(damage.Hello, " "))
			h.rename() // TestLiveWatchUpgrade of another package may run
			s := h.Serve()
			if r := s.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Errorf("Prompt after a blank answer = %s, want R11; status %d, reply:\n%s", r.Verdict, r.Code, tail(r.Output))
			}
			damage.Text(damage.Hello, "mended")(h.Store(session))
			if r := s.Prompt(session, "one more"); r.Verdict != Alive {
				t.Errorf("Prompt after the fix = %s, want %s; status %d, reply:\n%s", r.Verdict, Alive, r.Code, tail(r.Output))
			}
		})
	}
}

// TestServeAt: a server starts on its port after another program has stopped using it.
func TestServeAt(t *testing.T) {
	storetest.Long(t)
	h, session := damagedHome(t, len(damage.Versions)-1, func(damage.Store) {})
	h.rename()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	time.AfterFunc(5*time.Second, func() { _ = l.Close() })
	s := h.ServeAt(port)
	if r := s.Prompt(session, "hello"); r.Verdict != Alive || !strings.HasSuffix(s.URL, ":"+port) {
		t.Errorf("Prompt at %s = %s, want %s at port %s; reply:\n%s", s.URL, r.Verdict, Alive, port, tail(r.Output))
	}
}
