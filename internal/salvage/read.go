package salvage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/fail"
)

// Options configure how a database is read.
type Options struct {
	// Known returns the complete schema of a known program for a file with a damaged schema, given the readable
	// objects.
	Known func(have []Object) []Object
	// Owners are the columns that link a row to a row of another table, if no foreign key does.
	Owners map[string]Owner
	// Row, if not nil, is called for each row that is written. It must not keep vals.
	Row func(t *Table, rowid int64, vals []Value)
	// NoRow, if not nil, reports whether values cannot be a row of a table although they have its storage classes.
	NoRow func(t *Table, vals []Value) bool
	// Progress is called with the number of bytes read and the number of bytes to read.
	Progress func(done, total int64)
}

// An Owner is a column of a table that has the key of a row of another table.
type Owner struct{ Column, Table, Key string }

// A Result is the result of reading a database. Its rows are in the new database.
type Result struct {
	DB     *DB
	Tables []*Table
	Header Header
	// ForeignWAL means that the -wal belongs to another database, or to another state of this one. FromWAL is the
	// number of rows that were taken from it; a row whose owner does not exist is not taken. OldWAL means that the file
	// was written after the -wal; then FromWAL is 0.
	ForeignWAL, OldWAL bool
	FromWAL            int
	// SchemaDamaged means that part of the schema could not be read.
	SchemaDamaged bool
	// Unreadable is the number of pages for which the disk reported an error.
	Unreadable int
	// Added are the objects of the schema that were taken from a known schema.
	Added []Object
	// Missing are objects of the schema that could not be created.
	Missing []Object
}

// A scan reads one database.
type scan struct {
	*file
	walk   *walker
	db     *DB
	schema []schemaRow
	added  []Object // added to the schema from a known one

	free     []uint64          // a bit for each free page, as far as they are known
	freeOK   bool              // the freelist is complete
	suspects map[uint32]*Table // pages in the tree of a table with cells that do not belong there

	widest      int // greatest number of columns of a row; a cell with more is not a row
	ctx         context.Context
	opt         Options
	done, total int64
	buf         payloadBuffer
	rec         recordBuffer
}

type schemaRow struct {
	Object
	root uint32
}

// Read reads all readable rows and writes them into a new database at path.
func Read(ctx context.Context, src Source, path string, o Options) (res *Result, err error) {
	s := newScan(ctx, src, true, o)
	moment := s.moment
	isForeign, err := s.isForeignWAL()
	if err != nil {
		return nil, err
	}
	var foreign *file // reads the frames of a -wal that does not belong to the file
	if isForeign {
		foreign, s = s.file, newScan(ctx, src, false, o)
	}
	whole := s.readSchema()
	if s.header.UTF16 && len(s.schema) == 0 {
		return nil, fail.New(fail.Unusable, "", "its text is not UTF-8") // no supported program uses UTF-16
	}
	if o.Known != nil {
		if whole, err = s.addKnown(o.Known, whole); err != nil {
			return nil, err
		}
	}
	objects := make([]Object, len(s.schema))
	for i, r := range s.schema {
		objects[i] = r.Object
	}
	if len(objects) == 0 {
		return nil, fail.New(fail.Unusable, "", "no table can be found in it")
	}
	db, missing, err := Create(path, s.header, s.pageSize, objects)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = db.Abandon()
		}
	}()
	s.db = db
	for _, t := range db.tables {
		s.widest = max(s.widest, len(t.cols))
	}
	if err := s.readAll(); err != nil {
		return nil, err
	}
	fromWAL := 0
	if foreign != nil && moment != Older { // an older -wal has only rows that were deleted or changed since
		if fromWAL, err = s.readFrames(foreign); err != nil {
			return nil, err
		}
	}
	return &Result{
		DB: db, Tables: db.tables, Header: s.header, ForeignWAL: foreign != nil, OldWAL: foreign != nil && moment == Older, FromWAL: fromWAL,
		SchemaDamaged: !whole, Added: s.added, Unreadable: len(s.failed), Missing: missing,
	}, nil
}

func newScan(ctx context.Context, src Source, withWAL bool, o Options) *scan {
	s := &scan{file: openFile(src, withWAL), suspects: map[uint32]*Table{}, widest: schemaColumns, ctx: ctx, opt: o}
	s.total = int64(s.pages)
	s.walk = newWalker(s.file, s.step)
	return s
}

const schemaColumns = 5

