package agent

import (
	"errors"
	"io/fs"
	"time"

	"mend/change"
)

// An Installer knows how an agent starts mend by itself: a file of the agent, such as a plugin or its
// settings, names the command. It computes texts; the caller reads, asks and writes. A nil text is a file
// that does not exist.
type Installer interface {
	// About describes the file.
	About() Installation
	// Path returns where the file is: for all projects, or for that of the current folder alone.
	Path(project bool) (string, error)
	// Accepts returns an error if the agent has no such option.
	Accepts(s Setup) error
	// Install returns a text with mend in it, once. What an earlier installation was given and s leaves
	// out stays. It is an error if mend did not write what is there.
	Install(text []byte, s Setup) ([]byte, error)
	// Uninstall returns a text without mend. Its error is as that of Install.
	Uninstall(text []byte) ([]byte, error)
	// Status returns what is installed, compared with what s would install. The error is that of reading
	// the text.
	Status(text []byte, s Setup) (Status, error)
	// Notes returns what a user should know after text was installed.
	Notes(text []byte, s Setup) []string
	// Event reads what the agent passes to the command when it starts it for one event of a session. The
	// error wraps [errors.ErrUnsupported] if the command serves the agent until it ends.
	Event(input []byte) (Event, error)
}

// An Installation describes the file that starts mend, for a person.
type Installation struct {
	Part    string // what mend adds to the file, such as "mend's hooks"; "" if the whole file is mend's
	Missing string // of a file without mend, such as "is not installed"
	Done    string // what is needed after it was installed
	Undone  string // and after it was removed
	Offer   string // what it is good for, after "mend install"
	Max     int    // the size of the file in bytes

	// Deadline is how long the agent waits for mend, which it starts for one event; 0 if mend serves the
	// agent until it ends.
	Deadline time.Duration

	Mode   fs.FileMode
	Folder fs.FileMode // of a new folder
}

// A Setup is how mend is to be started.
type Setup struct {
	Program string   // its path; "" if it is not to be installed
	Version string   // of mend
	Store   string   // the store that the user names; "" for the agent's own
	Hooks   string   // which hooks are on, see the setting hooks; "" as the settings say
	Values  []string // what Hooks may be
	Repair  bool     // repair sessions, and do not only report them
	Keep    bool     // copy a session when one of its turns ends
}

// A Status is what is installed in a file.
type Status struct {
	State        State
	Version      string // of the mend that wrote it, "" if it does not say
	Store, Hooks string // that it was installed with
	Repair       bool
	Keep         bool
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

// An Event is what an agent reports of one session.
type Event struct {
	Agent Agent  // to open the store with
	Path  string // of the session
	Ended bool   // the agent shows no answer
	Turn  bool   // a turn has ended, and nothing else: the session is copied, and not examined

	Broken   func(h change.Head, why string, fixable bool) string // the text for a user whose session is damaged
	Repaired func(h change.Head, why, entry string) string        // and of one that was repaired
	Answer   func(text string) ([]byte, error)                    // a text as the agent reads it
}

// A BaseInstaller is embedded in an [Installer] whose agent starts mend once, and talks to it over a pipe.
type BaseInstaller struct{}

// Event implements [Installer].
func (BaseInstaller) Event([]byte) (Event, error) { return Event{}, errors.ErrUnsupported }
