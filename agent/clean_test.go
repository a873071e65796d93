package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/change"
)

// A stubStore has one session in a folder.
type stubStore struct {
	agent.Reader

	root string
}

func (s stubStore) ID() change.StoreID { return change.StoreID{Root: s.root} }

func (s stubStore) List(context.Context) ([]change.Head, error) {
	return []change.Head{{ID: "ses_1"}}, nil
}

// TestSpaceOf: a file counts for a session if the file or a folder around it is named after the session or one of its
// messages.
func TestSpaceOf(t *testing.T) {
	root := t.TempDir()
	for name, size := range map[string]int{
		"storage/message/ses_1/msg_1.json":   1,
		"storage/part/msg_1/prt_1.json":      10,
		"storage/session/proj/ses_1.json":    100,
		"storage/part/msg_2/prt_2.json":      1000, // of an unknown message
		"storage/session_diff/ses_1.json":    10_000,
		"log/x.log":                          100_000,
		"storage/session/proj/ses_gone.json": 1_000_000,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := agent.SpaceOf(t.Context(), stubStore{root: root}, [][2]string{{"log", "logs"}, {"", agent.Conversations}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Session("ses_1").Total(), int64(10_111); got != want {
		t.Errorf("the session has %d bytes, want %d", got, want)
	}
	if got, want := s.Parts, []agent.SpacePart{{"logs", 100_000, ""}, {agent.Conversations, 1_011_111, "sessions"}}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the parts are %v, want %v", got, want)
	}
}
