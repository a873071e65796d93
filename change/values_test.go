package change_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
)

func ref(kind change.Kind, project, session, message, part string) change.Ref {
	return change.Ref{Kind: kind, Project: project, Session: session, Message: message, Part: part}
}

// TestRefs: the ids that a ref of each kind needs, its own id, and its text.
func TestRefs(t *testing.T) {
	long, blank := strings.Repeat("x", change.MaxID+1), strings.Repeat(" ", change.MaxID)
	for _, c := range []struct {
		ref      change.Ref
		id, text string
		valid    bool
	}{
		{ref(change.KindSession, "", "s", "", ""), "s", "s", true},
		{ref(change.KindSession, "p", "s", "", ""), "s", "s", true},
		{ref(change.KindSession, strings.Repeat("p", 255), "s", "", ""), "s", "s", true},
		{ref(change.KindSession, strings.Repeat("p", 256), "s", "", ""), "s", "s", false},
		{ref(change.KindSession, "../p", "s", "", ""), "s", "s", false},
		{ref(change.KindMessage, "", "s", "m", ""), "m", "m", true},
		{ref(change.KindMessage, "", "", "m", ""), "m", "m", false},
		{ref(change.KindPart, "", "s", "m", "p"), "p", "m/p", true},
		{ref(change.KindPart, "", "s", "", "p"), "p", "/p", false},
		{ref(change.KindPart, "", "s", "m", "a/b"), "a/b", `m/"a/b"`, false},
		{ref(change.KindPart, "", "s", "m", long), long, `m/"` + long[:change.MaxID] + `"…`, false},
		{ref(change.KindPart, "", "s", "m", blank), blank, `m/"` + blank + `"`, false},
		{ref(change.KindPart, "", "s", "m", long[:change.MaxID]), long[:change.MaxID], "m/" + long[:change.MaxID], true},
		{ref(change.KindFolder, "", "s", "m", ""), "m", "m/", true},
		{ref(change.KindFolder, "", "s", "", ""), "s", "s/", true},
		{ref(change.KindFolder, "", "s", ".m", ""), ".m", `".m"/`, false},
		{ref(change.KindFile, "", "s", "m", "a/b.txt"), "a/b.txt", "m/a/b.txt", true},
		{ref(change.KindFile, "", "s", "", "a\nb"), "a\nb", `s/a\nb`, true},
		{ref(change.KindFile, "", "s", "m", ".a"), ".a", "m/.a", false},
		{ref(change.KindFile, "", "s", "m", "a/../b"), "a/../b", "m/a/../b", false},
		{ref(change.KindFile, "", "s", "m", "a//b"), "a//b", "m/a//b", false},
		{ref(change.KindFile, "", "s", "m", "\x00b"), "\x00b", `m/\x00b`, false},
		{ref(change.KindFile, "", "s", "m", "a\x00b"), "a\x00b", `m/a\x00b`, false},
		{ref(change.KindProject, "p", "", "", ""), "p", "p", true},
		{ref(change.KindProject, "", "s", "", ""), "", "", false},
		{ref(change.KindEvents, "", "s", "", ""), "s", "s/events", true},
		{ref(change.KindIndex, "", "s", "", ""), "s", "s/index", true},
		{ref(change.KindIndex, "", "", "", ""), "", "/index", false},
		{ref(change.KindHistory, "", "s", "", ""), "s", "s/history", true},
		{ref(change.KindDatabase, "", "", "", ""), "database", "database", true},
		{ref(change.KindRows, "", "", "", "rows-1"), "rows-1", "rows-1", true},
		{ref(change.KindRows, "", "s", "", ""), "", "", false},
		{ref(change.KindTree, "snapshot", "", "", "p"), "p", "snapshot/p", true},
		{ref(change.KindTree, "", "", "", "p"), "p", "/p", false},
		{ref(0, "", "s", "", ""), "s", "s", false},
		{ref(99, "", "s", "", ""), "s", "s", false},
	} {
		if got := c.ref.ID(); got != c.id {
			t.Errorf("%#v: ID = %q, want %q", c.ref, got, c.id)
		}
		if got := c.ref.String(); got != c.text {
			t.Errorf("%#v: String = %q, want %q", c.ref, got, c.text)
		}
		if err := c.ref.Validate(); (err == nil) != c.valid {
			t.Errorf("%#v: Validate = %v, want valid %t", c.ref, err, c.valid)
		}
		if bare := c.ref.WithoutProject(); bare.Project != "" || bare.Session != c.ref.Session {
			t.Errorf("%#v: WithoutProject = %#v", c.ref, bare)
		}
	}
}

