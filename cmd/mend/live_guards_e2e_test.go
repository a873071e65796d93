//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// A guardModel is a scripted model. The first word of a prompt names a list of tool calls. The model makes one call
// after another, and then answers "All done".
type guardModel struct {
	project string
	calls   map[string][]endpoint.Block // by a word of the prompt
	hang    chan struct{}               // a prompt with the word HANG is answered when it is closed
}

// call adds a tool call to the list of a word. A string is used as the input unchanged, even if it is not JSON.
func (m *guardModel) call(word, tool string, input any) {
	text, ok := input.(string)
	if !ok {
		data, _ := json.Marshal(input)
		text = string(data)
	}
	id := fmt.Sprintf("toolu_%s%d", word, len(m.calls[word]))
	m.calls[word] = append(m.calls[word], endpoint.Block{Type: "tool_use", ID: id, Name: tool, Input: json.RawMessage(text)})
}

func (m *guardModel) file(name string) string { return filepath.Join(m.project, name) }

func (m *guardModel) answer(n int, r endpoint.Request) endpoint.Content {
	if r.IsTitle() {
		return endpoint.Content{endpoint.Text("A title")}
	}
	word, done := "", 0
	for _, message := range r.Messages {
		for _, b := range message.Content {
			if b.Type == "tool_result" {
				done++
			}
			if first, _, _ := strings.Cut(b.Text, " "); b.Type == "text" && message.Role == "user" && first == strings.ToUpper(first) {
				word, done = first, 0
			}
		}
	}
	if word == "HANG" {
		<-m.hang
	}
	if word != "ONCE" && done < len(m.calls[word]) {
		return endpoint.Content{m.calls[word][done]}
	}
	return endpoint.Content{endpoint.Text(fmt.Sprintf("All done %d.", n))}
}

// TestLiveGuards: in the real program a write to a file that was not read is refused, failed edits and malformed calls
// get one instruction at a fixed position, no instruction is stored, and a silent subagent is noticed, ended and
// started again.
func TestLiveGuards(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for i, version := range damage.Versions {
		if testing.Short() && version != "1.18.33" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testLiveGuards(t, version, fixtures[i])
		})
	}
}

func testLiveGuards(t *testing.T, version string, archive []byte) {
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	m := &guardModel{calls: map[string][]endpoint.Block{}, hang: make(chan struct{})}
	api := endpoint.New(m.answer)
	t.Cleanup(api.Close)
	t.Cleanup(func() { close(m.hang) })
	h := opencode.New(t, exe, api, false)
	m.project = h.Project()
	session := h.Unpack(archive)
	installPlugin(t, h)
	configure(t, h, `{"hooks": "all", "stuckAfter": 2, "watchSubagents": "retry", "preflightMs": 20000}`)
	editPlugin(t, h, "this.waits[asked.hook]", "60 * this.waits[asked.hook]") // on a busy machine
	for _, name := range []string{"unread.txt", "read.txt", "part.txt"} {
		if err := os.WriteFile(m.file(name), []byte("one\ntwo\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type input = map[string]any
	m.call("WRITE", "write", input{"filePath": m.file("unread.txt"), "content": "new"})
	m.call("WRITE", "read", input{"filePath": m.file("part.txt"), "limit": 1})
	m.call("WRITE", "write", input{"filePath": m.file("part.txt"), "content": "new"})
	m.call("WRITE", "read", input{"filePath": m.file("read.txt")})
	m.call("WRITE", "write", input{"filePath": "read.txt", "content": "new"})
	m.call("WRITE", "edit", input{"filePath": m.file("read.txt"), "oldString": "new", "newString": "newer"})
	m.call("WRITE", "write", input{"filePath": m.file("read.txt"), "content": "newest"})
	m.call("WRITE", "write", input{"filePath": m.file("fresh.txt"), "content": "new"})
	m.call("FAIL", "edit", input{"filePath": m.file("read.txt"), "oldString": "not there", "newString": "x"})
	m.call("FAIL", "bash", `{"command": "echo hi", "description": `)
	m.call("FAIL", "bash", input{"command": "echo 'Could not find oldString in the file'", "description": "quotes"})
	m.call("CHILD", "task", input{"description": "look", "prompt": "HANG here", "subagent_type": "general"})

	server := h.Serve()
	server.NameModel = true
	prompt := func(text string) []string {
		t.Helper()
		began := time.Now()
		r := server.Prompt(session, text)
		if r.Verdict != opencode.Alive {
			t.Fatalf("%s: %s; reply:\n%.500s", text, r.Verdict, r.Output)
		}
		t.Logf("%s took %v", text, time.Since(began).Round(time.Millisecond))
		results := toolResults(r)
		return results[max(0, len(results)-len(m.calls[strings.Fields(text)[0]])):]
	}

	results := prompt("WRITE files")
	for i, want := range []string{"was not read in this session", "", "only a part of it was read", "", "", "", "", ""} {
		if i >= len(results) || strings.Contains(results[i], "was not written") != (want != "") || !strings.Contains(results[i], want) {
			t.Errorf("call %d: result %q, want %q", i, results, want)
		}
	}
	for name, want := range map[string]string{"unread.txt": "one\ntwo\n", "part.txt": "one\ntwo\n", "read.txt": "newest", "fresh.txt": "new"} {
		if got, err := os.ReadFile(m.file(name)); string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}

	results = prompt("FAIL twice")
	for i, want := range []bool{true, true, false} {
		if i >= len(results) || strings.Count(results[i], "[mend]") != map[bool]int{true: 1}[want] {
			t.Errorf("failed call %d: results %q, want an instruction: %t", i, results, want)
		}
	}
	m.calls["ONCE"] = m.calls["FAIL"] // these are in the request, and not called again
	if again := prompt("ONCE more"); strings.Join(again, "\n") != strings.Join(results, "\n") {
		t.Errorf("the next request has the results %q, want %q", again, results)
	}
	resp, err := http.Get(server.URL + "/session/" + session + "/message")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if stored, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(stored), "[mend]") {
		t.Errorf("an instruction is stored, %v", err)
	}

	seen := followToasts(t, server)
	prompt("CHILD begins")
	waitFor(t, "the toast", func() bool { return seen.contains("look: silent for") })
	waitFor(t, "the prompt to begin the task again", func() bool {
		return slices.ContainsFunc(api.Calls(), func(c endpoint.Call) bool { // others may follow it
			return strings.Contains(string(c.Raw), "was ended. Begin that task again.")
		})
	})
}

// toolResults returns the texts of all tool results of the last request.
func toolResults(r opencode.Result) (texts []string) {
	if len(r.Calls) == 0 {
		return nil
	}
	for _, m := range r.Calls[len(r.Calls)-1].Request.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				data, _ := json.Marshal(b)
				texts = append(texts, string(data))
			}
		}
	}
	return texts
}
