package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/request"
	"mend/repair"
	"mend/txn"
)

// An Agent is a coding agent. mend can repair its sessions.
type Agent interface {
	// Name returns the name of the agent, such as "opencode".
	Name() string
	// Title returns the name as used in a sentence, such as "OpenCode".
	Title() string
	// Resume returns the command that continues a session.
	Resume(id string) []string
	// Reload returns an instruction for the user of a running agent to load a changed session again; "" if the agent
	// loads it by itself, or cannot.
	Reload(id string) string
	// Installer returns how the agent starts mend by itself, nil if mend does not know.
	Installer() Installer
	// Find lists the user's stores, the one in use first. If there is none, the error wraps [ErrNoStore] and names the
	// places where Find looked.
	Find() ([]Located, error)
	// Open returns the store at a path. It writes nothing. warn, which may be nil, gets sentences for the user: about a
	// guarantee that a change cannot give, or about bytes that another program wrote too late.
	Open(at Located, warn func(string)) (Store, error)

	// ParseAPIError parses an error of the agent or of a model API that it uses: JSON as the agent stores or reports it,
	// or plain text.
	ParseAPIError(input []byte) request.APIError
	// Guide explains the findings in the agent's sessions.
	Guide() repair.Guide
	// Providers returns the names that [repair.Options].Provider may have.
	Providers() []string
}

// A Located is a store that was found, or that the user named.
type Located struct {
	Path   string
	Layout string // the store's layout; "" to detect it
	Agent  string // the agent that the store belongs to, "" if unknown
}

var (
	// ErrNoStore means that no store was found.
	ErrNoStore error = fail.New(fail.Unusable, "name one with --store PATH", "no session store found")
	// ErrLink means that a folder of the agent is a symbolic link, which mend does not follow.
	ErrLink = errors.New("it is a symbolic link")
)

// A Store holds an agent's sessions. Its methods may be called concurrently. [Base] implements the methods of Reader
// that follow Read.
type Store interface {
	Reader
	// Writer returns the transactions of the store for changes that belong to the journal with the given id.
	Writer(journal string) (txn.Store, error)
}

