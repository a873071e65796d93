package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// exportJournal returns a journal with entries in every state, one of them forgotten, and an image of the size.
func exportJournal(t *testing.T, size int) *Journal {
	t.Helper()
	j := mustOpen(t, filepath.Join(t.TempDir(), "j"), Options{Now: testClock(), Actor: &change.Actor{User: "u\xff", UID: 7, Host: "h", Channel: change.ChannelHook, Verb: "hook", Agent: "claude", AgentVersion: "2"}})
	cause := scanCause()
	cause.Kind, cause.Text, cause.Error = change.CauseError, "wrong \xff", &change.Failure{Provider: "p", Status: 400, Whole: "{}"}
	mustFinish(t, j, mustBegin(t, j, cause, change.Op{Ref: partRef(1), Post: image("a")}, change.Op{Ref: partRef(2), Pre: image("b"), Post: &change.Image{Data: randomBytes(1, size)}}), change.Committed)
	mustFinish(t, j, mustBegin(t, j, change.Cause{Kind: change.CauseUndo, Entries: []uint64{1}}, change.Op{Ref: partRef(1), Pre: image("a")}), change.Committed)
	c := mustBegin(t, j, scanCause(), change.Op{Ref: partRef(3), Post: image("c")})
	c, err := j.Finish(c, change.Outcome{State: change.Conflicted, Kept: []string{"k"}, Conflicts: []change.Conflict{{Ref: partRef(3), Why: "w"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Resolve(c, "keep", ""); err != nil {
		t.Fatal(err)
	}
	gone := mustFinish(t, j, mustBegin(t, j, scanCause(), change.Op{Ref: partRef(4), Post: image("secret")}), change.Aborted)
	if _, err := j.Forget(context.Background(), []string{gone.ID}); err != nil {
		t.Fatal(err)
	}
	mustBegin(t, j, scanCause(), change.Op{Ref: partRef(5), Post: image("")})
	return j
}

func export(t *testing.T, j *Journal, withBytes bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := j.Export(t.Context(), &out, withBytes); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestExport: an export has the report and the head of its journal, with and without images, and no forgotten text.
func TestExport(t *testing.T) {
	storetest.Long(t)
	j := exportJournal(t, boltfile.ChunkSize+1)
	whole, err := j.Verify("")
	if err != nil {
		t.Fatal(err)
	}
	for _, withBytes := range []bool{false, true} {
		var buffer bytes.Buffer
		written, err := j.Export(t.Context(), &buffer, withBytes)
		if err != nil {
			t.Fatal(err)
		}
		out := buffer.Bytes()
		if bytes.Contains(out, []byte("secret")) {
			t.Error("a forgotten text is exported")
		}
		r, err := VerifyExport(t.Context(), bytes.NewReader(out), whole.Head)
		if err != nil {
			t.Fatal(err)
		}
		want := whole
		if !withBytes {
			want.Images, want.Bytes = 0, 0
		}
		if r != want || written != want {
			t.Errorf("Export returns %+v, and VerifyExport %+v, want %+v", written, r, want)
		}
		end := fmt.Sprintf(`{"type":"end","events":%d,"entries":%d,"images":%d,"head":"%s"}`+"\n", want.Events, want.Entries, want.Images, want.Head)
		if !bytes.HasSuffix(out, []byte(end)) {
			t.Errorf("the export does not end with %s", end)
		}
		if _, err := VerifyExport(t.Context(), bytes.NewReader(out), strings.Repeat("0", 64)); !errors.Is(err, errHead) {
			t.Errorf("a head that is not in the chain: %v", err)
		}
		if withBytes {
			testExportChunks(t, bytes.SplitAfter(out, []byte("\n")))
		}
	}
}

// TestExportOfChunks: an image of three chunks is verified.
func TestExportOfChunks(t *testing.T) {
	j := mustOpen(t, filepath.Join(t.TempDir(), "j"), Options{})
	mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: &change.Image{Data: make([]byte, 2*boltfile.ChunkSize+1)}})
	want := mustVerify(t, j)
	if got, err := VerifyExport(t.Context(), bytes.NewReader(export(t, j, true)), want.Head); err != nil || got != want {
		t.Errorf("VerifyExport = %+v, %v, want %+v", got, err, want)
	}
}

// TestExportTampered: each changed value, and each removed, added or moved member or line, is detected.
func TestExportTampered(t *testing.T) {
	storetest.Long(t)
	lines := bytes.SplitAfter(export(t, exportJournal(t, 1000), true), []byte("\n"))
	lines = lines[:len(lines)-1]
	refused := func(what string, lines ...[]byte) string {
		t.Helper()
		return wantRefused(t, what, lines)
	}
	with := func(i int, line []byte) [][]byte {
		all := append([][]byte(nil), lines...)
		all[i] = line
		return all
	}
	tried := 0
	for i, line := range lines {
		refused("a line is cut", with(i, line[:len(line)/2])...)
		refused("a line is missing", append(append([][]byte(nil), lines[:i]...), lines[i+1:]...)...)
		refused("a line comes twice", append(append([][]byte(nil), lines[:i+1]...), lines[i:]...)...)
		if i == len(lines)-1 {
			refused("a part of a line follows", append(slices.Clone(lines), []byte(`{"type":"x"}`))...)
		}
		refused("a member comes twice", with(i, bytes.Replace(line, []byte("{"), []byte(`{"type":"x",`), 1))...)
		if why := refused("a blank is added", with(i, bytes.Replace(line, []byte(":"), []byte(": "), 1))...); !strings.HasSuffix(why, fmt.Sprintf("line %d differs", i+1)) {
			t.Errorf("a blank is added to line %d: %s", i+1, why)
		}
		if i > 0 {
			refused("two lines are exchanged", append(append(append([][]byte(nil), lines[:i-1]...), line, lines[i-1]), lines[i+1:]...)...)
		}
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		eachChange(v, func(what string) {
			changed, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			refused(what+" in "+string(line[:min(200, len(line))]), with(i, append(changed, '\n'))...)
		})
	}
	if tried < 300 {
		t.Errorf("%d changes were tried", tried)
	}
}

// wantRefused checks that an export is refused, and returns the reason.
func wantRefused(t *testing.T, what string, lines [][]byte) string {
	t.Helper()
	_, err := VerifyExport(t.Context(), bytes.NewReader(bytes.Join(lines, nil)), "")
	if !errors.Is(err, ErrExport) {
		t.Fatalf("%s: %v", what, err)
	}
	return err.Error()
}

// testExportChunks checks that an export is refused if the two chunks of its large image are not complete and in order.
func testExportChunks(t *testing.T, lines [][]byte) {
	t.Helper()
	at := slices.IndexFunc(lines, func(line []byte) bool { return len(line) > boltfile.ChunkSize })
	if at < 0 {
		t.Fatal("no line has a whole chunk")
	}
	wantRefused(t, "chunks are exchanged", slices.Concat(lines[:at], [][]byte{lines[at+1], lines[at]}, lines[at+2:]))
	for _, i := range []int{at, at + 1} {
		wantRefused(t, "a chunk is missing", slices.Concat(lines[:i], lines[i+1:]))
		wantRefused(t, "a chunk comes twice", slices.Concat(lines[:i+1], lines[i:]))
	}
}

// eachChange changes each value in v, removes each member, and adds a member to each object. It makes one change at a time
// and calls f after each.
func eachChange(v any, f func(what string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			switch old := old.(type) {
			case map[string]any, []any:
				eachChange(old, f)
			case string:
				v[name] = old + "x"
				f(name)
			case float64:
				v[name] = old + 1
				f(name)
			case bool:
				v[name] = !old
				f(name)
			case nil:
				v[name] = map[string]any{"sha256": strings.Repeat("0", 64), "size": 0, "mode": 0}
				f(name)
			}
			delete(v, name)
			f("no " + name)
			v[name] = old
		}
		v["more"] = 1
		f("more")
		delete(v, "more")
	case []any:
		for _, one := range v {
			eachChange(one, f)
		}
	}
}

// TestExportRebuilt: a rebuilt chain is detected only with a head that was kept.
func TestExportRebuilt(t *testing.T) {
	j := exportJournal(t, 1)
	kept, err := j.Verify("")
	if err != nil {
		t.Fatal(err)
	}
	other := mustOpen(t, filepath.Join(t.TempDir(), "j"), Options{})
	mustFinish(t, other, mustBegin(t, other, scanCause(), change.Op{Ref: partRef(1), Post: image("x")}), change.Committed)
	out := export(t, other, true)
	if _, err := VerifyExport(t.Context(), bytes.NewReader(out), ""); err != nil {
		t.Error(err)
	}
	if _, err := VerifyExport(t.Context(), bytes.NewReader(out), kept.Head); !errors.Is(err, errHead) {
		t.Errorf("VerifyExport with the old head returns %v", err)
	}
}

// TestExportMemory: no line of an export is longer than a chunk, encoded as text.
func TestExportMemory(t *testing.T) {
	storetest.NeedAllCases(t)
	j := mustOpen(t, filepath.Join(t.TempDir(), "j"), Options{})
	const size = 24 << 20
	mustFinish(t, j, mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: &change.Image{Data: randomBytes(1, size)}}), change.Committed)
	r, w := io.Pipe()
	go func() {
		_, err := j.Export(t.Context(), w, true)
		w.CloseWithError(err)
	}()
	longest := &longestWrite{}
	if _, err := VerifyExport(t.Context(), io.TeeReader(r, longest), ""); err != nil {
		t.Fatal(err)
	}
	if longest.total < size || longest.line > 3*boltfile.ChunkSize {
		t.Errorf("%d bytes, the longest line has %d", longest.total, longest.line)
	}
}

