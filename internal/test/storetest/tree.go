package storetest

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mend/change"
)

// Put writes a file of the tree, with the folders it needs.
func Put(t *testing.T, root, path, content string) {
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

// TryPut is [Put] for names that a file system may refuse, and reports whether it wrote the file.
func TryPut(root, path string) bool {
	name := filepath.Join(root, path)
	return os.MkdirAll(filepath.Dir(name), 0o755) == nil && os.WriteFile(name, []byte("{}"), 0o644) == nil
}

// SessionJSON returns the record of a session, as OpenCode 1.1.53 writes it.
func SessionJSON(id string) string {
	return fmt.Sprintf("{\n  \"id\": %q,\n  \"version\": \"1.1.53\",\n  \"projectID\": \"global\",\n  \"directory\": \"/home/user\",\n"+
		"  \"title\": \"A title\",\n  \"time\": {\n    \"created\": 1000,\n    \"updated\": 2000\n  }\n}", id)
}

// MessageJSON returns the record of a message.
func MessageJSON(ses, id, role string, created int) string {
	return fmt.Sprintf("{\n  \"id\": %q,\n  \"sessionID\": %q,\n  \"role\": %q,\n  \"time\": {\n    \"created\": %d\n  }\n}", id, ses, role, created)
}

// TextJSON returns the record of a part with a text.
func TextJSON(msg, id, text string) string {
	return fmt.Sprintf("{\n  \"id\": %q,\n  \"sessionID\": %q,\n  \"messageID\": %q,\n  \"type\": \"text\",\n  \"text\": %q\n}", id, "ses_1", msg, text)
}

// SmallTree writes a tree of OpenCode with one session of four messages, three of them with parts, and returns its root.
func SmallTree(t *testing.T) string {
	t.Helper()
	root := filepath.Join(FastDir(t), "storage")
	Put(t, root, "session/global/ses_1.json", SessionJSON("ses_1"))
	for i, role := range []string{"user", "assistant", "user", "assistant"} {
		msg := fmt.Sprintf("msg_%d", i+1)
		Put(t, root, "message/ses_1/"+msg+".json", MessageJSON("ses_1", msg, role, 1000+i))
		for n := 1; n <= 3 && i < 3; n++ {
			prt := fmt.Sprintf("prt_%d%d", i+1, n)
			Put(t, root, "part/"+msg+"/"+prt+".json", TextJSON(msg, prt, "text "+prt))
		}
	}
	if err := os.Chmod(filepath.Join(root, "part/msg_1/prt_11.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// Snapshot returns everything below root except the given folder, by path.
func Snapshot(t *testing.T, root, omit string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == omit {
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

// Apply makes a change as txn does, without a journal.
func Apply(t *testing.T, s Store, ops []change.Op) change.Staged {
	t.Helper()
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
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

// SetText returns the op that gives a part another text.
func SetText(t *testing.T, records iter.Seq[*change.Record], part, text string) []change.Op {
	t.Helper()
	ops := edit(t, records, func(r *change.Record) bool {
		if r.Ref.Part == part {
			set(t, r, "text", text)
		}
		return true
	})
	if len(ops) != 1 {
		t.Fatalf("no part %s to change", part)
	}
	return ops
}

// MixedOps returns ops of every kind on the session of [SmallTree].
func MixedOps(t *testing.T, records iter.Seq[*change.Record]) []change.Op {
	t.Helper()
	var like *change.Record
	for r := range records {
		if r.Ref.Part == "prt_11" {
			like = r
		}
	}
	return edit(t, records, func(r *change.Record) bool {
		if r.Ref.Part == "prt_11" {
			set(t, r, "text", "replaced")
		}
		return r.Ref.Part != "prt_13"
	}, newPart(t, like, change.Ref{Message: "msg_4"}, "prt_41", "created"))
}

// WantNames checks that there are exactly these names, in any order.
func WantNames(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

// Chmod sets the mode of a file.
func Chmod(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// Refs returns the refs of ops.
func Refs(ops ...change.Op) []change.Ref {
	var all []change.Ref
	for _, o := range ops {
		all = append(all, o.Ref)
	}
	return all
}