// TestKinds: each kind has a name, and four kinds are whole files.
func TestKinds(t *testing.T) {
	for k := range change.Kind(20) {
		aside := []change.Kind{change.KindTree, change.KindTranscript, change.KindDatabase, change.KindRows}
		if k.WholeFiles() != slices.Contains(aside, k) {
			t.Errorf("%v: WholeFiles = %t", k, k.WholeFiles())
		}
		if name := k.String(); name == "" || strings.HasPrefix(name, "kind(") != (k == 0 || k > change.KindHistory) {
			t.Errorf("kind %d is %q", k, name)
		}
	}
}

// TestCompareRefs: refs are ordered by kind, project, session, message and part.
func TestCompareRefs(t *testing.T) {
	a := ref(change.KindPart, "b", "b", "b", "b")
	for i, b := range []change.Ref{
		ref(change.KindMessage, "c", "c", "c", "c"), ref(change.KindPart, "a", "c", "c", "c"), ref(change.KindPart, "b", "a", "c", "c"),
		ref(change.KindPart, "b", "b", "a", "c"), ref(change.KindPart, "b", "b", "b", "a"),
	} {
		if a.Compare(b) != 1 || b.Compare(a) != -1 || a.Compare(a) != 0 {
			t.Errorf("row %d: %v.Compare(%v) = %d, want 1", i, a, b, a.Compare(b))
		}
	}
}

// TestValidateSessionID: the id of a session does not start with a dash, as a flag does.
func TestValidateSessionID(t *testing.T) {
	for id, valid := range map[string]bool{"a-b": true, "-a": false, "": false} {
		if err := change.ValidateSessionID(id); (err == nil) != valid {
			t.Errorf("ValidateSessionID(%q) = %v, want valid %t", id, err, valid)
		}
	}
}

// TestEncodedRefs: an encoded ref is decoded to the same ref, and truncated bytes are refused.
func TestEncodedRefs(t *testing.T) {
	refs := []change.Ref{ref(change.KindPart, "p", "s", "m", "a"), ref(change.KindPart, "p", "s", "m", "b"), ref(change.KindSession, "", "t", "", "")}
	var data []byte
	for _, r := range refs {
		data = change.AppendRef(data, r)
	}
	for n := range len(data) + 1 {
		d := change.Decoder{Rest: data[:n]}
		var got []change.Ref
		for len(d.Rest) > 0 {
			if r := d.Ref(); !d.Failed {
				got = append(got, r)
			}
		}
		if n == len(data) != (len(got) == len(refs)) || !slices.Equal(got, refs[:len(got)]) || d.Failed && len(d.Rest) > 0 {
			t.Fatalf("%d of %d bytes give %v, failed %t", n, len(data), got, d.Failed)
		}
	}
	for _, data := range [][]byte{{}, {0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}} {
		d := change.Decoder{Rest: data}
		if n := d.Uvarint(); n != 0 || !d.Failed || d.Rest != nil {
			t.Errorf("%v is the number %d, failed %t", data, n, d.Failed)
		}
	}
}

func entry(session string, refs ...change.Ref) change.Entry {
	e := change.Entry{Session: session}
	for _, r := range refs {
		e.Ops = append(e.Ops, change.OpInfo{Ref: r})
	}
	return e
}

