package change

import "slices"

// A Head is what a store lists of a session: enough to show it, and for the store to find
// its records.
type Head struct {
	ID  string
	Ref Ref // of the session's own record; the zero Ref if there is none

	Project   string // the id of the project it belongs to, if known
	Directory string // where the user worked

	Parent string // the session of which it is a subagent's; "" for none

	Title   string
	Version string // of the agent that created it, such as "1.1.53"
	Created int64  // milliseconds since 1970; 0 if unknown
	Updated int64

	// Others lists the refs of other records of the same session, in other projects.
	Others []Ref

	// Stray lists folder entries and rows among the session's records that are not
	// records: a link, a pipe, an unreadable file or folder, a name that is not an id.
	Stray []Stray
}

// A Stray is a folder entry or a row in the place of a record that is not a record.
type Stray struct {
	Path    string // below the root of the store
	Message string // the message among whose parts it is, "" if it is not among parts
	Why     string
	Kind    StrayKind
}

// A StrayKind says what the agent does with a [Stray].
type StrayKind uint8

// The kinds of strays.
const (
	StrayOther   StrayKind = iota // nothing is known of it
	StrayIgnored                  // the agent ignores it
	StrayFile                     // a file that the agent reads as one more record
	StrayHidden                   // a folder that cannot be read, so records of the session may be missing
	StrayPlace                    // in the place of a folder without which the agent answers no prompt
	StrayLink                     // a link in the place of a folder: the agent follows it, mend does not
	StrayRow                      // a row by which the agent cannot list any session
	StrayUnread                   // a row of a session that is of no known form: the session is not examined
	StraySession                  // a session that the agent lists, under an id that is not valid here
)

// OnlyFiles reports whether each stray is a [StrayFile], which the stamp of a session covers.
func OnlyFiles(all []Stray) bool {
	return !slices.ContainsFunc(all, func(s Stray) bool { return s.Kind != StrayFile })
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)
