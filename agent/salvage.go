package agent

import (
	"slices"

	"mend/change"
)

// SalvageOptions are those of a salvage.
type SalvageOptions struct {
	DryRun bool // leave nothing
	// Check is called with the path of the new database when it is complete, and with what was found. Its error
	// ends the salvage.
	Check func(path string, s *Salvaged) error
	// Progress, if not nil, is called with the number of bytes that were read and that are to be read.
	Progress func(done, total int64)
}

// A Salvaged is what was read of a damaged database into a new one.
type Salvaged struct {
	Tables   []SalvagedTable
	Sessions []SalvagedSession // all, in the order in which they were created
	// Notes are other things to say about the new database, as sentences.
	Notes []string
	// Damaged says that something is wrong with the file. Otherwise the new database has all that it has.
	Damaged bool

	Ops     []change.Op  // the change that puts the new database into the place of the old one; none for a dry run
	Discard func() error // removes the new database if the plan has not taken it; nil for a dry run
}

// A SalvagedTable counts the rows of a table.
type SalvagedTable struct {
	Name    string `json:"table"`
	Rows    int    `json:"rows"`    // in the new database
	Lost    int    `json:"lost"`    // known to have been there, and gone
	Rebuilt int    `json:"rebuilt"` // gone, and made again from another record of them
	Refused int    `json:"refused"` // read, and refused by the database itself
	// Partly says that more rows than Lost may be lost: pages are damaged, and no index shows what was there.
	Partly bool `json:"partly"`

	Conversation bool `json:"-"`          // its rows are the conversations: if one is lost, a session is not whole
	Unassigned   int  `json:"unassigned"` // lost rows of conversations whose session is not known
}

// Uncertain reports whether rows of conversations are lost, or may be, of which it is not known to which session they
// belong: then no session can be called whole.
func (s *Salvaged) Uncertain() bool {
	return slices.ContainsFunc(s.Tables, func(t SalvagedTable) bool {
		return t.Conversation && (t.Partly || t.Unassigned > 0)
	})
}

// Complete reports whether nothing of a conversation is lost, and nothing can be.
func (s *Salvaged) Complete() bool {
	return !s.Uncertain() &&
		!slices.ContainsFunc(s.Tables, func(t SalvagedTable) bool { return t.Conversation && t.Lost+t.Refused > 0 }) &&
		!slices.ContainsFunc(s.Sessions, func(one SalvagedSession) bool { return one.Orphans > 0 || len(one.Torn) > 0 })
}

// A SalvagedSession says what is lost of a session, by table. From and To are when what is lost or torn of its
// conversation was created, in milliseconds since 1970; 0 if that is not known.
type SalvagedSession struct {
	ID, Title     string
	Lost, Rebuilt map[string]int
	Torn          map[string]int // there, and not as the agent wrote them
	Orphans       int            // records that belong to a record that is lost
	Size          int64          // bytes of its parts in the new database, if it is not whole
	From, To      int64
	Notes         []string // other things to say about it, as sentences
}

// Span notes that something was created at a time that is lost or torn; 0 if that is not known.
func (s *SalvagedSession) Span(at int64) {
	if at > 0 && (s.From == 0 || at < s.From) {
		s.From = at
	}
	s.To = max(s.To, at)
}

// Whole reports whether nothing of the session is known to be lost, torn, rebuilt or orphaned.
func (s *SalvagedSession) Whole() bool {
	return len(s.Lost) == 0 && len(s.Torn) == 0 && len(s.Rebuilt) == 0 && s.Orphans == 0 && len(s.Notes) == 0
}
