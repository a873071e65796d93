package change

import (
	"slices"
	"time"
)

// A Head is a session as a store lists it, with enough data to show it and to find its records.
type Head struct {
	ID  string
	Ref Ref // of the session's own record; the zero Ref if there is none

	Project   string // the id of the project it belongs to, if known
	Directory string // where the user worked

	Parent string // for a subagent's session, the session that started it; "" for none

	Base string // for a fork that is stored without its beginning, the session that has it; "" for none

	Title   string
	Version string // version of the agent that created it, such as "1.1.53"
	Created int64  // milliseconds since 1970; 0 if unknown
	Updated int64

	// Others lists the refs of other records of the same session, in other projects.
	Others []Ref

	// Stray lists folder entries and rows among the session's records that are not
	// records: a link, a pipe, an unreadable file or folder, a name that is not an id.
	Stray []Stray
}

// A Stray is a folder entry or a row among the records that is not a record.
type Stray struct {
	Path    string // below the root of the store
	Message string // the message that the surrounding parts belong to, "" outside a folder of parts
	Why     string
	Kind    StrayKind
}

// A StrayKind is what the agent does with a [Stray].
type StrayKind uint8

// The kinds of strays.
const (
	StrayOther   StrayKind = iota // unknown
	StrayIgnored                  // the agent ignores it
	StrayFile                     // a file that the agent reads as one more record
	StrayHidden                   // a folder that cannot be read, so records of the session may be missing
	StrayPlace                    // something in place of a folder that the agent needs to answer a prompt
	StrayLink                     // a link in place of a folder: the agent follows it, mend does not
	StrayRow                      // a row that keeps the agent from listing any session
	StrayUnread                   // a row of a session in an unknown format: the session is not examined
	StraySession                  // a session that the agent lists under an id that mend does not accept
)

// OnlyFiles reports whether every stray is a [StrayFile]: the stamp of a session covers these.
func OnlyFiles(all []Stray) bool {
	return !slices.ContainsFunc(all, func(s Stray) bool { return s.Kind != StrayFile })
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// A Stamp identifies a state of a session's records without their bytes: by names, sizes, times and
// inodes. A program that writes a record twice within one tick of the file system's clock can leave
// the same stamp, so a stamp proves nothing about records that are younger than a tick.
type Stamp struct {
	Sum    [32]byte  // equal for equal states; the zero Sum is no stamp
	Newest time.Time // when a record was last changed
}

// clockStep is the coarsest step of the clock of a file system, rounded up.
const clockStep = 2 * time.Second

// Distinct reports whether every change after t gives the records a stamp other than s. This holds
// if the newest record is older than one step of the file system's clock.
func (s Stamp) Distinct(t time.Time) bool {
	return s.Sum != [32]byte{} && s.Newest.Before(t.Add(-clockStep))
}