// A Reader has the methods of a Store that only read.
type Reader interface {
	// ID returns the identity of the store.
	ID() change.StoreID
	// List returns the sessions without their messages.
	List(ctx context.Context) ([]change.Head, error)
	// Records returns the records of a session of List in their stored form: each message, followed by its parts.
	Records(ctx context.Context, head change.Head) ([]change.Record, error)
	// Case reads a session of List for the request.
	Case(ctx context.Context, head change.Head, r repair.Request) (*repair.Case, error)
	// Read returns the current content of the records, nil for a record that does not exist.
	Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error)

	// Copy reads all records of a session of List, for a copy that can restore the session after the agent loses it. The
	// error wraps [errors.ErrUnsupported] if the store does not support copies.
	Copy(ctx context.Context, head change.Head) (Copy, error)

	// RemovedMessages returns the ids of the messages of a session of List that the agent has removed itself, such as
	// after /undo; nil if unknown.
	RemovedMessages(ctx context.Context, head change.Head) (map[string]bool, error)

	// CopyOwner returns the id of the session whose copy includes a session of List, such as a subagent's; "" if the
	// session has its own copies.
	CopyOwner(head change.Head) string

	// CountMissing counts the content of earlier that is missing from current. Both contain records that Copy returns;
	// the caller may leave out records that are equal, and equal lines of a long text. edited has the refs, without a
	// project, of messages and parts that mend has changed since: their content was removed on purpose.
	CountMissing(current, earlier []change.Record, edited map[change.Ref]bool) Lack

	// Restore plans to restore a session from a copy: kept are the ops that create its copied records. head is from
	// List, or from the copy if the session no longer exists. It only reads. The Pre of the ops may be wrong.
	Restore(ctx context.Context, head change.Head, kept []change.Op, r RestoreRequest) (Restoration, error)

	// Expiring returns the content that the agent will delete by itself before a time, because it was unused for too
	// long.
	Expiring(ctx context.Context, until time.Time) (Expiry, error)

	// SessionAt returns the session whose file is at path, without listing all. The error wraps [fs.ErrNotExist] if
	// this store has no such session.
	SessionAt(ctx context.Context, path string) (change.Head, error)
	// SessionByID returns the session of List with exactly that id, without listing all. After an error, List may still
	// find it.
	SessionByID(ctx context.Context, id string) (change.Head, error)
	// Former returns the path of the older store that the agent converted into this one and no longer reads, "" if it
	// does not exist. If this store is the older one, Former returns its path.
	Former() string

	// OtherStores lists the agent's other stores that have sessions missing here, or that cannot be read. have has the
	// ids of this store's sessions.
	OtherStores(ctx context.Context, have map[string]bool) ([]OtherStore, error)
	// Adopt returns the ops that create, in this store, the records of a session of a store that OtherStores lists. The
	// ops have the form that Restore needs. It adds records that this store cannot have to the Unread of copied.
	Adopt(ctx context.Context, copied *Copy) ([]change.Op, error)

	// Stamp returns the current stamp of the records of a session of List, the zero stamp if it has none. It reads no
	// record.
	Stamp(ctx context.Context, head change.Head) (change.Stamp, error)
	// State returns the stamp of the whole store, the zero stamp if it cannot be computed quickly.
	State(ctx context.Context) (change.Stamp, error)
	// Examine diagnoses a session of List. The error wraps [errors.ErrUnsupported] if the caller must use Case.
	Examine(ctx context.Context, head change.Head, o repair.Options) (Examination, error)
	// Refresh makes the store read the agent's settings again. It is called before a scan, and before a single session
	// is examined.
	Refresh()
	// Settings identifies the inputs of Examine besides the records, the options, the build of mend, and whether the
	// session is busy.
	Settings(head change.Head) string
	// Busy reports whether the agent may be working in a session of List whose records have not changed since Examine.
	// unfinished is [Examination].Unfinished; if it is false, only a process that records which session it uses counts.
	Busy(ctx context.Context, head change.Head, unfinished bool) bool

	// Profile returns the known version of the agent whose requests are like those of the given version.
	Profile(version string) string
	// Verified reports whether the requests of the version were observed, or the requests of an older and a newer one.
	Verified(version string) bool
	// Newer reports whether the version is newer than all observed versions.
	Newer(version string) bool
	// Forecast returns what the agent will send for a session of List when the user types one more prompt. The error
	// wraps [errors.ErrUnsupported] if that is unknown.
	Forecast(ctx context.Context, head change.Head, o repair.Options) (Forecast, error)
	// CheckFile checks the file of a store that has all sessions in one file. Checking its pages takes as long as
	// reading it. The error is a [*change.DamagedError] if the file is damaged.
	CheckFile(ctx context.Context, what change.Check) error
	// CheckAccess returns an error if some sessions cannot be listed, or if the agent uses the store but cannot write
	// to it, and so answers no prompt.
	CheckAccess(inUse bool) error
	// Changeable returns why nothing in the store may be changed; nil if changes are allowed.
	Changeable(ctx context.Context) error
	// CheckLinks returns a [*change.LinkedError] about a record whose file cannot be replaced because it has several
	// hard links.
	CheckLinks(ctx context.Context, refs []change.Ref) error
	// ListAbandoned lists, below the store, staged files of interrupted changes of other journals.
	ListAbandoned(journal string) ([]string, error)
	// DefaultRow returns the values that a row for a record of the kind gets in columns that an INSERT omits. A
	// required column has the class 0. For a store without rows the record has no columns.
	DefaultRow(ctx context.Context, kind change.Kind) (change.Record, error)

	// Move plans to move sessions of List to other folders. It calls each with plans for other data that the agent
	// needs, and then with one plan per session that changes, one at a time to save memory. It only reads. The error
	// comes from each, or wraps [errors.ErrUnsupported] if the store has no folders.
	Move(ctx context.Context, all []Relocation, each func(change.Plan) error) error
	// SameRepository reports whether a folder is in the repository that a session of List was in. The session's own
	// folder need not exist.
	SameRepository(ctx context.Context, head change.Head, folder string) bool

	// Salvage reads the readable rows of a damaged database into a new one beside it. The error wraps
	// [errors.ErrUnsupported] if the store is not a database.
	Salvage(ctx context.Context, o SalvageOptions) (Salvaged, error)
	// Space returns how the space of the store is used. progress, which may be nil, is called with the number of bytes
	// read.
	Space(ctx context.Context, progress func(done, total int64)) (Space, error)
	// Clean plans a removal. The error wraps [errors.ErrUnsupported] if the store has no such data.
	Clean(ctx context.Context, r CleanRequest) (Cleaned, error)
	// Reclaim returns free pages of a database to the file system. It returns the size in bytes of its files before and
	// after.
	Reclaim(ctx context.Context) (before, after int64, err error)
	// CheckFree returns an error that names the other processes that have the store's database open.
	CheckFree(ctx context.Context) error
	// BuildAside creates the file of a session beside the store with write. It returns the op that moves the file into
	// place, of the kind [change.KindTranscript], and a function that removes the file unless that op was applied. With
	// dry it writes nothing, but the op describes the file. The error wraps [errors.ErrUnsupported] if a session is not
	// a file. Restore gets the op for a session that no longer exists.
	BuildAside(ctx context.Context, ref change.Ref, dry bool, write func(io.Writer) error) (op change.Op, discard func(), err error)
	// KeptFiles returns the content that changes of the journal keep beside the store; nil if the journal has all of
	// it.
	KeptFiles(journal string) KeptFiles
}