// step is called for every page read.
func (s *scan) step() error {
	s.done++
	if s.done%256 == 0 && s.opt.Progress != nil {
		s.opt.Progress(min(s.done, s.total)*int64(s.pageSize), s.total*int64(s.pageSize))
	}
	return s.ctx.Err()
}

// isForeignWAL reports whether the -wal is older than the database, or whether the database is sound without its -wal,
// but is damaged or lacks all its tables with it. Missing transactions between the two count as damage.
func (s *scan) isForeignWAL() (bool, error) {
	if len(s.frames) == 0 || s.moment == Older {
		return len(s.frames) > 0, nil
	}
	withWAL, noWAL := newScan(s.ctx, s.src, true, Options{}), newScan(s.ctx, s.src, false, Options{})
	n, err := withWAL.countFaults()
	if err != nil {
		return false, err
	}
	noWAL.readSchema()
	same := slices.ContainsFunc(withWAL.schema, func(r schemaRow) bool {
		return r.Type == "table" && slices.ContainsFunc(noWAL.schema, func(o schemaRow) bool { return o.Name == r.Name })
	})
	if n == 0 && same && s.moment != Later {
		return false, nil
	}
	noWAL = newScan(s.ctx, s.src, false, Options{})
	n, err = noWAL.countFaults()
	return n == 0, err
}

// readFrames writes the new rows on pages of a foreign -wal that belong to existing rows, and returns their number.
func (s *scan) readFrames(wal *file) (n int, err error) {
	buf := make([]byte, wal.pageSize)
	pages := slices.Sorted(maps.Keys(wal.frames))
	for _, t := range s.ownersFirst() {
		if t.withoutRowid || s.opt.Owners[t.Name].Table == "" {
			continue
		}
		before := t.Rows
		for _, at := range pages {
			if err := s.step(); err != nil {
				return n, err
			}
			p := wal.read(at, buf)
			cells, whole := p.leafCells(wal, tableLeaf)
			for _, c := range cells {
				payload, ok := wal.payload(&p, c, &s.buf)
				if !whole || !ok || t.have.has(c.rowid) {
					continue
				}
				vals, ok := s.rec.parse(payload)
				if !ok || len(vals) != len(t.cols) || !t.canHold(vals) || !s.hasOwners(t, vals) || !s.hasParents(t, vals) {
					continue
				}
				if err := s.write(t, c.rowid, vals, false); err != nil {
					return n, err
				}
			}
		}
		n += t.Rows - before
		if t.Rows > before { // other rows in the -wal are lost
			t.Damaged, t.complete = true, false
		}
	}
	return n, nil
}

// hasParents reports whether the rows that the foreign keys refer to exist.
func (s *scan) hasParents(t *Table, vals []Value) bool {
	return !slices.ContainsFunc(t.parents, func(o Owner) bool { return !s.exists(o, t.Column(vals, o.Column)) })
}

// exists reports whether the new database has the row of an owner with the given key.
func (s *scan) exists(o Owner, key Value) bool {
	found, _ := s.db.Has("SELECT 1 FROM "+sqlite3.QuoteIdentifier(o.Table)+" WHERE "+sqlite3.QuoteIdentifier(o.Key)+" = ?1", key)
	return found
}

// countFaults counts the structural problems of all trees.
func (s *scan) countFaults() (faults int, err error) {
	if !s.header.Intact || !s.readSchema() {
		faults++
	}
	leaf := func(p *page, in span) {
		cells, whole := p.leafCells(s.file, tableLeaf)
		if !whole || !in.sure {
			faults++
		}
		for _, c := range cells {
			if c.rowid <= in.lo || c.rowid > in.hi {
				faults++
			}
		}
	}
	if len(s.schema) == 0 {
		faults++
	}
	for _, o := range s.schema {
		switch {
		case o.root == 0:
		case o.Type == "table" && !strings.Contains(strings.ToUpper(o.SQL), "WITHOUT ROWID"):
			faults += s.walk.table(o.root, leaf)
		default:
			faults += s.walk.index(o.root, o.Type == "index" && !strings.Contains(strings.ToUpper(o.SQL), " DESC") && !strings.Contains(strings.ToUpper(o.SQL), "COLLATE"), 0, nil, func([]Value) {})
		}
	}
	return faults, s.walk.err
}

