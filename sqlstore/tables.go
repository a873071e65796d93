package sqlstore

import (
	"cmp"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// A TableSpec describes a table of records. The specs are all that this package knows of the agent's
// schema.
type TableSpec struct {
	Kind    change.Kind // kind of the records; 0 if the rows are not records
	Name    string
	Columns []string // columns that must exist, among them the primary key
	Key     string   // column that is the primary key; "" for "id"
	Data    string   // column with the JSON, or ""
	Parent  string   // column with the id of the session of a message, or of the message of a part
	// SessionRows is the condition for the rows of the session ?1, and their order.
	SessionRows string
	// Optional means that the table may be missing, and so may rows of it that other rows refer to.
	Optional bool
	// Triggers are the names of triggers that change only the row itself, and only if its dates are not set. If they
	// change anything else, reading the row back reveals it. A table with any other trigger is not written.
	Triggers []string
	// With names tables whose rows with the key belong to the record. They have a column of the key's name, and no row
	// that is a record or refers to one. The record's data is these rows.
	With []string
	// Unique has the columns of a unique index that an optional table must have, in the index's order.
	Unique []string
}

// key returns the column that is the primary key.
func (spec *TableSpec) key() string { return cmp.Or(spec.Key, "id") }

// whereKey returns the condition that the primary key equals the parameter.
func (spec *TableSpec) whereKey() string {
	return " WHERE " + sqlite3.QuoteIdentifier(spec.key()) + " = ?"
}

// parentID returns the id in the parent column of the row of ref; "" if ref has no parent.
func parentID(ref change.Ref) string {
	switch ref.Kind {
	case change.KindMessage:
		return ref.Session
	case change.KindPart:
		return ref.Message
	default:
		return ""
	}
}