var (
	partA    = ref(change.KindPart, "", "s", "m", "a")
	partB    = ref(change.KindPart, "", "s", "m", "b")
	database = ref(change.KindDatabase, "", "", "", "")
)

// TestBlocks: an entry blocks plans and entries of its session or with one of its records, and an entry of whole files
// blocks all.
func TestBlocks(t *testing.T) {
	a, b, rows := partA, partB, ref(change.KindRows, "", "", "", "r")
	for _, c := range []struct {
		name   string
		e, o   change.Entry
		blocks bool
	}{
		{"the same session", entry("s", a), entry("s", b), true},
		{"another session", entry("s", a), entry("t", b), false},
		{"another session, the same record", entry("s", a), entry("t", b, a), true},
		{"a whole database", entry("x", database), entry("t", b), true},
		{"rows of all", entry("x", rows), entry("t", b), true},
		{"a database that is not the first op", entry("x", a, database), entry("t", b), false},
		{"no ops", entry("x"), entry("t"), false},
	} {
		p := change.Plan{Session: c.o.Session}
		for _, o := range c.o.Ops {
			p.Ops = append(p.Ops, change.Op{Ref: o.Ref})
		}
		if c.e.Blocks(p) != c.blocks || c.e.Shares(c.o) != c.blocks {
			t.Errorf("%s: Blocks = %t, Shares = %t, want %t", c.name, c.e.Blocks(p), c.e.Shares(c.o), c.blocks)
		}
	}
}

// TestKeepsFiles: gc keeps the user's own files and the whole databases of an entry, except those of a clean.
func TestKeepsFiles(t *testing.T) {
	file := ref(change.KindFile, "", "s", "m", "f")
	for _, c := range []struct {
		e     change.Entry
		cause change.CauseKind
		files int
		keeps bool
	}{
		{entry("s", partA, file, partB), change.CauseMove, 1, true},
		{entry("s", partA, file, partB), change.CauseClean, 1, false},
		{entry("s", partA), change.CauseMove, 0, false},
		{entry("", database), change.CauseSalvage, 0, true},
	} {
		c.e.Cause.Kind = c.cause
		if got := c.e.Files(); len(got) != c.files || c.files > 0 && got[0] != file || c.e.KeepsFiles() != c.keeps {
			t.Errorf("%v, %s: Files = %v, KeepsFiles = %t, want %d files, %t", c.e.Ops, c.cause, got, c.e.KeepsFiles(), c.files, c.keeps)
		}
	}
}

// TestIsUndo: a redo or a restore is not an undo, although both revert entries.
func TestIsUndo(t *testing.T) {
	for _, c := range []struct {
		cause change.Cause
		verb  string
		want  bool
	}{
		{change.Cause{Kind: change.CauseUndo}, "undo", true},
		{change.Cause{Kind: change.CauseUndo}, "restore", false},
		{change.Cause{Kind: change.CauseUndo, Text: "t"}, "undo", false},
		{change.Cause{Kind: change.CauseRedo}, "undo", false},
		{change.Cause{Kind: change.CauseUndo}, "", true},
	} {
		e := change.Entry{Cause: c.cause}
		if c.verb != "" {
			e.Actor = &change.Actor{Verb: c.verb}
		}
		if e.IsUndo() != c.want {
			t.Errorf("%+v by %s: IsUndo = %t, want %t", c.cause, c.verb, e.IsUndo(), c.want)
		}
	}
}

// TestStaged: an entry gives the staged change of its ops. A store is the same one on another device.
func TestStaged(t *testing.T) {
	id := change.StoreID{Kind: "json", Root: "/a", Dev: 1}
	if !id.Same(change.StoreID{Kind: "json", Root: "/a"}) || id.Same(change.StoreID{Kind: "lines", Root: "/a"}) || id.Same(change.StoreID{Kind: "json", Root: "/b"}) {
		t.Error("Same compares more or less than the kind and the root")
	}
	p := &change.AppendPoint{Size: 1}
	e := change.Entry{Dir: "d", Append: p}
	if st := e.Staged(id, []change.Op{{Ref: partA}}); st.Store != id || st.Dir != "d" || st.Append != p || len(st.Ops) != 1 {
		t.Errorf("Staged = %+v", st)
	}
}