// readSchema reads the schema, and reports whether it is complete.
func (s *scan) readSchema() bool {
	if s.pages == 0 {
		return false
	}
	found := map[string]bool{}
	add := func(p *page, in span) (whole bool) {
		cells, whole := p.leafCells(s.file, tableLeaf)
		whole = whole && in.sure && ascending(cells, in)
		if !whole {
			cells = append(cells, p.carve(s.file, cells, s.isRow)...)
		}
		for _, c := range cells {
			r, ok := s.schemaRow(p, c)
			if !ok {
				whole = false
				continue
			}
			if !found[r.Name] {
				found[r.Name] = true
				s.schema = append(s.schema, r)
			}
		}
		return whole
	}
	whole := true
	faults := s.walk.table(1, func(p *page, in span) {
		if p.kind() != tableLeaf || !add(p, in) {
			whole = false
		}
	})
	if whole && faults == 0 {
		return true
	}
	s.free, _ = s.freelist()
	buf := make([]byte, s.pageSize)
	for n := uint32(2); n <= s.size(); n++ {
		if s.walk.isSeen(n) || s.isFree(n) {
			continue
		}
		p := s.read(n, buf)
		if p.kind() != tableLeaf {
			continue
		}
		cells, _ := p.leafCells(s.file, tableLeaf)
		ok := len(cells) > 0
		for _, c := range cells {
			_, isRow := s.schemaRow(&p, c)
			ok = ok && isRow
		}
		if ok {
			add(&p, anywhere)
		}
	}
	return false
}

func (s *scan) schemaRow(p *page, c cell) (r schemaRow, ok bool) {
	v, ok := s.row(p, c)
	if !ok || len(v) != schemaColumns || v[0].Class != change.ClassText || v[1].Class != change.ClassText || v[2].Class != change.ClassText {
		return r, false
	}
	r.Object = Object{Type: v[0].Text(), Name: v[1].Text(), SQL: v[4].Text()}
	if root := v[3].Int(); root > 0 && root <= int64(s.pages) {
		r.root = uint32(root)
	}
	isSQL := strings.HasPrefix(strings.ToUpper(r.SQL), "CREATE ")
	switch r.Type {
	case "table", "view", "trigger":
		ok = isSQL
	case "index":
		ok = isSQL || v[4].Class == change.ClassNull
	default:
		ok = false
	}
	return r, ok
}

// addKnown adds objects from a known schema that are missing or damaged in the file's own schema. It reports whether
// the file's own schema is complete.
func (s *scan) addKnown(known func([]Object) []Object, whole bool) (bool, error) {
	trial, err := newTrial()
	if err != nil {
		return false, err
	}
	defer func() { _ = trial.Close() }()
	var have []Object
	var damaged []int
	names := map[string]bool{}
	for _, tables := range []bool{true, false} {
		for i, r := range s.schema {
			if tables != (r.Type == "table") {
				continue
			}
			names[r.Name] = true
			virtual := strings.HasPrefix(strings.ToUpper(r.SQL), "CREATE VIRTUAL")
			if r.SQL == "" || strings.HasPrefix(r.Name, "sqlite_") || virtual || trial.make(r.Object) {
				have = append(have, r.Object)
				continue
			}
			damaged = append(damaged, i)
		}
	}
	if whole && len(damaged) == 0 {
		return true, nil
	}
	for _, o := range known(have) {
		if !names[o.Name] {
			s.schema, s.added = append(s.schema, schemaRow{Object: o}), append(s.added, o)
		}
		for _, i := range damaged {
			if r := &s.schema[i]; o.Type == r.Type && o.Name == r.Name {
				r.Object = o
				s.added = append(s.added, o)
			}
		}
	}
	return len(s.added) == 0 && len(damaged) == 0, nil
}

// fitsAny reports whether the values match one of the tables.
func fitsAny(tables []*Table, vals []Value) bool {
	return slices.ContainsFunc(tables, func(t *Table) bool { return t.canHold(vals) })
}

// newTrial returns a new database in memory.
func newTrial() (*DB, error) {
	c, err := sqlite3.Open(":memory:")
	return newDB(c, ""), err
}

func (s *scan) isFree(n uint32) bool { return s.free != nil && s.free[n/64]&(1<<(n%64)) != 0 }

