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

// An Agent is a coding agent whose sessions can be repaired.
type Agent interface {
	// Name returns the name of the agent, such as "opencode".
	Name() string
	// Title returns the name as a sentence has it, such as "OpenCode".
	Title() string
	// Resume returns the command with which a user continues a session.
	Resume(id string) []string
	// Reload says what a user does in a running agent to load a session again that was changed, as an
	// instruction; "" if the agent loads it by itself, or cannot.
	Reload(id string) string
	// Installer returns how the agent starts mend by itself, nil if mend does not know that.
	Installer() Installer
	// Find lists the stores that this user has, the one in use first: all, or with a
	// layout those of it. The error wraps [ErrLayout] if there is no such layout, or
	// [ErrNoStore] if there is no store; it then says where Find looked.
	Find(layout string) ([]Located, error)
	// Open returns the store at a path. It writes nothing. warn, which may be nil, is
	// called with a sentence for the user about what a change cannot promise, or about
	// what another program wrote too late.
	Open(at Located, warn func(string)) (Store, error)

	// ParseAPIError recognises an error of the model APIs that the agent uses, or its own: JSON, as
	// the agent stores or reports it, or plain text.
	ParseAPIError(input []byte) request.APIError
	// Guide explains the findings in its sessions.
	Guide() repair.Guide
	// Providers returns the names that [repair.Options].Provider may have.
	Providers() []string
}

// A Located is a store that was found, or that a user named.
type Located struct {
	Path   string
	Layout string // how the store is arranged; "" to find it out
	Agent  string // whose it is, "" if that is not known
}

var (
	// ErrNoStore says that no store was found.
	ErrNoStore error = fail.New(fail.Unusable, "name one with --store PATH", "no session store found")
	// ErrLayout says that no layout has that name.
	ErrLayout error = fail.New(fail.Usage, "", "no such layout")
	// ErrLink says that a folder of the agent is a symbolic link, which mend does not follow.
	ErrLink = errors.New("it is a symbolic link")
)

// A Store is where an agent keeps its sessions. Its methods may be called concurrently. Those of Reader
// below Read are answered by [Base], too.
type Store interface {
	Reader
	// Writer returns the transactions of the store for changes that belong to the
	// journal with that id.
	Writer(journal string) (txn.Store, error)
}

