//go:build e2e

package opencode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/internal/test/endpoint"
	fixture "mend/internal/test/opencode"
	"mend/internal/test/storetest"
	"mend/repair"
)

// A lostHome is a home with a session that the real program made and mend kept.
type lostHome struct {
	*fixture.Home
	t       *testing.T
	session string
	client  *mend.Store
	journal *mend.Journal
	head    change.Head
}

// call calls the API of a server in the folder of the project, and returns the reply.
func (h *lostHome) call(s *fixture.Server, method, path string, body any) (int, string) {
	h.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, s.URL+path+"?directory="+url.QueryEscape(h.Project()), bytes.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// git runs git in the project.
func (h *lostHome) git(args ...string) {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir = h.Project()
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (h *lostHome) isListed(s *fixture.Server) bool {
	h.t.Helper()
	_, reply := h.call(s, http.MethodGet, "/session", nil)
	var all []struct {
		ID   string
		Time struct{ Archived any }
	}
	if err := json.Unmarshal([]byte(reply), &all); err != nil {
		h.t.Fatalf("%v: %s", err, reply)
	}
	for _, x := range all {
		if x.ID == h.session && x.Time.Archived == nil {
			return true
		}
	}
	return false
}

// request sends one more prompt. It returns which of the earlier prompts are in that request, and its number of turns.
func (h *lostHome) request(s *fixture.Server) string {
	h.t.Helper()
	r := s.Prompt(h.session, "one more")
	if r.Verdict != fixture.Alive || len(r.Calls) == 0 {
		return fmt.Sprintf("%s, HTTP %d: %.200s", r.Verdict, r.Code, r.Output)
	}
	var all []string
	raw := string(r.Calls[len(r.Calls)-1].Raw)
	for i := range 5 {
		if p := fmt.Sprintf("prompt number %d", i); strings.Contains(raw, `"`+p) {
			all = append(all, p)
		}
	}
	return fmt.Sprintf("%s, %d turns", strings.Join(all, ", "), len(r.Calls[len(r.Calls)-1].Request.Messages))
}

func (h *lostHome) propose() (done mend.Restored, err error) {
	h.t.Helper()
	kerr := h.journal.Kept(keep.Options{}, func(k *keep.Keep) error {
		done, err = h.client.ProposeRestore(h.t.Context(), k, h.head, mend.RestoreRequest{})
		return nil
	})
	return done, errors.Join(err, kerr)
}

// TestRealRestore loses a session of the real program in several ways: after the restore the program lists the session
// and continues with all messages. An undo of the restore restores the state after the loss.
func TestRealRestore(t *testing.T) {
	for _, version := range []string{"1.18.34", "1.2.27"} {
		for i, c := range []struct {
			name  string
			lose  func(h *lostHome, s *fixture.Server) // s is running, and lose closes it
			state string
		}{
			{"deleted by the program", func(h *lostHome, s *fixture.Server) {
				if status, reply := h.call(s, http.MethodDelete, "/session/"+h.session, nil); status != http.StatusOK {
					h.t.Fatalf("HTTP %d: %s", status, reply)
				}
				s.Close()
			}, mend.Deleted},
			{"archived by the program", func(h *lostHome, s *fixture.Server) {
				if status, reply := h.call(s, http.MethodPatch, "/session/"+h.session, map[string]any{"time": map[string]any{"archived": 1764000000000}}); status != http.StatusOK {
					h.t.Fatalf("HTTP %d: %s", status, reply)
				}
				s.Close()
			}, string(repair.Archived)},
			{"reverted, then prompted", func(h *lostHome, s *fixture.Server) {
				_, reply := h.call(s, http.MethodGet, "/session/"+h.session+"/message", nil)
				var all []struct{ Info struct{ ID, Role string } }
				if err := json.Unmarshal([]byte(reply), &all); err != nil || len(all) < 4 {
					h.t.Fatalf("%v: %s", err, reply)
				}
				if status, reply := h.call(s, http.MethodPost, "/session/"+h.session+"/revert", map[string]any{"messageID": all[2].Info.ID}); status != http.StatusOK {
					h.t.Fatalf("HTTP %d: %s", status, reply)
				}
				if r := s.Prompt(h.session, "prompt number 4"); r.Verdict != fixture.Alive {
					h.t.Fatal(r.Output)
				}
				s.Close()
			}, mend.Undone},
			{"of a project entry that was replaced", func(h *lostHome, s *fixture.Server) {
				s.Close()
				h.git("commit", "-q", "--allow-empty", "--amend", "-m", "another root")
				if err := os.Remove(filepath.Join(h.Project(), ".git", "opencode")); err != nil {
					h.t.Fatal(err)
				}
				s = h.Serve()
				if h.isListed(s) {
					h.t.Fatal("the session is still listed")
				}
				s.Close()
			}, string(repair.Hidden)},
			{"of a repository that became a plain folder", func(h *lostHome, s *fixture.Server) {
				s.Close()
				if err := os.RemoveAll(filepath.Join(h.Project(), ".git")); err != nil {
					h.t.Fatal(err)
				}
				s = h.Serve()
				if h.isListed(s) {
					h.t.Fatal("the session is still listed")
				}
				s.Close()
			}, string(repair.Hidden)},
			{"deleted with its project", func(h *lostHome, s *fixture.Server) {
				s.Close()
				dbtest.Alter(h.t, filepath.Join(h.DataDir(), "opencode.db"), "delete from part", "delete from message", "delete from session", "delete from project")
			}, mend.Deleted},
		} {
			t.Run(version+" "+c.name, func(t *testing.T) {
				if i > 0 {
					storetest.Long(t)
				}
				exe, err := fixture.Install(version)
				if err != nil {
					t.Skip(err)
				}
				api := endpoint.New(endpoint.Plain)
				t.Cleanup(api.Close)
				h := &lostHome{Home: fixture.New(t, exe, api, false), t: t}
				h.git("init", "-q")
				h.git("commit", "-q", "--allow-empty", "-m", "first")
				s := h.Serve()
				_, reply := h.call(s, http.MethodPost, "/session", map[string]any{})
				var made struct{ ID string }
				if err := json.Unmarshal([]byte(reply), &made); err != nil || made.ID == "" {
					t.Fatalf("%v: %s", err, reply)
				}
				h.session = made.ID
				for i := range 3 {
					if r := s.Prompt(h.session, fmt.Sprintf("prompt number %d", i)); r.Verdict != fixture.Alive {
						t.Fatal(r.Output)
					}
				}
				s.Close()
				dir, db := t.TempDir(), filepath.Join(h.DataDir(), "opencode.db")
				h.journal = mend.OpenJournal(filepath.Join(dir, "journal"))
				h.client, err = mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: db, Journal: h.journal, Cache: filepath.Join(dir, "cache")})
				if err == nil {
					h.head, err = h.client.Session(t.Context(), h.session)
				}
				if err == nil {
					err = h.journal.Kept(keep.Options{}, func(k *keep.Keep) error {
						return h.client.KeepAll(t.Context(), k, []change.Head{h.head}, mend.KeptAsked, false, func(int, mend.Kept) {})
					})
				}
				if err != nil {
					t.Fatal(err)
				}
				c.lose(h, h.Serve())
				lost := dbtest.DumpRows(t, db)
				done, err := h.propose()
				if c.state == mend.Undone && version == "1.2.27" { // it records no removal
					c.state = mend.Shortened
				}
				if err != nil || done.State != c.state || len(done.Plan.Ops) == 0 {
					t.Fatalf("state %q, want %q, %d ops, %v", done.State, c.state, len(done.Plan.Ops), err)
				}
				e, err := h.client.Apply(t.Context(), done.Plan)
				if err != nil {
					t.Fatal(err)
				}
				restored := dbtest.DumpRows(t, db)
				apply := func(p change.Plan, err error) {
					t.Helper()
					if err == nil {
						_, err = h.client.Apply(t.Context(), p)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				apply(h.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}}))
				if now := dbtest.DumpRows(t, db); now != lost {
					t.Error("after the undo the rows are not as after the loss")
				}
				apply(h.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}, Redo: true}))
				if now := dbtest.DumpRows(t, db); now != restored {
					t.Error("after the redo the rows are not as after the restore")
				}
				s = h.Serve()
				if !h.isListed(s) {
					t.Error("after the restore the session is not listed")
				}
				want := "prompt number 0, prompt number 1, prompt number 2, 7 turns"
				if c.state == mend.Shortened || c.state == mend.Undone {
					want = "prompt number 0, prompt number 1, prompt number 2, prompt number 4, 9 turns"
				}
				if got := h.request(s); got != want {
					t.Errorf("after the restore the request has %s, want %s", got, want)
				}
				s.Close()
			})
		}
	}
}