// readAll reads the rows of all tables, then the indexes, then the pages that no tree leads to.
func (s *scan) readAll() error {
	s.walk = newWalker(s.file, s.step)
	s.walk.table(1, func(p *page, _ span) {
		cells, _ := p.leafCells(s.file, tableLeaf)
		for _, c := range cells {
			if _, ok := s.schemaRow(p, c); !ok {
				s.walk.release(p.n)
			}
		}
	})
	roots := map[string]uint32{}
	for _, o := range s.schema {
		roots[o.Name] = o.root
	}
	search := false
	for _, t := range s.db.tables {
		t.root = roots[t.Name]
		read := s.readTable
		if t.withoutRowid {
			read = s.readKeyed
		}
		if err := read(t); err != nil {
			return err
		}
	}
	for _, t := range s.db.tables {
		if t.withoutRowid {
			continue
		}
		for _, ix := range t.indexes {
			ix.root = roots[ix.name]
			s.readIndex(t, ix)
		}
		search = search || t.Damaged || t.Lost.Len() > 0
	}
	if s.walk.err != nil || !search {
		return s.walk.err
	}
	return s.search()
}

// readTable writes the rows in the tree of a table.
func (s *scan) readTable(t *Table) error {
	var err error
	faults := s.walk.table(t.root, func(p *page, in span) {
		if err == nil {
			err = s.readLeaf(t, p, in)
		}
	})
	if faults > 0 {
		t.Damaged, t.hole = true, true
	}
	return cmp.Or(err, s.walk.err)
}

// readLeaf writes the rows of a page if the page is valid. Otherwise the page is a suspect.
func (s *scan) readLeaf(t *Table, p *page, in span) error {
	cells, whole := p.leafCells(s.file, tableLeaf)
	if !whole || !in.sure || !ascending(cells, in) || !s.fitsPage(t, p, cells) {
		t.Damaged, t.hole = true, true
		s.suspects[p.n] = t
		return nil
	}
	for _, c := range cells {
		if err := s.readRow(t, p, c); err != nil {
			return err
		}
	}
	return nil
}

// ascending reports whether the rowids ascend within a span.
func ascending(cells []cell, in span) bool {
	last := in.lo
	for _, c := range cells {
		if c.rowid <= last && c.rowid != math.MinInt64 || c.rowid > in.hi {
			return false
		}
		last = c.rowid
	}
	return true
}

// fitsPage reports whether the cells match the table, and match neither another table nor the schema better.
func (s *scan) fitsPage(t *Table, p *page, cells []cell) bool {
	n := s.countFits(t, p, cells)
	if n == len(cells) {
		return true
	}
	for _, other := range slices.Concat(s.db.tables, []*Table{schemaTable}) {
		if other != t && !other.withoutRowid && s.countFits(other, p, cells) > n {
			return false
		}
	}
	return true
}

var schemaTable = &Table{Name: "sqlite_schema", alias: -1, cols: []column{{affinity: 't', notNull: true}, {affinity: 't', notNull: true}, {affinity: 't', notNull: true}, {affinity: 'i'}, {affinity: 't'}}}

func (s *scan) countFits(t *Table, p *page, cells []cell) (n int) {
	for _, c := range cells {
		if vals, ok := s.classes(p, c); ok && t.canHold(vals) {
			n++
		}
	}
	return n
}

func (s *scan) isRow(p *page, c cell) bool {
	_, ok := s.classes(p, c)
	return ok
}

// classes returns the storage classes of a row, which are at its beginning.
func (s *scan) classes(p *page, c cell) ([]Value, bool) {
	vals := s.rec.vals[:0]
	head, body, ok := splitRecord(p.data[c.body : c.body+c.local]) // a row of hundreds of columns is not read
	total := int64(c.local - len(body))
	for ok && len(head) > 0 {
		var serial int64
		if serial, head, ok = nextSerial(head); !ok || len(vals) == s.widest {
			return nil, false
		}
		class, n := typeOf(serial)
		vals, total = append(vals, Value{Class: class}), total+n
	}
	s.rec.vals = vals
	return vals, ok && total == int64(c.size)
}

// readRow writes the row of a cell.
func (s *scan) readRow(t *Table, p *page, c cell) error {
	vals, ok := s.row(p, c)
	if !ok || len(vals) > len(t.cols) {
		t.Damaged = true
		return nil
	}
	return s.write(t, c.rowid, vals, true)
}

// row reads the row of a cell; it is valid until the next call.
func (s *scan) row(p *page, c cell) (vals []Value, ok bool) {
	payload, ok := s.payload(p, c, &s.buf)
	if !ok {
		return nil, false
	}
	return s.rec.parse(payload)
}

