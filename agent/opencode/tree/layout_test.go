package tree

import (
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
)

// TestPath: a ref has the path of its file below the root. A ref that has none, or whose path would leave the root, is
// an error.
func TestPath(t *testing.T) {
	ses := change.Ref{Kind: change.KindSession, Project: "p", Session: "s"}
	msg := change.Ref{Kind: change.KindMessage, Session: "s", Message: "m"}
	nested := change.Ref{Kind: change.KindMessage, Project: "p", Session: "s", Message: "m"}
	prt := change.Ref{Kind: change.KindPart, Session: "s", Message: "m", Part: "x"}
	nestedPart := change.Ref{Kind: change.KindPart, Project: "p", Session: "s", Message: "m", Part: "x"}
	folder := func(r change.Ref, label string) change.Ref {
		r.Kind, r.Part = change.KindFolder, label
		return r
	}
	for _, c := range []struct {
		ref  change.Ref
		want string // "" for an error
	}{
		{ses, "session/p/s.json"},
		{change.Ref{Kind: change.KindSession, Session: "s"}, ""},
		{msg, "message/s/m.json"},
		{nested, "message/p/s/m.json"},
		{prt, "part/m/x.json"},
		{nestedPart, "part/m/x.json"},
		{folder(prt, ""), "part/m"},
		{folder(prt, "part.1"), "part"},
		{folder(msg, "part.9"), ""},
		{folder(change.Ref{Session: "s"}, ""), "message/s"},
		{folder(change.Ref{Session: "s"}, "message.1"), "message"},
		{folder(change.Ref{Session: "s", Project: "p"}, ""), "message/p/s"},
		{folder(change.Ref{Session: "s", Project: "p"}, "message.2"), "message/p"},
		{folder(ses, "session.2"), "session/p"},
		{folder(change.Ref{Session: "s"}, "session.1"), "session"},
		{folder(change.Ref{Session: "s"}, "part.2"), ""},
		{folder(change.Ref{Session: "s"}, "other.1"), ""},
		{change.Ref{Kind: change.KindMessage, Session: "../s", Message: "m"}, ""},
		{change.Ref{Kind: change.KindMessage, Session: "s", Message: ".."}, ""},
		{change.Ref{Kind: change.KindMessage, Session: "s", Message: "a/b"}, ""},
		{change.Ref{Kind: change.KindMessage, Session: "s", Message: "a\x00b"}, ""},
		{change.Ref{Kind: change.KindMessage, Session: "s", Message: ""}, ""},
		{change.Ref{Kind: change.KindMessage, Session: "s", Message: strings.Repeat("x", 300)}, ""},
		{change.Ref{Session: "s"}, ""},
	} {
		got, ref, err := layout{}.Path(c.ref)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("Path(%+v) = %q, %v, want %q", c.ref, got, err, c.want)
		}
		if again, _, _ := (layout{}).Path(ref); err == nil && again != got {
			t.Errorf("Path(%+v) = %q, want %q as for %+v", ref, again, got, c.ref)
		}
	}
}

// TestFolder: each folder above a record has a ref of its own, with the path of the folder.
func TestFolder(t *testing.T) {
	all := change.Ref{Project: "p", Session: "s", Message: "m", Part: "x"}
	seen := map[change.Ref]string{}
	for _, kind := range []change.Kind{change.KindSession, change.KindMessage, change.KindPart, change.KindProject, change.KindFile} {
		for _, project := range []string{"p", ""} {
			r := all
			r.Kind, r.Project = kind, project
			path, r, err := layout{}.Path(r)
			if err != nil {
				continue
			}
			names := strings.Split(path, "/")
			for n := 1; n < len(names); n++ {
				ref, ok := layout{}.Folder(r, n)
				want := strings.Join(names[:n], "/")
				if got, _, err := (layout{}).Path(ref); !ok || got != want || err != nil {
					t.Errorf("Path(%+v) = %q, %v, want %q", ref, got, err, want)
				}
				if other, ok := seen[ref]; ok && other != want {
					t.Errorf("%+v is both %s and %s", ref, other, want)
				}
				seen[ref] = want
			}
		}
	}
}

// FuzzPath: a ref of arbitrary strings has either no path or a path below the root, and no two kinds of refs share a
// path.
func FuzzPath(f *testing.F) {
	f.Add("p", "s", "m", "x")
	f.Add("..", "parts", "a.json", "messages")
	f.Add("session_diff", "s", "", "part.1")
	f.Fuzz(func(t *testing.T, project, ses, msg, prt string) {
		paths := map[string]change.Kind{}
		for kind := change.Kind(0); kind <= change.KindFolder; kind++ {
			r := change.Ref{Kind: kind, Project: project, Session: ses, Message: msg, Part: prt}
			p, ref, err := layout{}.Path(r)
			if err != nil {
				continue
			}
			if !filepath.IsLocal(p) || filepath.ToSlash(filepath.Clean(p)) != p || strings.HasPrefix(p, ".mend") {
				t.Errorf("Path(%+v) = %q", r, p)
			}
			if again, _, err := (layout{}).Path(ref); again != p || err != nil {
				t.Errorf("Path(%+v) = %q, %v, want %q as for %+v", ref, again, err, p, r)
			}
			if other, ok := paths[p]; ok {
				t.Errorf("%v and %v are both at %q", other, kind, p)
			}
			paths[p] = kind
		}
	})
}
