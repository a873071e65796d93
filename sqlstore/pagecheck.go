package sqlstore

import (
	"encoding/binary"
	"fmt"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"

	"mend/change"
	"mend/internal/salvage"
)

// A change must not make a damaged database worse, and must not cost as much as reading the whole file. So before a
// change mend reads the path to each row and index entry that the change will write. Every page on the path is checked
// when it is read, and so is the free list, which supplies new pages. [Store.CheckFile] checks the rest of the file.

// A pageCheck checks the pages that a connection reads. It belongs to one transaction.
type pageCheck struct {
	vfs    string // name of its file system
	size   int    // size of a page
	usable int    // without the bytes that the file reserves
	pages  uint32
	trunk  uint32   // next trunk page of the free list that SQLite will read
	free   []uint64 // a bit for each page on the free list
	listed bool     // the free list was read
	fault  string   // the first problem
}

// In a database with fewer than treePages pages, a page that begins with the type byte of a tree page is a tree page:
// pages of the free list and of large values begin with a page number, and its first byte is then smaller.
const treePages = 2 << 24

// readDB checks bytes that were read from the database file.
func (p *pageCheck) readDB(b []byte, off int64) {
	if p.size == 0 && off == 0 && len(b) >= 18 {
		if p.size = int(binary.BigEndian.Uint16(b[16:])); p.size == 1 {
			p.size = 1 << 16
		}
	}
	if p.size > 0 {
		p.read(uint32(off/int64(p.size))+1, b, off%int64(p.size) == 0)
	}
}

// readWAL checks bytes that were read from the -wal; frame reads more of it.
func (p *pageCheck) readWAL(b []byte, off int64, frame func(b []byte, off int64) (int, error)) {
	const header, frameHeader = 32, 24
	if p.size == 0 || len(b) != p.size || (off-header-frameHeader)%int64(p.size+frameHeader) != 0 {
		return
	}
	var n [4]byte
	if _, err := frame(n[:], off-frameHeader); err == nil {
		p.read(binary.BigEndian.Uint32(n[:]), b, true)
	}
}

// read checks a page, or part of one.
func (p *pageCheck) read(n uint32, b []byte, begins bool) {
	whole := begins && len(b) == p.size
	switch {
	case n == 1 && whole && !p.listed:
		p.usable = p.size - int(b[20])
		p.pages, p.trunk = binary.BigEndian.Uint32(b[28:]), binary.BigEndian.Uint32(b[32:])
		p.free = make([]uint64, p.pages/64+1)
	case n == p.trunk && whole && !p.listed:
		p.trunk = binary.BigEndian.Uint32(b)
		p.setFree(n)
		for i := range min(int(binary.BigEndian.Uint32(b[4:])), p.size/4-2) {
			p.setFree(binary.BigEndian.Uint32(b[8+4*i:]))
		}
		return
	case p.listed && p.isFree(n):
		p.note(fmt.Sprintf("page %d is in use and on the free list", n))
	}
	if whole && p.usable > 0 && p.pages < treePages {
		p.note(salvage.CheckPage(n, b, p.usable))
	}
}

func (p *pageCheck) setFree(n uint32) {
	if n <= p.pages { // SQLite's own check finds larger numbers
		p.free[n/64] |= 1 << (n % 64)
	}
}

func (p *pageCheck) isFree(n uint32) bool { return n <= p.pages && p.free[n/64]&(1<<(n%64)) != 0 }

func (p *pageCheck) note(fault string) {
	if p.fault == "" {
		p.fault = fault
	}
}

// A checkedFile is a database file that checks its pages.
type checkedFile struct {
	vfs.File
	check *pageCheck
}

func (f checkedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.check.readDB(b[:n], off)
	return n, err
}

func (f checkedFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

// checkPaths reads the path to each row and index entry that the change writes. An existing row must have all its index
// entries. A table without entryQueries is checked completely.
func (c *Conn) checkPaths(file string, changes *rowChanges) error {
	checked := map[string]bool{}
	for _, r := range changes.rows {
		t := c.Table(r.kind)
		if t.entryQueries != nil {
			if err := c.checkEntries(file, t, r); err != nil {
				return err
			}
		} else if !checked[t.Name] {
			checked[t.Name] = true
			if err := c.checkIntegrity(file, sqlite3.QuoteIdentifier(t.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// An entryQuery finds a row's entry in an index. Its arguments are the rowid and the columns.
type entryQuery struct {
	index, sql string
	columns    []string
}

// readEntryQueries sets the entryQueries of a table. They are nil if it has no rowid, or has a partial index or an
// index of expressions.
func (c *Conn) readEntryQueries(t *Table) error {
	const columns = `SELECT l.name, x.name, x.coll, l.partial FROM pragma_index_list(?1) AS l, pragma_index_xinfo(l.name) AS x
		WHERE x.key ORDER BY l.seq, x.seqno`
	queries := []entryQuery{}
	from, odd := " FROM "+sqlite3.QuoteIdentifier(t.Name), false
	err := c.Query(columns, []Value{Text(t.Name)}, func(st *sqlite3.Stmt) error {
		name := st.ColumnText(0)
		odd = odd || st.ColumnType(1) == sqlite3.NULL || st.ColumnBool(3)
		if len(queries) == 0 || queries[len(queries)-1].index != name {
			queries = append(queries, entryQuery{index: name, sql: "SELECT 1" + from + " INDEXED BY " + sqlite3.QuoteIdentifier(name) + " WHERE rowid = ?"})
		}
		q := &queries[len(queries)-1]
		q.sql += " AND " + sqlite3.QuoteIdentifier(st.ColumnText(1)) + " COLLATE " + sqlite3.QuoteIdentifier(st.ColumnText(2)) + " IS ?"
		q.columns = append(q.columns, st.ColumnText(1))
		return nil
	})
	t.rowid, t.nextRowid = "SELECT rowid"+from+t.whereKey(), "SELECT max(rowid) + 1"+from+" WHERE ?1 IS NOT NULL"
	if _, errRowid := c.Prepare(t.rowid); err == nil && errRowid == nil && !odd {
		t.entryQueries = queries
	}
	return err
}

// checkEntries reads the path to each index entry of a row, before and after the change.
func (c *Conn) checkEntries(file string, t *Table, r rowChange) error {
	at, sql := Value{Class: change.ClassNull}, t.rowid
	if r.preImage == nil {
		sql = t.nextRowid
	}
	err := c.Query(sql, []Value{Text(r.id)}, func(st *sqlite3.Stmt) error {
		at = CopyValue(st, 0)
		return nil
	})
	if err != nil {
		return err
	}
	for i, row := range [...]*change.Record{r.pre(), r.post()} {
		if row == nil {
			continue
		}
		for _, q := range t.entryQueries {
			args := []Value{at}
			for _, col := range q.columns {
				args = append(args, t.valueOf(row, col))
			}
			found, err := c.Has(q.sql, args...)
			if err != nil {
				return err
			}
			if i == 0 && !found {
				why := fmt.Sprintf("%s is missing from the index %s", r.id, q.index)
				return damagedError{&change.DamagedError{File: file, Why: why, Touched: []string{t.Name}}}
			}
		}
	}
	return nil
}
