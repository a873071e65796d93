package agent

import (
	"slices"

	"mend/change"
)

// SalvageOptions configure a salvage.
type SalvageOptions struct {
	DryRun bool // keep no new database
	// Check is called with the path of the complete new database. Its error ends the salvage.
	Check func(path string) error
	// Progress, if not nil, is called with the number of bytes read and the number of bytes to read.
	Progress func(done, total int64)
}

// A Salvaged is the result of reading a damaged database into a new one.
type Salvaged struct {
	Tables   []SalvagedTable
	Sessions []SalvagedSession // all, in the order in which they were created
	// Notes are further statements about the new database, as sentences.
	Notes []string
	// Damaged means that the file has a problem. Otherwise the new database is complete.
	Damaged bool

	Ops     []change.Op // the change that replaces the old database with the new one; none for a dry run
	Discard func()      // removes the new database unless the plan has moved it; nil for a dry run
}

// A SalvagedTable counts the rows of a table.
type SalvagedTable struct {
	Name    string `json:"table"`
	Rows    int    `json:"rows"`    // in the new database
	Lost    int    `json:"lost"`    // known to have existed, and lost
	Rebuilt int    `json:"rebuilt"` // lost, and rebuilt from other records
	Refused int    `json:"refused"` // read, and refused by the new database
	// Partly is set if more rows may be lost than were counted: pages are damaged, and no index shows their rows.
	Partly bool `json:"partly"`

	Conversation bool `json:"-"`          // its rows are the conversations: if one is lost, a session is incomplete
	Unassigned   int  `json:"unassigned"` // lost rows of conversations whose session is unknown
}

// Uncertain reports whether rows of conversations are lost, or may be, whose session is unknown: then no session can
// be called complete.
func (s *Salvaged) Uncertain() bool {
	return slices.ContainsFunc(s.Tables, func(t SalvagedTable) bool {
		return t.Conversation && (t.Partly || t.Unassigned > 0)
	})
}

// Complete reports whether no content of a conversation is lost or may be.
func (s *Salvaged) Complete() bool {
	return !s.Uncertain() &&
		!slices.ContainsFunc(s.Tables, func(t SalvagedTable) bool { return t.Conversation && t.Lost+t.Refused > 0 }) &&
		!slices.ContainsFunc(s.Sessions, func(one SalvagedSession) bool { return one.Orphans > 0 || len(one.Torn) > 0 })
}

// A SalvagedSession counts the lost rows of a session, by table. From and To are the times when the lost or torn
// content of its conversation was created, in milliseconds since 1970; 0 if unknown.
type SalvagedSession struct {
	ID      string         `json:"session"`
	Title   string         `json:"title"`
	Lost    map[string]int `json:"lost"` // by table, as in the next two members
	Torn    map[string]int `json:"torn"` // present, but not as the agent wrote them
	Rebuilt map[string]int `json:"rebuilt"`
	Orphans int            `json:"orphans"`         // records whose parent record is lost
	From    int64          `json:"from,omitempty"`  // when the first lost or torn content was created, in milliseconds since 1970
	To      int64          `json:"to,omitempty"`    // when the last was
	Notes   []string       `json:"notes,omitempty"` // further statements about it, as sentences
}

// Span records that lost or torn content was created at the given time; 0 if unknown.
func (s *SalvagedSession) Span(at int64) {
	if at > 0 && (s.From == 0 || at < s.From) {
		s.From = at
	}
	s.To = max(s.To, at)
}

// Whole reports whether no content of the session is known to be lost, torn, rebuilt or orphaned, and the session has
// no notes.
func (s *SalvagedSession) Whole() bool {
	return len(s.Lost) == 0 && len(s.Torn) == 0 && len(s.Rebuilt) == 0 && s.Orphans == 0 && len(s.Notes) == 0
}
