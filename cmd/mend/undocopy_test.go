package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/storetest"
)

// TestUndoInCopy: a change is not undone in a copy of its store while the original exists. If the original was moved,
// even to another file system, the change is undone there. A plain run has every third kind of change.
func TestUndoInCopy(t *testing.T) {
	for _, kind := range changedStores {
		t.Run(kind.kind, func(t *testing.T) {
			t.Parallel()
			s := kind.make(t)
			reset := storetest.Save(t, s.dir)
			base, original := s.everything(), s.path
			top, _, _ := strings.Cut(strings.TrimPrefix(s.path, s.dir+"/"), "/")
			elsewhere := func(name, program string) {
				t.Helper()
				dir := filepath.Join(s.dir, name)
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.CommandContext(t.Context(), "sh", "-c", program+` "$0" "$1"`, filepath.Join(s.dir, top), dir).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				s.path = filepath.Join(dir, strings.TrimPrefix(original, s.dir))
			}
			for i, v := range s.verbs {
				if i%3 > 0 && !storetest.AllCases() {
					continue
				}
				for _, move := range []string{"move() { cp -a \"$@\" && rm -r \"$1\"; }; move", "mv"} {
					if move == "mv" && i > 0 && !storetest.AllCases() {
						continue // a rename keeps the file, so one kind of change is enough
					}
					operation := s.do(v)
					if operation == "" && v.name == s.moveOn().name { // there is nothing to move again
						continue
					}
					if operation == "" {
						t.Fatalf("%s changed nothing", v.name)
					}
					elsewhere("copy", "cp -a")
					before := s.everything()
					code, out := s.mend("undo", operation, "--yes")
					if code != frame.ExitRefused || !strings.Contains(out, "belongs to another store") || !maps.Equal(before, s.everything()) {
						t.Errorf("%s: undo in a copy: exit code %d, the copy is unchanged: %t: %s", v.name, code, maps.Equal(before, s.everything()), out)
					}
					elsewhere("moved", move)
					if code, out := s.mend("undo", operation, "--yes"); code != frame.ExitDone || !maps.Equal(s.everything(), base) {
						t.Errorf("%s: undo after %s: exit code %d, the store is restored: %t: %s", v.name, move, code, maps.Equal(s.everything(), base), out)
					}
					s.path = original
					reset()
				}
			}
		})
	}
}