type longestWrite struct{ total, line, now int }

func (l *longestWrite) Write(b []byte) (int, error) {
	l.total += len(b)
	for part := range bytes.Lines(b) {
		l.now += len(part)
		l.line = max(l.line, l.now)
		if part[len(part)-1] == '\n' {
			l.now = 0
		}
	}
	return len(b), nil
}

// TestExportWithoutTime: a journal without the time of its creation is damaged.
func TestExportWithoutTime(t *testing.T) {
	j := exportJournal(t, 1)
	if err := j.update("forge", func(w *writer) error { return w.Del(bucketMeta, []byte(keyCreated)) }); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := j.Export(t.Context(), &out, true); !errors.Is(err, ErrDamaged) || out.Len() > 0 {
		t.Errorf("Export = %v, after %d bytes", err, out.Len())
	}
}

// TestExportEndless: a file that is not an export is refused after few bytes, even if it has no line feed and no end.
func TestExportEndless(t *testing.T) {
	in := &endless{}
	if _, err := VerifyExport(t.Context(), in, ""); !errors.Is(err, ErrExport) {
		t.Errorf("VerifyExport = %v, want %v", err, ErrExport)
	}
	if in.read > 1<<20 {
		t.Errorf("VerifyExport read %d bytes", in.read)
	}
}

// endless is a reader of zeros.
type endless struct{ read int }

func (r *endless) Read(p []byte) (int, error) {
	clear(p)
	r.read += len(p)
	if r.read > 1<<28 {
		return 0, errors.New("read too much")
	}
	return len(p), nil
}
