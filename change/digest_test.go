package change

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestPlanDigest pins the digest, which is in journals on disks. If it fails, do not change it:
// change the code back, or give the digest a new number.
func TestPlanDigest(t *testing.T) {
	ops := []Op{
		{Ref: Ref{Kind: KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_1"}, Pre: &Image{Data: []byte("a"), Mode: 0o644}, Post: &Image{Data: []byte("bc"), Mode: 0o644}},
		{Ref: Ref{Kind: KindFile, Project: "p", Session: "ses_1", Part: "a b/\xff%"}, Pre: &Image{}},
		{Ref: Ref{Kind: KindFolder, Session: "ses_1"}, Post: &Image{Mode: fs.ModeDir | 0o755}},
	}
	a, bc, none := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("bc")), sha256.Sum256(nil)
	want := sha256.Sum256(fmt.Appendf(nil, "mend plan 1\n"+
		"3//ses_1/msg_1/prt_1 %x:1:420 %x:2:420\n"+
		"4//ses_1// - %x:0:2147484141\n"+
		"5/p/ses_1//a%%20b%%2F%%FF%%25 %x:0:0 -\n", a, bc, none, none))
	if got := PlanDigest(InfosOf(ops)); got != hex.EncodeToString(want[:]) {
		t.Errorf("the digest is %s, want %x", got, want)
	}
	slices.Reverse(ops)
	if got := PlanDigest(InfosOf(ops)); got != hex.EncodeToString(want[:]) {
		t.Errorf("the digest depends on the order of the ops")
	}
	lines := []string{}
	ops = ops[:0]
	for _, part := range []string{"b", "a~", "a", "ab", "a-", "a b", "a.", "a%", "a/"} {
		o := Op{Ref: Ref{Kind: KindFile, Session: "s", Part: part}, Post: &Image{}}
		ops, lines = append(ops, o), append(lines, Key(o.Ref)+fmt.Sprintf(" - %x:0:0\n", none))
	}
	slices.Sort(lines)
	want = sha256.Sum256([]byte("mend plan 1\n" + strings.Join(lines, "")))
	if got := PlanDigest(InfosOf(ops)); got != hex.EncodeToString(want[:]) {
		t.Error("the lines of the digest are not in the order of their bytes")
	}
}

// TestKey: the ref of a key is the ref that the key was made from, and any other text is refused.
func TestKey(t *testing.T) {
	for _, part := range []string{"b", "a~", "a-", "a b", "a.", "a%", "a/", "\xff"} {
		want := Ref{Kind: KindFile, Session: "s", Part: part}
		if r, err := RefOfKey(Key(want)); err != nil || r != want {
			t.Errorf("RefOfKey(%q) = %+v, %v, want %+v", Key(want), r, err, want)
		}
	}
	if got := Key(Ref{Kind: KindPart, Part: "azAZ09-._~@[`{/:"}); got != "3////azAZ09-._~%40%5B%60%7B%2F%3A" {
		t.Errorf("Key = %s", got)
	}
	for _, key := range []string{"", "3", "3/a/b/c", "3/a/b/c/d/e", "3//a%2e//", "3//a%//", "x////", "03////", "999////"} {
		if r, err := RefOfKey(key); err == nil {
			t.Errorf("RefOfKey(%q) = %+v, want an error", key, r)
		}
	}
}
