package fsstore

import (
	"testing"

	"mend/session"
)

// TestFiles puts files among the records: what the agent opens for each is told. What
// becomes of the real program is shown by TestBeside in cmd/mend.
func TestFiles(t *testing.T) {
	part := func(id string) session.Ref {
		return session.Ref{Kind: session.KindPart, Session: "ses_1", Message: "msg_1", Part: id}
	}
	self := session.Ref{Kind: session.KindFile}
	nothing := session.Ref{}
	for p, c := range map[string]struct {
		opens string
		reads session.Ref
	}{
		"part/msg_1/prt_11.json.bak":         {"part/msg_1/prt_11.jso.json", nothing},
		"part/msg_1/prt_11.json~":            {"part/msg_1/prt_11..json", nothing},
		"part/msg_1/4913":                    {"part/msg_1.json", nothing},
		"part/msg_1/abcde":                   {"part/msg_1.json", nothing},
		"part/msg_1/Thumbs.db":               {"part/msg_1/Thum.json", nothing},
		"part/msg_1/prt_11 copy.json":        {"part/msg_1/prt_11 copy.json", self},
		"part/msg_1/prt_11.jsxn":             {"part/msg_1/prt_11.json", part("prt_11")},
		"part/msg_1/in/prt_9.json":           {"part/msg_1/in/prt_9.json", self},
		"part/msg_1/in/x":                    {"part/msg_1.json", nothing},
		"part/msg_1/in/ab.md":                {"part/msg_1/in.json", nothing},
		"part/msg_1/in/deep/a.txt":           {"part/msg_1/in/deep.json", nothing},
		"part/msg_1/prt_99.json/x.json":      {"part/msg_1/prt_99.json/x.json", self},
		"part/msg_1/a\xffb.json":             {"part/msg_1/a\ufffdb.json", nothing},
		"part/msg_1/new\nline.json":          {"part/msg_1/new\nline.json", self},
		"part/msg_1/😀bcd":                    {"part/msg_1.json", nothing},
		"part/msg_1/😀bcde":                   {"part/msg_1/\ufffd.json", nothing}, // half of a pair
		"message/ses_1/msg_1.json.bak":       {"message/ses_1/msg_1.jso.json", nothing},
		"message/ses_1/msg_1 2.json":         {"message/ses_1/msg_1 2.json", self},
		"message/ses_1/in/msg_9.json":        {"message/ses_1/in.json", nothing},
		"message/ses_1/zzz.json":             {"message/ses_1/zzz.json", self},
		"message/ses_1/msg_2/notes.txt":      {"message/ses_1/msg_2.json", session.Ref{Kind: session.KindMessage, Session: "ses_1", Message: "msg_2"}},
		"part/msg_1/.DS_Store":               {},
		"part/msg_1/.prt_11.json.swp":        {},
		"part/msg_1/._prt_11.json":           {},
		"part/msg_1/.hidden/prt_11.json.bak": {},
		"part/msg_1/in/.DS_Store":            {},
		"message/ses_1/.DS_Store":            {},
		"session/global/Thumbs.db":           {},
		"part/Thumbs.db":                     {},
		"message/desktop.ini":                {},
	} {
		root := smallTree(t)
		if !tryPut(root, p) {
			t.Logf("this file system has no %q", p)
			continue
		}
		loaded := mustLoad(t, mustOpen(t, root, "", Options{}))
		if len(loaded.Stray) > 0 {
			t.Errorf("%q: stray %+v", p, loaded.Stray)
		}
		if c.opens == "" {
			if len(loaded.Files) > 0 {
				t.Errorf("%q: files %+v, want none", p, loaded.Files)
			}
			continue
		}
		if len(loaded.Files) != 1 {
			t.Errorf("%q: %d files", p, len(loaded.Files))
			continue
		}
		f := loaded.Files[0]
		if c.reads == self {
			c.reads = f.Ref
		}
		if f.Path != p || f.Opens != c.opens || f.Reads != c.reads || f.Fixed != "" {
			t.Errorf("%q: %+v, want that it opens %q and reads %+v", p, f, c.opens, c.reads)
		}
	}
}
