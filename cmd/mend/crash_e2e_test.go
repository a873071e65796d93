//go:build e2e

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// TestRealCrash: a session is in use while the real program answers in it, and no longer after the program was
// killed.
func TestRealCrash(t *testing.T) {
	for i, version := range []string{"1.1.53", "1.18.34"} {
		t.Run(version, func(t *testing.T) {
			exe, err := opencode.Install(version)
			if err != nil {
				t.Fatal(err)
			}
			asked, release := make(chan bool, 16), make(chan bool)
			api := endpoint.New(func(n int, r endpoint.Request) endpoint.Content {
				asked <- true
				<-release
				return uniqueAnswer(n, r)
			})
			t.Cleanup(api.Close)
			t.Cleanup(func() { close(release) })
			h := opencode.New(t, exe, api, false)
			session := h.Unpack(fixtures[2*i])
			store := filepath.Join(h.DataDir(), "opencode.db")
			if i == 0 {
				store = filepath.Join(h.DataDir(), "storage")
			}
			server := h.Serve()
			go server.Prompt(session, "one more")
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Fatal("the program does not ask the provider")
			}
			repair := func() (int, string) {
				return runMend(t, store, filepath.Join(t.TempDir(), "journal"), "repair", session, "--yes")
			}
			if code, out := repair(); code != frame.ExitRefused || !strings.Contains(strings.Join(strings.Fields(out), " "), "the last answer is not finished") {
				t.Errorf("while the program works: mend fix: exit code %d: %s", code, out)
			}
			server.Close()
			if code, out := repair(); code == frame.ExitRefused {
				t.Errorf("after it was killed: mend fix: exit code %d: %s", code, out)
			}
		})
	}
}
