package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode/diagnose"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestProjectOf compares the project of a session's folder with the project of its record: OpenCode 1.1.53 reads only
// the record in the folder's project.
func TestProjectOf(t *testing.T) {
	dir := t.TempDir()
	commit := "0123456789abcdef0123456789abcdef01234567"
	for _, name := range []string{"plain", "repo/.git", "repo/sub", "new/.git", "linked/.git"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Put(t, dir, "repo/.git/opencode", commit+"\n")
	storetest.Put(t, dir, "worktree/.git", "gitdir: x")
	if err := os.Symlink("../../repo/.git/opencode", filepath.Join(dir, "linked/.git/opencode")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		folder, project string
		used            bool // OpenCode has used the folder, for the commit's project
		want            string
	}{
		{"plain", "global", false, ""},
		{"plain", commit, false, "global"},
		{"repo", commit, true, ""},
		{"repo/sub", "global", true, commit},
		{"repo", "global", false, ""}, // OpenCode moves it
		{"new", "global", true, ""},
		{"worktree", "other", true, ""},
		{"linked", "other", true, ""},
		{"missing", "other", true, ""},
	} {
		data := t.TempDir()
		storetest.Put(t, data, "storage/session/"+c.project+"/ses_1.json", `{"id":"ses_1","projectID":"`+c.project+`","directory":"`+filepath.Join(dir, c.folder)+`","title":"x","version":"1.1.53","time":{"created":1,"updated":1}}`)
		storetest.Put(t, data, "storage/message/ses_1/msg_1.json", storetest.MessageJSON("ses_1", "msg_1", "user", 1000))
		storetest.Put(t, data, "storage/part/msg_1/prt_1.json", storetest.TextJSON("msg_1", "prt_1", "x"))
		st, err := Agent{}.Open(agent.Located{Path: data}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := st.(*store)
		heads, err := s.List(t.Context())
		if err != nil || len(heads) != 1 {
			t.Fatalf("List = %+v, %v", heads, err)
		}
		before := s.Settings(heads[0])
		if c.used {
			storetest.Put(t, data, "storage/project/"+commit+".json", `{"id":"`+commit+`"}`)
		}
		loaded, _, err := s.load(t.Context(), heads[0])
		if err != nil || loaded.Newer != c.want {
			t.Errorf("%+v: the other project is %q, %v", c, loaded.Newer, err)
		}
		if c.want == commit && s.Settings(heads[0]) == before {
			t.Errorf("%+v: the stamp of the settings is the same before and after the project's folder was used", c)
		}
		e, err := s.Examine(t.Context(), heads[0], repair.Options{Version: "1.1.53"})
		found := len(e.Diagnoses) > 0 && e.Diagnoses[0].Class == repair.HiddenSession && e.Diagnoses[0].Severity == repair.Broken && e.Diagnoses[0].Fix == ""
		if err != nil || found != (c.want != "") {
			t.Errorf("%+v: Examine = %+v, %v", c, e.Diagnoses, err)
		}
	}
}

// TestFolderFault: the faults are as in OpenCode 1.18.34, which resolves ".." in the text of the path, and finds no
// session in a folder with an invalid name.
func TestFolderFault(t *testing.T) {
	dir := t.TempDir()
	storetest.Put(t, dir, "file", "x")
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "", "link": "", "missing/..": "", "missing": diagnose.FolderMissing, "file": diagnose.FolderIsFile, "file/sub": diagnose.FolderMissing,
		"loop": diagnose.FolderIsLink, "loop/sub": diagnose.FolderMissing, strings.Repeat("x", 300): diagnose.FolderMissing, "a\x00b": diagnose.FolderMissing,
	} {
		if got := folderFault(dir + "/" + path); got != want {
			t.Errorf("folderFault(%.20q) = %q, want %q", path, got, want)
		}
	}
}
