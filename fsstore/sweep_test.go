//go:build unix

package fsstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/storetest"
)

// TestMendIsALink refuses a staging folder that leads elsewhere.
func TestMendIsALink(t *testing.T) {
	needWrites(t)
	root, elsewhere := smallTree(t), storetest.FastDir(t)
	if err := os.Symlink(elsewhere, filepath.Join(root, mendDir)); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, root, "", Options{Owner: "own"})
	if _, err := s.Prepare(t.Context(), bigPlan(t, mustLoad(t, s))); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("Prepare = %v, want a refusal", err)
	}
	if got := snapshot(t, elsewhere, ""); len(got) != 1 {
		t.Errorf("behind the link is now %v", got)
	}
}

// TestSweep leaves litter of ours and of others in the staging folder: Prepare
// removes the one, leaves the other, and keeps a slot with other bytes.
func TestSweep(t *testing.T) {
	needWrites(t)
	root := smallTree(t)
	x, none := hash([]byte("x")), "none"
	for _, p := range []string{"1/0-" + x + "-" + none, "1/1-" + none + "-" + x, "2.new/0-" + none + "-" + none, "2.new/probe-1", "3.again/7-" + x + "-" + x + ".new"} {
		put(t, root, ".mend/own/"+p, "x")
	}
	written := "2-" + hash([]byte("y")) + "-" + none
	put(t, root, ".mend/own/1/"+written, "x")
	others := []string{"own/1/notes.txt", "own/2.new/notes.txt", "other/1/0-" + x + "-" + none, "own/notes.txt", "kept/a.json"}
	for _, p := range others {
		put(t, root, ".mend/"+p, "x")
	}
	for _, p := range []string{".mend/own/1/3-folder", ".mend/own/4/0-folder"} {
		if err := os.MkdirAll(filepath.Join(root, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, root, "", Options{Owner: "own"})
	ops := bigPlan(t, mustLoad(t, s))
	ops[0].Pre = &change.Image{Data: []byte("no"), Mode: 0o644}
	if _, err := s.Prepare(t.Context(), ops); !isConflict(err) {
		t.Fatalf("Prepare = %v, want a conflict", err)
	}
	var left []string
	for p, what := range snapshot(t, filepath.Join(root, mendDir), "") {
		if !strings.HasPrefix(what, "d") {
			left = append(left, p)
		}
	}
	wantNames(t, left, append(others, "kept/"+latePrefix(".mend/own/1", written)+"1.json"))
	if _, err := os.Stat(filepath.Join(root, ".mend/own/4")); err == nil {
		t.Error("an empty staging folder is left")
	}
}