// TestHashText: a hash in JSON is read as it was written, and a text of another length is an error.
func TestHashText(t *testing.T) {
	h := change.DigestOf(image("a")).SHA256
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var got change.Hash
	if err := got.UnmarshalText(text); err != nil || got != h {
		t.Errorf("UnmarshalText(%s) = %v, %v", text, got, err)
	}
	for _, wrong := range []string{"", string(text[2:]), string(text) + "00"} {
		if err := new(change.Hash).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("UnmarshalText(%q) gave no error", wrong)
		}
	}
}

// TestDigestEqual: digests are equal if both are missing, or if their images are equal.
func TestDigestEqual(t *testing.T) {
	var none *change.Digest
	one, other := change.DigestOf(image("a")), change.DigestOf(image("b"))
	if !none.Equal(nil) || none.Equal(one) || one.Equal(nil) || one.Equal(other) || !one.Equal(change.DigestOf(image("a"))) || change.DigestOf(nil) != nil {
		t.Error("Equal is true of different digests, or false of equal ones")
	}
}

// TestComposeFolders: a folder that is created and deleted cancels out, whatever its image.
func TestComposeFolders(t *testing.T) {
	folder := ref(change.KindFolder, "", "s", "m", "")
	there := &change.Image{Mode: 0o700 | 1<<31}
	ops, err := change.Compose([]change.Op{{Ref: folder, Post: there}}, []change.Op{{Ref: folder, Pre: image("other")}})
	if err != nil || len(ops) != 0 {
		t.Errorf("Compose = %v, %v", ops, err)
	}
}

