package tree

import (
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
)

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
		layout string
		ref    change.Ref
		want   string // "" for an error
	}{
		{"opencode", ses, "session/p/s.json"},
		{"opencode", change.Ref{Kind: change.KindSession, Session: "s"}, ""},
		{"opencode", msg, "message/s/m.json"},
		{"opencode", nested, "message/p/s/m.json"},
		{"opencode", prt, "part/m/x.json"},
		{"opencode", nestedPart, "part/m/x.json"},
		{"opencode", folder(prt, ""), "part/m"},
		{"opencode", folder(prt, "part.1"), "part"},
		{"opencode", folder(msg, "part.9"), ""},
		{"opencode", folder(change.Ref{Session: "s"}, ""), "message/s"},
		{"opencode", folder(change.Ref{Session: "s"}, "message.1"), "message"},
		{"opencode", folder(change.Ref{Session: "s", Project: "p"}, ""), "message/p/s"},
		{"opencode", folder(change.Ref{Session: "s", Project: "p"}, "message.2"), "message/p"},
		{"opencode", folder(ses, "session.2"), "session/p"},
		{"opencode", folder(change.Ref{Session: "s"}, "session.1"), "session"},
		{"opencode", folder(change.Ref{Session: "s"}, "part.2"), ""},
		{"opencode", folder(change.Ref{Session: "s"}, "other.1"), ""},
		{"opencode-0", ses, "project/p/storage/session/info/s.json"},
		{"opencode-0", msg, ""},
		{"opencode-0", nested, "project/p/storage/session/message/s/m.json"},
		{"opencode-0", prt, ""},
		{"opencode-0", nestedPart, "project/p/storage/session/part/s/m/x.json"},
		{"opencode-0", folder(nestedPart, ""), "project/p/storage/session/part/s/m"},
		{"opencode-0", folder(nested, "part.6"), "project/p/storage/session/part/s"},
		{"opencode-state", ses, ""},
		{"opencode-state", msg, "messages/s/m.json"},
		{"opencode-state", prt, "parts/m/x.json"},
		{"supercode", msg, "sessions/s/messages/m.json"},
		{"supercode", prt, "sessions/parts/m/x.json"},
		{"supercode", change.Ref{Kind: change.KindMessage, Session: "parts", Message: "m"}, ""},
		{"supercode", folder(change.Ref{Session: "parts"}, ""), ""},
		{"opencode", change.Ref{Kind: change.KindMessage, Session: "../s", Message: "m"}, ""},
		{"opencode", change.Ref{Kind: change.KindMessage, Session: "s", Message: ".."}, ""},
		{"opencode", change.Ref{Kind: change.KindMessage, Session: "s", Message: "a/b"}, ""},
		{"opencode", change.Ref{Kind: change.KindMessage, Session: "s", Message: "a\x00b"}, ""},
		{"opencode", change.Ref{Kind: change.KindMessage, Session: "s", Message: ""}, ""},
		{"opencode", change.Ref{Kind: change.KindMessage, Session: "s", Message: strings.Repeat("x", 300)}, ""},
		{"opencode", change.Ref{Session: "s"}, ""},
	} {
		l, err := layoutNamed(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		got, ref, err := l.Path(c.ref)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: path(%+v) = %q, %v, want %q", c.layout, c.ref, got, err, c.want)
		}
		if again, _, _ := l.Path(ref); err == nil && again != got {
			t.Errorf("%s: path(%+v) = %q, want %q as for %+v", c.layout, ref, again, got, c.ref)
		}
	}
}

// TestFolderRef checks that each folder above a record has a ref of its own, and
// that the ref leads back to it.
func TestFolderRef(t *testing.T) {
	for _, l := range layouts() {
		seen := map[change.Ref]string{}
		for _, p := range l.patterns {
			r := change.Ref{Kind: p.kind, Project: "p", Session: "s", Message: "m", Part: "x"}
			if !strings.Contains(strings.Join(p.names, "/"), "{project}") {
				r.Project = ""
			}
			names := fill(p.names, r)
			for n := 1; n < len(names); n++ {
				ref, want := l.folderRef(r, n), strings.Join(names[:n], "/")
				if got, _, err := l.Path(ref); got != want || err != nil {
					t.Errorf("%s: path(%+v) = %q, %v, want %q", l.name, ref, got, err, want)
				}
				if other, ok := seen[ref]; ok && other != want {
					t.Errorf("%s: %+v is both %s and %s", l.name, ref, other, want)
				}
				seen[ref] = want
			}
		}
	}
}

// FuzzPath checks both directions: a path that is a record's gives a ref that
// leads back to it, and a ref made of any strings gives no path, or one that
// stays below the root and is that record's alone.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"message/s/m.json", "part/m/x.json", "project/p/storage/session/part/s/m/x.json", "sessions/parts/messages/m.json", "../x", "message//m.json", "part/.json/.json.json"} {
		f.Add(seed, "p", "s", "m", "x")
	}
	f.Add("", "..", "parts", "a.json", "messages")
	f.Fuzz(func(t *testing.T, path, project, ses, msg, prt string) {
		for _, l := range layouts() {
			if r, ok := l.parse(path); ok {
				if r.Session == "" {
					r.Session = "s"
				}
				if back, _, err := l.Path(r); back != path || err != nil {
					t.Errorf("%s: path(parse(%q)) = %q, %v", l.name, path, back, err)
				}
			}
			for kind := change.Kind(0); kind <= change.KindFolder; kind++ {
				r := change.Ref{Kind: kind, Project: project, Session: ses, Message: msg, Part: prt}
				p, _, err := l.Path(r)
				if err != nil {
					continue
				}
				if !filepath.IsLocal(p) || filepath.ToSlash(filepath.Clean(p)) != p || strings.HasPrefix(p, ".mend") {
					t.Errorf("%s: path(%+v) = %q", l.name, r, p)
				}
				if back, ok := l.parse(p); kind != change.KindFolder && (!ok || back.Kind != kind || back.ID() != r.ID()) {
					t.Errorf("%s: parse(path(%+v)) = %+v", l.name, r, back)
				}
			}
		}
	})
}
