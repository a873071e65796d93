package linestore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/linestore"
)

// transcript is the path of the transcript below the root.
const transcript = "talks/ses_1.jsonl"

// A testLayout has the transcripts of ses_1 and ses_2. The key of a line is its id.
type testLayout struct{}

func (testLayout) Path(ref change.Ref) (string, change.Ref, error) {
	switch {
	case ref.Session == "ses_2":
		return "talks/ses_2.jsonl", ref, nil
	case ref.Session != "ses_1":
		return "", ref, fmt.Errorf("no session %s", ref.Session)
	case strings.HasPrefix(ref.Message, "../"):
		return "", ref, fmt.Errorf("no message %s", ref.Message)
	}
	return transcript, ref, nil
}

func (testLayout) Key(line []byte) string {
	var r struct{ ID string }
	if json.Unmarshal(line, &r) != nil {
		return ""
	}
	return r.ID
}

// compact returns the record on one line.
func compact(t *testing.T, record string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(record)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// newRoot writes a transcript of four messages, three of them with parts.
func newRoot(t *testing.T) string {
	t.Helper()
	root := storetest.FastDir(t)
	var lines []string
	for i, role := range []string{"user", "assistant", "user", "assistant"} {
		msg := fmt.Sprintf("msg_%d", i+1)
		lines = append(lines, compact(t, storetest.MessageJSON("ses_1", msg, role, 1000+i)))
		for n := 1; n <= 3 && i < 3; n++ {
			lines = append(lines, compact(t, storetest.TextJSON(msg, fmt.Sprintf("prt_%d%d", i+1, n), "a text")))
		}
	}
	storetest.Put(t, root, transcript, strings.Join(lines, "\n")+"\n")
	return root
}

func mustOpen(t *testing.T, root string, o linestore.Options) *linestore.Store {
	t.Helper()
	o.Owner = "own"
	s, err := linestore.New(root, testLayout{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func file(root string) string { return filepath.Join(root, filepath.FromSlash(transcript)) }

func content(t *testing.T, root string) string {
	t.Helper()
	data, err := os.ReadFile(file(root))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// agentAppends adds a line as an agent does: after a newline if the last line has none.
func agentAppends(t *testing.T, root, line string) {
	t.Helper()
	f, err := os.OpenFile(file(root), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(content(t, root), "\n") {
		line = "\n" + line
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func leftovers(root string) (names []string) {
	_ = filepath.WalkDir(filepath.Join(root, ".mend"), func(p string, _ os.DirEntry, err error) error {
		if err == nil {
			names = append(names, p)
		}
		return nil
	})
	return names
}

// lastLines returns the last line of each key.
func lastLines(t *testing.T, root string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(content(t, root)) {
		all[testLayout{}.Key([]byte(line))] = strings.TrimSuffix(line, "\n")
	}
	return all
}

// TestContract cuts and fails a change, its undo and their recovery at each call.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		root := newRoot(t)
		return storetest.Harness{
			Open:      func(step func(string) error) storetest.Store { return mustOpen(t, root, linestore.Options{Step: step}) },
			Records:   func() iter.Seq[*change.Record] { return load(t, root) },
			Read:      func(ref change.Ref) *change.Image { return read(t, root, ref) },
			Snapshot:  func() map[string]string { return lastLines(t, root) },
			Leftovers: func() []string { return leftovers(root) },
			Write:     func(ref change.Ref, image *change.Image) { write(t, root, ref, image) },
		}
	})
}

// load reads the records of the session from the last lines.
func load(t *testing.T, root string) iter.Seq[*change.Record] {
	all := lastLines(t, root)
	return func(yield func(*change.Record) bool) {
		for i := range 4 {
			message := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: fmt.Sprintf("msg_%d", i+1)}
			refs := []change.Ref{message}
			for n := range 3 {
				part := message
				part.Kind, part.Part = change.KindPart, fmt.Sprintf("prt_%d%d", i+1, n+1)
				refs = append(refs, part)
			}
			for _, ref := range refs {
				line, ok := all[ref.ID()]
				if ok && !yield(&change.Record{Ref: ref, Data: []byte(line), Mode: linestore.Mode}) {
					return
				}
			}
		}
	}
}

func read(t *testing.T, root string, refs ...change.Ref) *change.Image {
	t.Helper()
	images, err := mustOpen(t, root, linestore.Options{}).Read(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	return images[0]
}

// write appends a line as another program would, or writes the transcript without the line.
func write(t *testing.T, root string, ref change.Ref, image *change.Image) {
	t.Helper()
	if image != nil {
		agentAppends(t, root, compact(t, string(image.Data)))
		return
	}
	var kept strings.Builder
	for line := range strings.Lines(content(t, root)) {
		if (testLayout{}).Key([]byte(line)) != ref.ID() {
			kept.WriteString(line)
		}
	}
	if err := os.WriteFile(file(root), []byte(kept.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