// A Reader is what can be read of a Store.
type Reader interface {
	// ID returns the identity of the store.
	ID() change.StoreID
	// List returns the sessions without their messages.
	List(ctx context.Context) ([]change.Head, error)
	// Records returns the records of a session of List as they are stored, in the order in
	// which the agent reads them: each message, followed by its parts.
	Records(ctx context.Context, head change.Head) ([]change.Record, error)
	// Case reads a session of List for the request.
	Case(ctx context.Context, head change.Head, r repair.Request) (*repair.Case, error)
	// Read returns what the records hold now, nil for one that does not exist.
	Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error)

	// Copy reads everything that makes a session of List whole, for a copy from which it can be restored
	// after the agent has lost it. The error wraps [errors.ErrUnsupported] if the store has no such copies.
	Copy(ctx context.Context, head change.Head) (Copy, error)

	// CopiedWith returns the id of the session whose copy has a session of List, such as a subagent's; "" if its
	// copies are its own.
	CopiedWith(head change.Head) string

	// Lacks returns what of a session is in then and not in now, both records of Copy, or those of them that differ: of
	// a long text the lines that do. edited are messages and parts, without a project, that mend has changed since:
	// what they lack was taken on purpose.
	Lacks(now, then []change.Record, edited map[change.Ref]bool) Lack

	// Restore plans to bring a session back as it was when it was copied: kept creates its records then. head
	// is of List, or of that time if the session is gone. It reads only, and the Pre of the ops need not be right.
	Restore(ctx context.Context, head change.Head, kept []change.Op, r RestoreRequest) (Restoration, error)

	// Expiring returns what the agent will delete by itself until a time, because it was not used for long.
	Expiring(ctx context.Context, until time.Time) (Expiry, error)

	// SessionAt returns the session whose file is at path, without a list of all. The error wraps
	// [fs.ErrNotExist] if there is none in this store.
	SessionAt(ctx context.Context, path string) (change.Head, error)
	// SessionByID returns the session of List with exactly that id, without a list of all. With an
	// error, List may still find it.
	SessionByID(ctx context.Context, id string) (change.Head, error)
	// Former returns the path of the older store that the agent made this one from and no longer
	// reads, "" if it is not there. If this store is the older one, Former returns its path.
	Former() string

	// Beside lists the other stores of the agent that have sessions which this one lacks, or cannot be read. have are the
	// ids of those that it has.
	Beside(ctx context.Context, have map[string]bool) ([]Beside, error)
	// Adopt returns what creates the records of a session of such a store in this one, as the kept ones of Restore. It
	// adds records that this store cannot have to the Unread of copied.
	Adopt(ctx context.Context, copied *Copy) ([]change.Op, error)

	// Stamp returns the stamp that the records of a session of List have now, the zero stamp if it
	// has none. It reads no record.
	Stamp(ctx context.Context, head change.Head) (change.Stamp, error)
	// State returns the stamp of the whole store, the zero stamp if that cannot be
	// computed at once.
	State(ctx context.Context) (change.Stamp, error)
	// Examine diagnoses a session of List. The error wraps [errors.ErrUnsupported] if Case is to be
	// asked.
	Examine(ctx context.Context, head change.Head, o repair.Options) (Examination, error)
	// Refresh makes the store read the settings of the agent again. It is called before a scan, and
	// before a session is examined alone.
	Refresh()
	// Settings identifies what Examine of a session of List depends on besides the records, the
	// options, the build of mend, and whether the session is busy.
	Settings(head change.Head) string
	// Busy reports whether the agent may be working now in a session of List whose records are
	// those that Examine saw. unfinished is [Examination].Unfinished; without it only a process that says
	// which session it uses counts.
	Busy(ctx context.Context, head change.Head, unfinished bool) bool

	// Profile returns the known version of the agent whose requests are like those of
	// the given one.
	Profile(version string) string
	// Verified reports whether the requests of that version were observed, or those of an
	// older and of a newer one.
	Verified(version string) bool
	// Newer reports whether the version is newer than all that were observed.
	Newer(version string) bool
	// Forecast returns what the agent will send for a session of List when the user
	// types one more prompt. The error wraps [errors.ErrUnsupported] if that is not known.
	Forecast(ctx context.Context, head change.Head, o repair.Options) (Forecast, error)
	// CheckFile checks the file of a store whose sessions are together in one; its pages take
	// as long as reading it. The error is a [*change.DamagedError] if it is damaged.
	CheckFile(ctx context.Context, what change.Check) error
	// CheckAccess returns an error if some sessions cannot be listed, or if the agent uses the store
	// and cannot write to it, and so answers no prompt.
	CheckAccess(inUse bool) error
	// Changeable returns why nothing in the store may be changed; nil if it may.
	Changeable(ctx context.Context) error
	// CheckLinks returns a [*change.LinkedError] about a record whose file cannot be replaced since it
	// has several names.
	CheckLinks(ctx context.Context, refs []change.Ref) error
	// Abandoned lists, below the store, what changes of other journals that were cut have staged.
	Abandoned(journal string) ([]string, error)
	// DefaultRow returns what a row for a record of that kind holds in the columns for which
	// nothing is given. A column that must be given has the class 0. For a store without rows
	// the record has no columns.
	DefaultRow(ctx context.Context, kind change.Kind) (change.Record, error)

	// Move plans that sessions of List belong to other folders. It calls each with a plan for each session
	// that changes, after those of what the agent needs besides: one after the other, so that only one is in
	// memory. It reads only. The error is that of each, or wraps [errors.ErrUnsupported] if the store has no
	// such thing.
	Move(ctx context.Context, all []Relocation, each func(change.Plan) error) error
	// SameRepository reports whether a folder is in the repository that a session of List was in, whose
	// own folder need not exist.
	SameRepository(ctx context.Context, head change.Head, folder string) bool

	// Salvage reads what can be read of a damaged database into a new one beside it. The error wraps
	// [errors.ErrUnsupported] if the store is no database.
	Salvage(ctx context.Context, o SalvageOptions) (Salvaged, error)
	// Space returns what takes the space of the store. progress, which may be nil, is called with the bytes that were
	// read.
	Space(ctx context.Context, progress func(done, total int64)) (Space, error)
	// Clean plans to remove something. The error wraps [errors.ErrUnsupported] if the store has no such thing.
	Clean(ctx context.Context, r CleanRequest) (Cleaned, error)
	// Reclaim gives free pages of a database back to the file system, and returns how many bytes its files had before
	// and after.
	Reclaim(ctx context.Context) (before, after int64, err error)
	// Holders names the other processes that have the store's database open; none if it is no database.
	Holders(ctx context.Context) ([]string, error)
	// BuildAside has write make the file of a session beside the store, and returns the op that moves it into its place, and what
	// removes the file unless that op was applied. With dry nothing is written: the op says what the file would have. The error
	// wraps [errors.ErrUnsupported] if a session is not a file. Restore gets that op, of [change.KindTranscript], for a session
	// that is gone.
	BuildAside(ctx context.Context, ref change.Ref, dry bool, write func(io.Writer) error) (op change.Op, discard func() error, err error)
	// KeptFiles returns what the changes of the journal with that id keep beside the store; nil if the journal has all
	// of it.
	KeptFiles(journal string) KeptFiles
}

