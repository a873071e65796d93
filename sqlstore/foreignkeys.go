package sqlstore

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// A foreignKey refers from columns of a child table to columns of its parent table.
type foreignKey struct {
	child, parent          string
	columns, parentColumns []string // columns of child and of parent
	cascades               bool     // SQLite deletes the children's rows with their parent's row
}

func (c *Conn) readForeignKeys(sc *schema) error {
	var links []foreignKey
	const all = `SELECT m.name, f."table", f."from", f."to", f.seq, f.on_delete FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f
		WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq`
	err := c.Query(all, nil, func(st *sqlite3.Stmt) error {
		if st.ColumnInt64(4) == 0 {
			links = append(links, foreignKey{child: st.ColumnText(0), parent: st.ColumnText(1), cascades: st.ColumnText(5) == "CASCADE"})
		}
		l := &links[len(links)-1]
		l.columns = append(l.columns, st.ColumnText(2))
		if st.ColumnType(3) != sqlite3.NULL {
			l.parentColumns = append(l.parentColumns, st.ColumnText(3))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range links {
		child, parent := sc.table(l.child), sc.table(l.parent)
		if parent != nil && len(l.parentColumns) < len(l.columns) { // without columns it refers to the primary key
			l.parentColumns = parent.keys
		}
		if child == nil || len(l.parentColumns) != len(l.columns) {
			return Unusable("unknown schema: the foreign key of %s to %s does not fit its primary key", l.child, l.parent)
		}
		child.parents = append(child.parents, l)
		if parent != nil {
			parent.children = append(parent.children, l)
		}
	}
	return nil
}

// whereEqual returns the condition that the columns equal the parameters.
func whereEqual(columns []string) string {
	terms := make([]string, len(columns))
	for i, col := range columns {
		terms[i] = sqlite3.QuoteIdentifier(col) + " = ?"
	}
	return strings.Join(terms, " AND ")
}

// missingParent names a row that the record refers to and that does not exist; "" for none. Rows of the plan count as
// they are after it; changes is nil if they are already written. An update may refer to a missing row of an optional
// table, such as a project: a repair may leave the reference as it was, and an undo restores it.
func (c *Conn) missingParent(t *Table, r *change.Record, changes *rowChanges, update bool) (string, error) {
	for _, l := range t.parents {
		key, null := valuesOf(l.columns, func(col string) Value { return t.valueOf(r, col) })
		parent := c.schema.tableNamed(l.parent)
		if null || update && (parent == nil || parent.Optional) {
			continue
		}
		exists, known := changes.parentExists(parent, l, key)
		if !known {
			var err error
			if exists, err = c.hasParent(l, key); err != nil {
				return "", err
			}
		}
		if !exists {
			return fmt.Sprintf("%s %s", l.parent, key[0].Bytes), nil
		}
	}
	return "", nil
}

// hasParent reports whether the parent with the key exists.
func (c *Conn) hasParent(l foreignKey, key []Value) (bool, error) {
	return c.Has("SELECT 1 FROM "+sqlite3.QuoteIdentifier(l.parent)+" WHERE "+whereEqual(l.parentColumns), key...)
}

// remainingChild names a row that still refers to the removed record; "" for none. Rows of the plan do not count:
// missingParent checks those that it writes. A row of an optional table may be removed, since an undo of its creation
// does that.
func (c *Conn) remainingChild(t *Table, r *change.Record, changes *rowChanges) (string, error) {
	if t.Optional {
		return "", nil
	}
	for _, l := range t.children {
		key, null := valuesOf(l.parentColumns, func(col string) Value { return t.valueOf(r, col) })
		if null {
			continue
		}
		from := " FROM " + sqlite3.QuoteIdentifier(l.child) + " WHERE " + whereEqual(l.columns)
		child := c.schema.tableNamed(l.child)
		if child == nil {
			if found, err := c.Has("SELECT 1"+from+" LIMIT 1", key...); err != nil || found {
				return "a row of " + l.child, err
			}
			continue
		}
		ids, err := c.Strings("SELECT "+sqlite3.QuoteIdentifier(child.key())+from, key...)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			if !changes.contains(child, id) {
				return fmt.Sprintf("%v %s", child.Kind, id), nil
			}
		}
	}
	return "", nil
}

// valuesOf returns the values of columns; null is true if one of them is NULL.
func valuesOf(cols []string, value func(col string) Value) (key []Value, null bool) {
	for _, col := range cols {
		v := value(col)
		if v.Class == change.ClassNull {
			return nil, true
		}
		key = append(key, v)
	}
	return key, false
}

// tableNamed returns the table of records with that name, or nil.
func (sc *schema) tableNamed(name string) *Table {
	for _, t := range sc.tables {
		if strings.EqualFold(name, t.Name) {
			return t
		}
	}
	return nil
}