// write writes a row into the new database, unless a row with its rowid exists. inTree means that the tree of the table
// has it.
func (s *scan) write(t *Table, rowid int64, vals []Value, inTree bool) error {
	if !t.withoutRowid && t.have.has(rowid) {
		return nil
	}
	if t.Name == "sqlite_sequence" && len(vals) == 2 { // SQLite made rows of its own
		_ = s.db.Query("DELETE FROM sqlite_sequence WHERE name = ?1", vals[:1], nil)
	}
	why, err := s.db.write(t, rowid, vals)
	switch {
	case err != nil:
		return fmt.Errorf("writing a row of %s: %w", t.Name, err)
	case why != "" && inTree && !t.canHold(vals): // it may belong to another table: if not, an index reports what is lost
		t.Damaged = true
		return nil
	case why != "":
		t.Refused = append(t.Refused, Refusal{rowid, t.known(vals), why})
	default:
		t.Rows++
		if s.opt.Row != nil {
			s.opt.Row(t, rowid, vals)
		}
	}
	if !t.withoutRowid {
		t.have.add(rowid)
	}
	return nil
}

// readKeyed writes the rows of a table without rowids, stored in the tree of its key.
func (s *scan) readKeyed(t *Table) error {
	var order []int
	for _, ix := range t.indexes {
		if len(ix.cols) == len(t.cols) {
			order = ix.cols
		}
	}
	var err error
	row := make([]Value, len(t.cols))
	t.Damaged = s.walk.index(t.root, false, 0, nil, func(vals []Value) {
		if err != nil || len(vals) != len(order) {
			return
		}
		for i, at := range order {
			if at >= 0 {
				row[at] = vals[i]
			}
		}
		err = s.write(t, 0, row, false)
	}) > 0
	return cmp.Or(err, s.walk.err)
}

// readIndex adds the rows that an index has and that were not found to the table's lost rows.
func (s *scan) readIndex(t *Table, ix *index) {
	n, lost := 0, 0
	faults := s.walk.index(ix.root, ix.ordered, len(ix.cols)+1, func(entries [][]Value) bool { return s.belong(t, ix, entries) }, func(vals []Value) {
		rowid := vals[len(vals)-1].Int()
		if n++; t.have.has(rowid) {
			return
		}
		lost++
		known := Known{}
		for i, at := range ix.cols {
			if at >= 0 {
				known[t.cols[at].name] = vals[i]
			}
		}
		t.Lost.Set(rowid, known)
	})
	t.complete = t.complete || !ix.partial && ix.ordered && faults == 0 && n == t.have.count()+lost && (n > 0 || !t.hole)
}

// belong reports whether the entries of a page belong to an index of the table, as far as the found rows show. A page
// of another index can be in its place without a structural problem.
func (s *scan) belong(t *Table, ix *index, entries [][]Value) bool {
	rowid := func(vals []Value) int64 { return vals[len(vals)-1].Int() }
	if !slices.ContainsFunc(entries, func(vals []Value) bool { return !t.have.has(rowid(vals)) }) {
		return true // the page adds no information
	}
	const sample = 3
	differ := 0
	for _, vals := range entries {
		if !t.have.has(rowid(vals)) {
			continue
		}
		row, ok := s.db.row(t, ix.cols, rowid(vals))
		if !ok {
			continue
		}
		if slices.EqualFunc(row, vals[:len(row)], func(a, b Value) bool {
			return a.Class == change.ClassNull && b.Class != change.ClassNull || compare(a, b) == 0
		}) {
			return true
		}
		if differ++; differ == sample {
			break
		}
	}
	return differ == 0
}

// search looks for rows on pages that no tree leads to, and on the suspects.
func (s *scan) search() error {
	s.free, s.freeOK = s.freelist()
	if !s.freeOK {
		s.guessFree(s.walk, s.free)
	}
	for _, t := range s.db.tables { // a table without rows may have lost them all, unless an index is complete
		t.hole = t.hole || t.Rows == 0 && !t.complete && len(s.suspects) > 0
	}
	if err := s.searchPages(nil); err != nil {
		return err
	}
	if s.freeOK {
		return s.searchPages(s.db.tables)
	}
	// The freelist may lack a free page: consider then accepts a row only if the row that it belongs to exists.
	for _, t := range s.ownersFirst() {
		if err := s.searchPages([]*Table{t}); err != nil {
			return err
		}
	}
	return nil
}

// ownersFirst returns the tables, each after the tables that its rows belong to.
func (s *scan) ownersFirst() (list []*Table) {
	seen := map[*Table]bool{}
	var add func(t *Table)
	add = func(t *Table) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		for _, o := range s.ownersOf(t) {
			add(s.table(o.Table))
		}
		list = append(list, t)
	}
	for _, t := range s.db.tables {
		add(t)
	}
	return list
}