// A FolderStore is an [Agent] whose store is a folder that mend can create.
type FolderStore interface {
	// StoreFolders returns the folders of an empty store at a root; nil if only the agent may create a store there.
	StoreFolders(root string) []string
}

// KeptFiles are the archives of rows, folders and databases that changes moved out of a store and keep beside it.
type KeptFiles interface {
	// Keeps reports whether the content that an op removed or restored is kept, for any journal.
	Keeps(o change.OpInfo) bool
	// ArchivedSessions returns the sessions that the rows of an archive belong to, and the sessions removed with them.
	ArchivedSessions(ctx context.Context, archive change.Ref) (all, removed map[string]bool, err error)
	// CountUnrestorable returns how many rows of an archive an undo cannot restore, because their session was deleted.
	CountUnrestorable(ctx context.Context, archive change.Ref) (int64, error)
	// CheckKept returns an error if any content that ops removed is not kept.
	CheckKept(ctx context.Context, ops []change.Op) error
	// Sweep removes the content of unneeded ops, except what needed ops have too, and returns its size in bytes.
	Sweep(ctx context.Context, needed, unneeded []change.OpInfo) (int64, error)
}

// A Relocation is a session with the existing folder that it should belong to.
type Relocation struct {
	Head change.Head
	To   string
}

// A Version is a version of the agent and its nearest known one.
type Version struct {
	Name     string // such as 1.18.33; "" if it is not known
	Profile  string // the known version with the same requests
	Verified bool   // mend was verified with it
	Newer    bool   // newer than all verified versions
}

// Note names the version that mend builds requests for, if mend was not verified with the agent's; else "".
func (v Version) Note() string {
	if v.Name == "" || v.Verified {
		return ""
	}
	return fmt.Sprintf("as %s builds them; %.30s was not verified", v.Profile, v.Name)
}

// An Examination is the result of examining a session. It is valid until the session has another stamp, the store has
// other settings for it, or the agent is working in it.
type Examination struct {
	Busy      bool   // the agent is working in the session
	Thinking  bool   // the diagnosis is for a model that is asked to think
	Provider  string // the API of the next request, as the agent names it
	Diagnoses []repair.Diagnosis
	Failure   *Failure // of the newest answer; nil if it did not fail

	Stamp      change.Stamp // of the records; the zero stamp if the result depends on more than these
	Unfinished bool         // the agent is or was working in it; see [Store].Busy
}

// A Copy has all records of a session: written to an empty store, they restore it.
type Copy struct {
	Records  []change.Record // each message followed by its parts, and the fastest growing records last
	Messages int
	First    string   // the id of the first message, "" without one
	Unread   []string // content of the session that could not be read, or is not a record, each with the reason

	PromptsOnly bool // it has only the user's prompts: everything else is lost

	Stamp change.Stamp // of the session when it was read; the zero stamp if unknown
}

// UnreadText returns the first of Unread and the number of further ones; "" for none.
func (c *Copy) UnreadText() string {
	if n := len(c.Unread) - 1; n > 0 {
		return fmt.Sprintf("%s, and %d more", c.Unread[0], n)
	}
	return strings.Join(c.Unread, "")
}

// A Lack counts lost content of a session: records, or the text in them.
type Lack struct {
	Records  int // messages, parts and files
	Messages int // the messages among Records
	// TakenBack means that only the last messages are missing, with all of their parts, as if the user had reverted
	// them.
	TakenBack bool
}

// A RestoreRequest selects how a session is restored.
type RestoreRequest struct {
	// Exact restores the session exactly as it was kept. Otherwise its present content stays, and missing content is
	// added if both can be joined.
	Exact bool
	// Force allows an exact state to replace a session that continued differently.
	Force bool
	// Edited is as for CountMissing.
	Edited map[change.Ref]bool
	// Gone means that the session is not in List.
	Gone bool
}

// A Restoration restores the kept content of a session.
type Restoration struct {
	Ops      []change.Op // none if nothing is missing
	Messages int         // number of messages after it
	Joined   bool        // the session's present content stays, and missing content is added
}

// An Expiry describes what an agent deletes by itself.
type Expiry struct {
	Sessions int       `json:"sessions"` // number of deleted sessions
	First    time.Time `json:"first"`    // when the first of them is deleted
	Days     int       `json:"days"`     // after how many days without use
}

// A Failure is a stored error that ended a turn.
type Failure struct {
	Message string // the id of the answer
	Error   []byte // in its stored form
	Time    time.Time
}

// A Forecast is the next request of a session, with the violations that the provider will report.
type Forecast struct {
	Request    request.Request
	Violations []request.Violation // the first is the one the user sees
	Version    string              // the profile's version
	Thinking   bool                // the model is asked to think

	Provider string // the API of the request, as the agent names it
	Place    Place
}

// A Place has the formats with which a provider's errors name a turn of the request and a block of the turn. Each
// format takes one number.
type Place struct{ Turn, Block string }
