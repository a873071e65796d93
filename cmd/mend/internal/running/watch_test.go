package running

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/claude"
)

// TestWatchBusyUnread: a session in use is not read again at each try, but as soon as the process has ended.
func TestWatchBusyUnread(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "projects", "-p", claude.Session+".jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, claude.ByName("parent unknown").Broken(), 0o600)); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip(err)
	}
	start := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[22-3]
	process := filepath.Join(root, "sessions", fmt.Sprintf("%d.json", os.Getpid()))
	text := fmt.Sprintf(`{"pid":%d,"procStart":%q,"sessionId":%q,"status":"idle"}`, os.Getpid(), start, claude.Session)
	if err := errors.Join(os.Mkdir(filepath.Dir(process), 0o700), os.WriteFile(process, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	env := &frame.Env{Terminal: &term.Terminal{Out: &out, Err: &out, Width: 80}, Opt: mend.Options{Agents: agents.All, Store: root, Journal: mend.OpenJournal(t.TempDir())}}
	c, err := frame.LoadSettingsFrom(filepath.Join(root, "none"), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mend.Open(env.Opt)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := client.Sessions(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("%d sessions, %v", len(heads), err)
	}
	log := slog.New(slog.DiscardHandler)
	w := &watcher{Env: env, config: c, log: log, left: map[string]string{}}
	handle := w.options(client).Handle
	for n := range 3 {
		again := handle(t.Context(), heads[0])
		if !again || (n > 0) != strings.Contains(out.String(), "It is left unchanged") {
			t.Errorf("try %d: again %t, %q", n, again, &out)
		}
		if n == 1 {
			if err := os.Remove(path); err != nil { // so that a read fails
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(process); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // a list of processes is reused for a second
	if handle(t.Context(), heads[0]) {
		t.Error("the session was not read after the process had ended")
	}
}
