package agent

import (
	"io/fs"
	"time"

	"mend/change"
)

// An Installer edits the file of an agent, such as a plugin or its settings, that makes the agent start mend. It
// computes texts; the caller reads, asks and writes. A nil text means that the file does not exist.
type Installer interface {
	// Installation describes the file.
	Installation() Installation
	// Path returns the path of the file.
	Path() (string, error)
	// Accepts returns an error if the agent does not support an option of s.
	Accepts(s Setup) error
	// Install returns the text with exactly one entry of mend. Options of an earlier installation stay if s leaves them
	// out. It fails if mend did not write the existing entry.
	Install(text []byte, s Setup) ([]byte, error)
	// Uninstall returns a text without mend. Its errors are as for Install.
	Uninstall(text []byte) ([]byte, error)
	// Status compares what is installed with what s would install. The error means that the text could not
	// be parsed.
	Status(text []byte, s Setup) (Status, error)
	// Warnings returns what keeps the agent from starting mend after text was installed.
	Warnings(text []byte) []string
	// Event reads the input that the agent passes to the command for one event of a session. The error
	// wraps [errors.ErrUnsupported] if the command serves the agent until it ends.
	Event(input []byte) (Event, error)
}

// An Installation describes the file that starts mend, for a person.
type Installation struct {
	Part    string // what mend adds to the file, such as "mend's hooks"; "" if the whole file is mend's
	Missing string // for a file without mend, such as "is not installed"
	Done    string // what the user should do after the installation
	Undone  string // what the user should do after the removal
	Offer   string // its purpose, used after "mend install"
	Max     int    // greatest size of the file in bytes

	// Deadline is how long the agent waits for mend, which it starts for one event; 0 if mend serves the
	// agent until it ends.
	Deadline time.Duration

	Mode   fs.FileMode
	Folder fs.FileMode // mode of a new folder
}

// A Setup is how the agent should start mend.
type Setup struct {
	Program string   // its path; "" to uninstall it
	Version string   // of mend
	Store   string   // the store named by the user; "" for the agent's own
	Hooks   string   // which hooks are on, see the setting hooks; "" for the setting
	Values  []string // valid values of Hooks
	Repair  bool     // repair sessions instead of only reporting them
	Keep    bool     // copy a session at the end of each turn
}

// A Status is the state of an installation in a file.
type Status struct {
	State   State  `json:"state"`
	Version string `json:"version,omitempty"` // of the mend that wrote it, "" if unknown
	Store   string `json:"store,omitempty"`   // the --store of the installation
	Hooks   string `json:"hooks,omitempty"`   // the --hooks of the installation
	Repair  bool   `json:"repair,omitempty"`  // the hooks repair sessions
	Keep    bool   `json:"keep,omitempty"`    // the hooks copy sessions
}

// A State is the state of an installation. The spelling is part of JSON answers.
type State string

// The states of an installation.
const (
	Current    State = "current" // of this mend
	Other      State = "other"   // of another version, or for another program
	Foreign    State = "foreign" // mend did not write the file
	Absent     State = "absent"
	Unreadable State = "unreadable"
)

// An Event is an agent's report about one session.
type Event struct {
	Agent Agent  // to open the store with
	Path  string // path of the session
	Ended bool   // the session has ended, so the agent ignores the answer
	Turn  bool   // a turn has ended: the session is copied, not examined

	Broken   func(h change.Head, why string, fixable bool) string // the text for a user whose session is damaged
	Repaired func(h change.Head, why, entry string) string        // the text for a user whose session was repaired
	Answer   func(text string) ([]byte, error)                    // encodes a text for the agent
}
