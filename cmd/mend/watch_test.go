package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/running"
	"mend/internal/mend"
	"mend/internal/test/claude"
	"mend/journal"
)

// sessionRecord returns the record of a session, and its path.
func sessionRecord(t *testing.T, store, session string) (path string, record map[string]any) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(store, "session", "*", session+".json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("records of the session: %v, %v", paths, err)
	}
	if err := json.Unmarshal([]byte(readFile(t, paths[0])), &record); err != nil {
		t.Fatal(err)
	}
	return paths[0], record
}

// touchSession sets the time of a session to now, as OpenCode does at each prompt.
func touchSession(t *testing.T, store, session string) {
	t.Helper()
	path, record := sessionRecord(t, store, session)
	record["time"].(map[string]any)["updated"] = time.Now().UnixMilli()
	data, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// nextEvent returns the next event of watch, which must be of that kind.
func nextEvent(t *testing.T, lines *bufio.Scanner, want string) (e running.WatchEvent) {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("no event %q: %v", want, lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Event != want {
		t.Fatalf("event %s, %v; want %q", lines.Text(), err, want)
	}
	return e
}

// TestWatchVerb: "mend watch" repairs a session whose turn failed, and prints its answer at the end.
func TestWatchVerb(t *testing.T) {
	t.Parallel()
	store, session := blankTextStore(t)
	r := startMend(t, store, "watch", "--json", "--set", "watchPollSeconds=1", "--set", "retentionDays=1")
	lines := bufio.NewScanner(r.out)
	if e := nextEvent(t, lines, "following"); *e.Sessions != 1 || e.Agent != "opencode" {
		t.Errorf("following: %+v", e)
	}
	addFailedMessage(t, store, session, time.Now())
	touchSession(t, store, session)
	e := nextEvent(t, lines, "repaired")
	if e.Session != session || e.Repair == nil || e.Undo != "mend undo "+e.Repair.ID || e.Repair.Cause.Text != refusal {
		t.Errorf("repaired: %+v", e)
	}
	go r.stop()
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		t.Errorf("watch = %v", err)
	}
	if es, err := mend.OpenJournal(r.Opt.Journal.Dir).Log(journal.Query{}); err != nil || len(es) != 1 {
		t.Errorf("%d entries, %v; want 1", len(es), err)
	}
}

// failedClaudeStore returns a store of Claude Code whose session ends with an error of the provider, and the
// transcript.
func failedClaudeStore(t *testing.T, text string) (root, path string) {
	t.Helper()
	transcript := claude.New().Bytes()
	last := ""
	for line := range bytes.Lines(transcript) {
		var r struct{ UUID, Type string }
		if json.Unmarshal(line, &r) == nil && r.UUID != "" && r.Type == "assistant" {
			last = r.UUID
		}
	}
	failed, err := json.Marshal(map[string]any{
		"parentUuid": last, "isSidechain": false, "type": "assistant", "uuid": "11111111-1111-4111-8111-111111111111", "sessionId": claude.Session,
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "isApiErrorMessage": true, "version": claude.Versions[0], "cwd": "/p", "userType": "external",
		"message": map[string]any{"id": "1", "type": "message", "role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": text}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	path = filepath.Join(root, "projects", "-p", claude.Session+".jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, append(transcript, append(failed, '\n')...), 0o600)); err != nil {
		t.Fatal(err)
	}
	return root, path
}

const badSignature = "API Error: 400 messages.1.content.0: Invalid `signature` in `thinking` block"

// TestWatchClaudeError: a session of Claude Code whose transcript ends with an error of the provider is repaired once.
func TestWatchClaudeError(t *testing.T) {
	root, _ := failedClaudeStore(t, badSignature)
	journal := t.TempDir()
	code, out := runMend(t, root, journal, "watch", "--once", "--json")
	var e running.WatchEvent
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&e); err != nil || code != frame.ExitDone || e.Event != "repaired" || e.Agent != "claude" || e.Repair == nil || e.Repair.Cause.Text != badSignature {
		t.Errorf("watch: %d, %v: %s", code, err, out)
	}
	if code, out := runMend(t, root, journal, "watch", "--once", "--json"); code != frame.ExitDone || strings.Contains(out, `"event"`) {
		t.Errorf("the second watch: exit code %d: %s", code, out)
	}
}