// TestDiffUnreadable: a record whose bytes are unknown is neither written nor deleted, except a file of the user's own.
func TestDiffUnreadable(t *testing.T) {
	bad := &change.Defect{}
	part, file := ref(change.KindPart, "", "s", "m", "p"), ref(change.KindFile, "", "s", "m", "f")
	seq := func(rs ...*change.Record) func(func(*change.Record) bool) { return slices.Values(rs) }
	record := func(r change.Ref, data string, d *change.Defect) *change.Record {
		return &change.Record{Ref: r, Data: []byte(data), Mode: 0o644, Defect: d}
	}
	for _, c := range []struct {
		name          string
		before, after []*change.Record
		want          string
	}{
		{"a part", []*change.Record{record(part, "a", nil)}, []*change.Record{record(part, "b", nil)}, "change m/p"},
		{"an unreadable part", []*change.Record{record(part, "a", bad)}, []*change.Record{record(part, "b", bad)}, ""},
		{"an unreadable part is deleted", []*change.Record{record(part, "a", bad)}, nil, ""},
		{"a part is deleted", []*change.Record{record(part, "a", nil)}, nil, "delete m/p"},
		{"an unreadable file is moved away", []*change.Record{record(file, "a", bad)}, nil, "delete m/f"},
		{"a part stays", []*change.Record{record(part, "a", nil)}, []*change.Record{record(part, "a", nil)}, ""},
	} {
		var got []string
		for _, o := range change.Diff(seq(c.before...), seq(c.after...)) {
			got = append(got, o.Verb()+" "+o.Ref.String())
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCols: a column has the value of its class, and columns are equal if their names and values are.
func TestCols(t *testing.T) {
	for _, v := range []int64{0, -1, 1 << 40} {
		c := change.IntCol("a", v)
		n, ok := c.Int()
		f, isNumber := c.Float()
		if n != v || !ok || f != float64(v) || !isNumber {
			t.Errorf("%d: Int = %d %t, Float = %v %t", v, n, ok, f, isNumber)
		}
	}
	real := change.RealCol("a", 1.5)
	if f, ok := real.Float(); f != 1.5 || !ok {
		t.Errorf("a real: Float = %v, %t", f, ok)
	}
	if n, ok := real.Int(); ok {
		t.Errorf("a real: Int = %d", n)
	}
	for _, c := range []change.Col{change.TextCol("a", "12345678"), {Class: change.ClassInteger, Bytes: []byte("1")}, {Class: change.ClassBlob, Bytes: []byte("12345678")}} {
		if _, ok := c.Int(); ok {
			t.Errorf("%+v is an integer", c)
		}
		if _, ok := c.Float(); ok {
			t.Errorf("%+v is a number", c)
		}
	}
	cols := change.NewCols(change.IntCol("a", 1), change.TextCol("b", "x"))
	clone := cols.Clone()
	if !clone.Equal(cols) || !cols.Equal(change.NewCols(change.IntCol("a", 1), change.TextCol("b", "x"))) {
		t.Error("equal columns differ")
	}
	for _, other := range []change.Cols{{}, change.NewCols(change.IntCol("a", 2), change.TextCol("b", "x")), change.NewCols(change.IntCol("a", 1), change.TextCol("c", "x"))} {
		if cols.Equal(other) || other.Equal(cols) {
			t.Errorf("%v equals %v", cols, other)
		}
	}
	n := 0
	for range cols.All {
		n++
		break
	}
	if n != 1 {
		t.Error("All continues after the loop has ended")
	}
}

// TestDistinct: a later change gets another stamp only if the newest record is older than one step of the clock.
func TestDistinct(t *testing.T) {
	now := time.Unix(1000, 0)
	for age, want := range map[time.Duration]bool{2 * time.Second: false, 2*time.Second + 1: true, 0: false} {
		s := change.Stamp{Sum: [32]byte{1}, Newest: now.Add(-age)}
		if s.Distinct(now) != want {
			t.Errorf("%v: Distinct = %t, want %t", age, !want, want)
		}
		if s.Sum = [32]byte{}; s.Distinct(now) {
			t.Error("Distinct is true without a sum")
		}
	}
}

// TestTextsOfErrors: an error names the record, the limit or the damaged tables.
func TestTextsOfErrors(t *testing.T) {
	conflict := change.Conflict{Ref: ref(change.KindPart, "", "s", "m", "p"), Why: "changed"}
	for _, c := range []struct {
		want string
		err  error
	}{
		{"the store was changed meanwhile", &change.ConflictError{}},
		{"part m/p: changed", &change.ConflictError{Conflicts: []change.Conflict{conflict}}},
		{"part m/p: changed (and 1 more)", &change.ConflictError{Conflicts: []change.Conflict{conflict, conflict}}},
		{"part m/p cannot be changed: linked", &change.LinkedError{Ref: conflict.Ref, Why: "linked"}},
		{"it has more than 3 MB, which is too much for the memory of this machine", &change.SizeError{Most: 3 << 20}},
		{"it is damaged: x", &change.DamagedError{Why: "x"}},
		{"it is damaged in the table a: x", &change.DamagedError{Why: "x", Parts: []string{"the table a"}}},
		{"it is damaged in the table a, the index i: x", &change.DamagedError{Why: "x", Parts: []string{"the table a", "the index i"}}},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestLosesThinking: the text says how many blocks of thinking are lost, and what becomes of them.
func TestLosesThinking(t *testing.T) {
	const rest = "Texts and tool calls stay."
	for _, c := range []struct {
		b    *change.BoundThinking
		want string
	}{
		{nil, ""},
		{&change.BoundThinking{}, ""},
		{&change.BoundThinking{Spoiled: 1}, "The thinking block after the change, which is bound to the conversation before it: the model may not get it again. " + rest},
		{&change.BoundThinking{Spoiled: 1, Refused: true}, "The thinking block after the change, which is bound to the conversation before it: the provider refuses the next prompt with it, and mend fix removes it. " + rest},
		{&change.BoundThinking{Spoiled: 2, Removed: true}, "The 2 thinking blocks after the change, which are bound to the conversation before them: mend removes them, too. " + rest},
	} {
		if got := c.b.Loses(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.b, got, c.want)
		}
	}
}

// TestRecords: a missing column is empty, and the kind of a defect decides whether the record can be read.
func TestRecords(t *testing.T) {
	row := &change.Record{Cols: change.NewCols(change.TextCol("title", "a"), change.IntCol("n", 7))}
	for _, c := range []struct {
		r           *change.Record
		title, text string
		n           int64
	}{{row, "a", "", 7}, {nil, "", "", 0}, {&change.Record{}, "", "", 0}} {
		if c.r.Text("title") != c.title || c.r.Text("n") != c.text || c.r.Int("n") != c.n || c.r.Int("title") != 0 {
			t.Errorf("%+v: title %q, n %q and %d", c.r, c.r.Text("title"), c.r.Text("n"), c.r.Int("n"))
		}
	}
	for _, c := range []struct {
		defect                change.DefectKind
		unreadable, malformed bool
	}{
		{0, false, false}, {change.Unreadable, true, true}, {change.TooDeep, true, true}, {change.Malformed, false, true}, {change.WrongType, false, false},
	} {
		r := &change.Record{}
		if c.defect != 0 {
			r.Defect = &change.Defect{Kind: c.defect}
		}
		if r.Unreadable() != c.unreadable || r.IsMalformed() != c.malformed {
			t.Errorf("defect %d: unreadable %t, malformed %t", c.defect, r.Unreadable(), r.IsMalformed())
		}
	}
}

// TestImages: a record has the data, mode and columns of its image, and a truncated row is refused.
func TestImages(t *testing.T) {
	r := ref(change.KindPart, "", "s", "m", "p")
	row := change.Record{Ref: r, Data: []byte("data"), Cols: change.NewCols(change.TextCol("id", "p"))}
	i := change.ImageOf(&row)
	if got := change.RecordOf(r, i); string(got.Data) != "data" || !got.IsRow() {
		t.Errorf("RecordOf a row = %+v", got)
	}
	for _, image := range []*change.Image{{Data: []byte("x")}, {Data: []byte("x"), Mode: 0o600}, {Data: i.Data, Mode: 0o600}} {
		if got := change.RecordOf(r, image); string(got.Data) != string(image.Data) || got.Mode != image.Mode || got.IsRow() {
			t.Errorf("RecordOf %+v = %+v", image, got)
		}
	}
	for n := range len(i.Data) {
		if _, err := change.RowOf(r, &change.Image{Data: i.Data[:n]}); err == nil {
			t.Errorf("a row of %d of %d bytes is read", n, len(i.Data))
		}
	}
	if _, err := change.RowOf(r, &change.Image{Data: append(slices.Clone(i.Data), 0)}); err == nil {
		t.Error("a row that is too long is read")
	}
	var none *change.Image
	if none.Size() != 0 || i.Size() != len(i.Data) {
		t.Errorf("Size = %d, and %d without an image, want %d and 0", i.Size(), none.Size(), len(i.Data))
	}
	other := row
	other.Data = []byte("more")
	file := change.Record{Ref: r, Data: row.Data, Mode: 0o600}
	changed := file
	changed.Mode = 0o644
	for _, c := range []struct {
		a, b change.Record
		want bool
	}{{row, row, true}, {row, other, false}, {row, file, false}, {file, file, true}, {file, changed, false}} {
		if got := change.SameImage(&c.a, &c.b); got != c.want {
			t.Errorf("SameImage(%v, %v) = %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

// TestOnlyFiles: OnlyFiles is false if one stray is not a file.
func TestOnlyFiles(t *testing.T) {
	if !change.OnlyFiles(nil) || !change.OnlyFiles([]change.Stray{{Kind: change.StrayFile}}) || change.OnlyFiles([]change.Stray{{Kind: change.StrayFile}, {Kind: change.StrayLink}}) {
		t.Error("OnlyFiles is true with a link, or false without one")
	}
}