// KeptFiles are what changes have taken out of a store and keep beside it: archives of rows, folders, whole databases.
type KeptFiles interface {
	// Keeps reports whether what an op took away, or brought back, is kept, for whatever journal.
	Keeps(o change.OpInfo) bool
	// ArchivedSessions returns the sessions that the rows of an archive belong to, and those that were removed with them.
	ArchivedSessions(ctx context.Context, archive change.Ref) (all, removed map[string]bool, err error)
	// RowsLeftOut returns how many rows of an archive an undo cannot bring back, because their session was deleted.
	RowsLeftOut(ctx context.Context, archive change.Ref) (int64, error)
	// CheckKept returns an error if what ops took away is not kept whole.
	CheckKept(ctx context.Context, ops []change.Op) error
	// Sweep removes all but what is needed for ops, and returns how many bytes that was. With dry it removes nothing.
	Sweep(ctx context.Context, needed []change.Op, dry bool) (int64, error)
}

// A Relocation is a session, and the folder, which exists, to which it is to belong.
type Relocation struct {
	Head     change.Head
	To       string
	Old, New string // the folders that move; that of Head is Old, or below it
}

// An Examination is what was found in a session. It is valid until the session has another stamp,
// the store has other settings for it, or the agent is working in it.
type Examination struct {
	Busy      bool   // the agent is working in the session
	Thinking  bool   // the session was diagnosed for a model that is asked to think
	Provider  string // the API that is asked next, as the agent names it
	Diagnoses []repair.Diagnosis
	Failure   *Failure // of the newest answer; nil if it did not fail

	Stamp      change.Stamp // of the records; the zero stamp if what was found depends on more than that
	Unfinished bool         // the agent is or was working in it; see [Store].Busy
	Until      time.Time    // when the next prompt gets another position among the messages; the zero time for never
}

// A Copy is what makes a session whole: written to an empty store, these records are the session again.
type Copy struct {
	Records  []change.Record // each message followed by its parts, and what grows least first
	Messages int
	First    string   // the id of the first message, "" without one
	Unread   []string // what of the session could not be read, or does not count as a record, each with the reason

	PromptsOnly bool // it has only what the user typed: all else is lost

	Stamp change.Stamp // that the session had when it was read; the zero stamp if that is unknown
}

// UnreadText returns the first of Unread and how many more there are; "" for none.
func (c *Copy) UnreadText() string {
	if n := len(c.Unread) - 1; n > 0 {
		return fmt.Sprintf("%s, and %d more", c.Unread[0], n)
	}
	return strings.Join(c.Unread, "")
}

// A Lack is what of a session is gone: records, or the text in them.
type Lack struct {
	Records  int // messages, parts and files
	Messages int // of these
	// TakenBack says that only the last messages are gone, with all of their parts, as if the user had taken them back.
	TakenBack bool
}

// A RestoreRequest says which state of a session is wanted.
type RestoreRequest struct {
	// Exact says that the session shall be as it was kept. Else what it has now stays, and what is missing is
	// added, if both can be.
	Exact bool
	// Force allows an exact state to replace a session that went on otherwise.
	Force bool
	// Edited is that of Lacks.
	Edited map[change.Ref]bool
	// Gone says that List does not have the session.
	Gone bool
}

// A Restoration brings back what was kept of a session.
type Restoration struct {
	Ops      []change.Op // none if nothing is missing
	Messages int         // that it has then
	Joined   bool        // what the session has now stays, and what is missing is added
}

// An Expiry is what an agent deletes by itself.
type Expiry struct {
	Sessions int       // that are deleted; 0 for none
	First    time.Time // when the first of them is
	Days     int       // after how many days without use
}

// A Failure is an error that the agent has stored as the end of a turn.
type Failure struct {
	Message string // the id of the answer
	Error   []byte // as it is stored
	Time    time.Time
}

// A Forecast is the next request of a session, and what the provider will refuse of it.
type Forecast struct {
	Request    request.Request
	Violations []request.Violation // the first is the one that shows
	Version    string              // of the profile
	Thinking   bool                // the model is asked to think

	Provider string // the API that is asked, as the agent names it
	Place    Place
}

// ForecastOf completes the forecast of a case with the request that is sent of it now, and what is wrong with the
// session.
func ForecastOf(c *repair.Case, now request.Request, f Forecast) Forecast {
	f.Request = now
	q, refused := c.Next()
	type fault struct {
		rule string
		ref  change.Ref
	}
	of := map[fault][]request.Violation{}
	for _, r := range refused {
		if len(q.Turns) == len(now.Turns) && len(r.Refs) > 0 {
			of[fault{r.Rule, r.Refs[0]}] = append(of[fault{r.Rule, r.Refs[0]}], r)
		}
	}
	for _, v := range c.Findings().All() {
		if v.Severity != repair.Broken {
			continue
		}
		w := request.Violation{Rule: v.Code, Message: v.Text, Refs: []change.Ref{v.Ref}, N: -1, M: -1}
		for _, r := range of[fault{v.Code, v.Ref}] {
			if r.Block == nil || r.Block.Index == v.Block {
				w.N, w.M = r.N, r.M
			}
		}
		f.Violations = append(f.Violations, w)
	}
	return f
}

// A Place is how the errors of a provider number the turns of a request and their blocks:
// formats with one number.
type Place struct{ Turn, Block string }
