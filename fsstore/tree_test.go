package fsstore

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/storetest"
	"mend/jsonedit"
	"mend/session"
)

// needWrites skips a test where a tree can only be read.
func needWrites(t *testing.T) {
	t.Helper()
	if err := safedir.CanWrite(); err != nil {
		t.Skip(err)
	}
}

// put writes a file of the tree, with the folders it needs.
func put(t *testing.T, root, path, content string) {
	t.Helper()
	name := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func sessionJSON(id string) string {
	return fmt.Sprintf("{\n  \"id\": %q,\n  \"version\": \"1.1.53\",\n  \"projectID\": \"global\",\n  \"directory\": \"/home/user\",\n"+
		"  \"title\": \"A title\",\n  \"time\": {\n    \"created\": 1000,\n    \"updated\": 2000\n  }\n}", id)
}

func messageJSON(ses, id, role string, created int) string {
	return fmt.Sprintf("{\n  \"id\": %q,\n  \"sessionID\": %q,\n  \"role\": %q,\n  \"time\": {\n    \"created\": %d\n  }\n}", id, ses, role, created)
}

func textJSON(msg, id, text string) string {
	return fmt.Sprintf("{\n  \"id\": %q,\n  \"sessionID\": %q,\n  \"messageID\": %q,\n  \"type\": \"text\",\n  \"text\": %q\n}", id, "ses_1", msg, text)
}

// smallTree writes a session of four messages in layout opencode: three with
// parts, one without.
func smallTree(t *testing.T) string {
	t.Helper()
	root := filepath.Join(storetest.FastDir(t), "storage")
	put(t, root, "session/global/ses_1.json", sessionJSON("ses_1"))
	for i, role := range []string{"user", "assistant", "user", "assistant"} {
		msg := fmt.Sprintf("msg_%d", i+1)
		put(t, root, "message/ses_1/"+msg+".json", messageJSON("ses_1", msg, role, 1000+i))
		for n := 1; n <= 3 && i < 3; n++ {
			prt := fmt.Sprintf("prt_%d%d", i+1, n)
			put(t, root, "part/"+msg+"/"+prt+".json", textJSON(msg, prt, "text "+prt))
		}
	}
	if err := os.Chmod(filepath.Join(root, "part/msg_1/prt_11.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// snapshot is everything below root but the given folder, by path.
func snapshot(t *testing.T, root, without string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == without {
			return fs.SkipDir
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		content := fi.Mode().String()
		switch {
		case fi.Mode().IsRegular() && fi.Size() < 1<<20:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			content += " " + string(data)
		case fi.Mode()&fs.ModeSymlink != 0:
			link, _ := os.Readlink(p)
			content += " " + link
		}
		all[filepath.ToSlash(rel)] = content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func mustOpen(t *testing.T, path, layout string, o Options) *Store {
	t.Helper()
	s, err := Open(path, layout, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustLoad(t *testing.T, s *Store) *session.Session {
	t.Helper()
	loaded, err := s.Load(t.Context(), session.Session{ID: "ses_1"})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// mustApply makes a change as txn does, without a journal.
func mustApply(t *testing.T, s *Store, ops []change.Op) change.Staged {
	t.Helper()
	st, err := s.Prepare(t.Context(), ops)
	if err != nil {
		t.Fatalf("Prepare = %v", err)
	}
	out, err := s.Commit(t.Context(), st)
	if err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v", out, err)
	}
	if err := s.Discard(t.Context(), st); err != nil {
		t.Fatalf("Discard = %v", err)
	}
	return st
}

// retext is the plan that gives a part another text.
func retext(t *testing.T, s *session.Session, part, text string) []change.Op {
	t.Helper()
	after := s.Clone()
	for i := range after.Messages {
		if p := after.Messages[i].Part(part); p != nil {
			if err := p.Set(jsonedit.Quote(text), "text"); err != nil {
				t.Fatal(err)
			}
		}
	}
	ops := change.Diff(s, after)
	if len(ops) != 1 {
		t.Fatalf("no part %s to change", part)
	}
	return ops
}

// unpack writes a fixture and returns the path of its OpenCode data folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root := storetest.FastDir(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(root, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), "opencode")
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, root, h.Name, string(data))
	}
}

// tryPut is put for names that a file system may refuse.
func tryPut(root, path string) bool {
	name := filepath.Join(root, path)
	return os.MkdirAll(filepath.Dir(name), 0o755) == nil && os.WriteFile(name, []byte("{}"), 0o644) == nil
}

func refs(ops ...change.Op) []session.Ref {
	var all []session.Ref
	for _, o := range ops {
		all = append(all, o.Ref)
	}
	return all
}
