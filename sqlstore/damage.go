package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/salvage"
)

// CheckFile checks whether the -wal belongs to the file; the argument what selects the other parts to check. A check of
// the whole database takes as long as reading the file twice; it holds no lock that others wait for. The error wraps
// [ErrUnusable] and is a [*change.DamagedError] if the file is damaged.
func (s *Store) CheckFile(ctx context.Context, what change.Check) error {
	var err error
	switch what {
	case change.CheckLog:
		err = s.checkWAL()
	case change.CheckFree:
		err = s.checkedView(ctx, func(*Conn) error { return nil })
	case change.CheckAll:
		if err = s.checkWAL(); err == nil {
			err = s.view(ctx, false, func(c *Conn) error { return c.checkIntegrity(s.id.Root, "1000000") })
		}
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", s.id.Root, err)
	}
	return nil
}

// CheckWritable returns a [*fs.PathError] if this process may not write to the database: then an agent of the same user
// cannot either.
func (s *Store) CheckWritable() error { return checkWritable(s.id.Root) }

// checkedView is [Store.View] after a check of the -wal and the free list. Each page that f reads is checked.
func (s *Store) checkedView(ctx context.Context, f func(*Conn) error) error {
	if err := s.checkWAL(); err != nil {
		return err
	}
	return s.view(ctx, true, func(c *Conn) error {
		if err := c.checkIntegrity(s.id.Root, "sqlite_schema"); err != nil {
			return err
		}
		c.pages.listed = true
		return f(c)
	})
}

// A damagedError is a [change.DamagedError] that [errors.Is] also matches with [ErrUnusable].
type damagedError struct{ *change.DamagedError }

func (e damagedError) Is(target error) bool { return target == ErrUnusable }

func (e damagedError) Unwrap() error { return e.DamagedError }

// checkIntegrity makes SQLite check the free list, the schema and a table with its indexes, or the whole database; what
// is the name of the table, or the greatest number of problems to list. (quick_check takes half the time and misses
// indexes that do not match their tables.)
func (c *Conn) checkIntegrity(file, what string) error {
	found, err := c.Strings("PRAGMA integrity_check(" + what + ")")
	if err != nil && !errors.Is(err, sqlite3.CORRUPT) {
		return err
	}
	if found = damageLines(found, err); len(found) > 0 {
		return damagedError{c.describeDamage(file, found)}
	}
	return nil
}

// checkWAL returns a [*change.DamagedError] if the first pages show that the -wal belongs to another state of the file.
func (s *Store) checkWAL() error {
	src, closeFiles, err := s.SalvageSource()
	if err != nil {
		return err
	}
	defer closeFiles()
	why := ""
	switch salvage.WALMoment(src) {
	case salvage.Older:
		why = "its -wal is older than the file, and hides what was written after it"
	case salvage.Later:
		why = "its -wal is newer than the file, and what was written in between is missing"
	case salvage.Fits:
		return nil
	}
	return damagedError{&change.DamagedError{File: s.id.Root, Why: why, WAL: true}}
}

// damageLines returns the lines of a check that report damage. If the check ended with an error before it found
// anything, the error is a line.
func damageLines(found []string, err error) (lines []string) {
	for _, text := range found {
		for line := range strings.SplitSeq(text, "\n") {
			if line != "ok" && line != "" && !strings.HasPrefix(line, "*** in database") && !isHarmless(line) {
				lines = append(lines, line)
			}
		}
	}
	if err != nil && len(lines) == 0 {
		lines = append(lines, err.Error())
	}
	return lines
}

// isHarmless reports whether a finding is about values, which SQLite can still read and write, rather than the
// structure of the file.
func isHarmless(finding string) bool {
	harmless := []string{"NULL value in", "NUMERIC value in", "TEXT value in", "CHECK constraint failed in", "non-"}
	return slices.ContainsFunc(harmless, func(start string) bool { return strings.HasPrefix(finding, start) })
}

// describeDamage finds the tables and indexes that the lines of a check name.
func (c *Conn) describeDamage(file string, lines []string) *change.DamagedError {
	e := &change.DamagedError{File: file, Why: lines[0]}
	kinds, tables, roots := map[string]string{}, map[string]string{}, map[int64]string{}
	const all = "SELECT type, name, rootpage, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')"
	err := c.Query(all, nil, func(st *sqlite3.Stmt) error {
		name := st.ColumnText(1)
		kinds[name], roots[st.ColumnInt64(2)], tables[name] = st.ColumnText(0), name, st.ColumnText(3)
		return nil
	})
	if err != nil {
		return e
	}
	known := true
	for _, line := range lines {
		name := damagedName(line, roots)
		if tables[name] == "" {
			known = known && strings.HasSuffix(line, ": never used")
			continue
		}
		if part := "the " + kinds[name] + " " + name; !slices.Contains(e.Parts, part) {
			e.Parts = append(e.Parts, part)
		}
		if !slices.Contains(e.Touched, tables[name]) {
			e.Touched = append(e.Touched, tables[name])
		}
	}
	if !known {
		e.Touched = nil
	}
	return e
}

var (
	ofTree  = regexp.MustCompile(`^(?:Tree (\d+)|On tree page (\d+))\b`)
	ofIndex = regexp.MustCompile(` (?:in|from|of)(?: index)? (\S+)$`)
)

// damagedName returns the name of the table or the index that a line of a check names; "" for none.
func damagedName(line string, roots map[int64]string) string {
	if m := ofTree.FindStringSubmatch(line); m != nil {
		root, _ := strconv.ParseInt(m[1]+m[2], 10, 64)
		return roots[root]
	}
	if m := ofIndex.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