func (s *scan) table(name string) *Table {
	for _, t := range s.db.tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// ownersOf returns the owner of a table, or else the tables that its foreign keys refer to.
func (s *scan) ownersOf(t *Table) []Owner {
	if o, ok := s.opt.Owners[t.Name]; ok {
		return []Owner{o}
	}
	return t.parents
}

// searchPages looks for rows that indexes have, and for any other rows of those tables that no index lists completely.
func (s *scan) searchPages(tables []*Table) error {
	tables = slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { return t.complete || !t.hole || t.withoutRowid })
	if len(tables) == 0 && !slices.ContainsFunc(s.db.tables, func(t *Table) bool { return t.Lost.Len() > 0 }) {
		return nil
	}
	buf := make([]byte, s.pageSize)
	for n := uint32(1); n <= s.pages; n++ {
		suspect := s.suspects[n]
		if s.walk.isSeen(n) && suspect == nil {
			continue
		}
		if err := s.step(); err != nil {
			return err
		}
		p := s.read(n, buf)
		if suspect == nil && (p.kind() == 0 || p.interior() || p.kind() == indexLeaf) { // a page of unknown kind counts as a damaged leaf
			continue
		}
		cells, whole := p.leafCells(s.file, tableLeaf)
		if !whole {
			cells = slices.DeleteFunc(cells, func(c cell) bool { return !s.isRow(&p, c) })
			cells = append(cells, p.carve(s.file, cells, s.isRow)...)
		}
		for _, c := range cells {
			if err := s.consider(&p, c, suspect, tables); err != nil {
				return err
			}
		}
	}
	return nil
}

// consider writes the row of a cell if an index has it, or else if it matches one of tables.
func (s *scan) consider(p *page, c cell, suspect *Table, tables []*Table) error {
	vals, ok := s.row(p, c)
	if !ok {
		return nil
	}
	for _, t := range s.db.tables {
		if known := t.Lost.Get(c.rowid); known != nil && len(vals) <= len(t.cols) && t.matches(known, vals) && (t.canHold(vals) || !fitsAny(s.db.tables, vals)) {
			t.Lost.Delete(c.rowid)
			return s.write(t, c.rowid, vals, false)
		}
	}
	if _, ok := s.schemaRow(p, c); ok || s.isFree(p.n) || p.n > s.size() {
		return nil
	}
	if suspect != nil && slices.Contains(tables, suspect) && suspect.canHold(vals) {
		tables = []*Table{suspect}
	}
	for _, t := range tables {
		if !t.canHold(vals) || isEmpty(vals) || s.opt.NoRow != nil && s.opt.NoRow(t, vals) || t.have.has(c.rowid) || t.Lost.Get(c.rowid) != nil || (!s.freeOK || s.walk.released[p.n]) && !s.hasOwners(t, vals) {
			continue
		}
		return s.write(t, c.rowid, vals, false)
	}
	return nil
}

// isEmpty reports whether a row has no values: zero bytes can look like such a row.
func isEmpty(vals []Value) bool {
	return !slices.ContainsFunc(vals, func(v Value) bool { return v.Class != change.ClassNull })
}

// matches reports whether a row has the values that indexes have of it.
func (t *Table) matches(known Known, vals []Value) bool {
	n := 0
	for i, c := range t.cols {
		if want, ok := known[c.name]; ok {
			if i >= len(vals) || compare(vals[i], want) != 0 {
				return false
			}
			n++
		}
	}
	return n > 0
}

// hasOwners reports whether the rows that a row belongs to are in the new database, or may be lost.
func (s *scan) hasOwners(t *Table, vals []Value) bool {
	return !slices.ContainsFunc(s.ownersOf(t), func(o Owner) bool {
		key, owner := t.Column(vals, o.Column), s.table(o.Table)
		if key.Class != change.ClassText || owner == nil || owner.hole && !owner.complete {
			return false
		}
		return !s.exists(o, key) && !owner.Lost.has(o.Key, key)
	})
}

// Found records that the table's row with the rowid is now in the new database.
func (t *Table) Found(rowid int64) {
	t.Lost.Delete(rowid)
	t.have.add(rowid)
}

// Complete reports whether each lost row is in Lost.
func (t *Table) Complete() bool { return t.complete || !t.Damaged }
