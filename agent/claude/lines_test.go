package claude

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/change"
	"mend/repair"
)

// TestTranscriptTooLarge: a transcript that does not fit into memory is listed, and is not read.
func TestTranscriptTooLarge(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	root := t.TempDir()
	file := filepath.Join(root, projects, "-home-user", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	record := `{"type":"user","uuid":"11111111-2222-4333-8444-555555555555","parentUuid":null,"message":{"role":"user","content":"x"}}` + "\n"
	if err := os.WriteFile(file, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := Agent{}.Open(agent.Located{Path: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*store)
	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("List = %v, %v", heads, err)
	}
	examine := func() error {
		_, err := s.Examine(t.Context(), heads[0], repair.Options{})
		_, cerr := s.Case(t.Context(), heads[0], repair.Request{})
		if err == nil || cerr == nil {
			t.Errorf("Examine returns %v, Case %v, want errors", err, cerr)
		}
		return err
	}
	s.Most = 10
	var large *change.SizeError
	if err := examine(); !errors.As(err, &large) {
		t.Errorf("Examine returns %v, want a SizeError", err)
	}
	s.Most = 1 << 40
	if err := os.Truncate(file, 1<<39); err != nil { // sparse
		t.Skip(err)
	}
	if err := examine(); err == nil || !strings.Contains(err.Error(), "too large, 549755813888 bytes") {
		t.Errorf("Examine returns %v", err)
	}
}
