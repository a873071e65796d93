package change

// Staged is the result of a store's Prepare: everything that Commit, Settle and Discard need, also in another
// process after a crash.
type Staged struct {
	Store  StoreID
	Dir    string       // the private folder of the change, below Root; "" if the store needs none
	Append *AppendPoint // where the change appends; nil for every other change
	Ops    []Op         // the plan's ops, and ops that the store added for folders that new files need

	AllowMissingParent bool // from the plan; only Commit needs it
}

// An AppendPoint is the end of a file before a change appended to it, at offset Size.
type AppendPoint struct {
	Size  int64 `json:"size"`
	Mtime int64 `json:"mtime"` // in nanoseconds since 1970
}

// A State is the state of an entry. The zero State is invalid.
type State string

// The states of an entry. Their spelling is part of the journal's format.
const (
	Pending    State = "pending"    // the store may hold some Pres and some Posts until it is recovered
	Committed  State = "committed"  // every Post was written
	Aborted    State = "aborted"    // every record holds its Pre, or what another program wrote
	Conflicted State = "conflicted" // another program wrote some records: these stay, the others hold their Pre or their Post
	Resolved   State = "resolved"   // a conflict that the user decided
	Unknown    State = "unknown"    // for an entry in a damaged journal; never written
)

// An Outcome is the result of applying a staged change.
type Outcome struct {
	State     State
	Cause     error // why the change was Aborted, unless it was because of Conflicts
	Conflicts []Conflict
	Kept      []string // files, below the root, with bytes that another program wrote to a file that was already replaced
}

// A Conflict is a record with other content than the change expects.
type Conflict struct {
	Ref   Ref
	Pre   *Image // before the change
	Post  *Image // what the change wrote, or would have written
	Now   *Image // what the record holds now
	Why   string
	Later []string // ids of later changes in force that caused the conflict, newest first
}
