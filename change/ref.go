package change

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Kind is the kind of record that a [Ref] names. The zero Kind is invalid.
type Kind uint8

// The kinds of records.
const (
	KindSession Kind = iota + 1
	KindMessage
	KindPart
	KindFolder  // the folder of a message's parts, or of a session's messages
	KindFile    // a file in such a folder that is not a record, or a file in place of the folder
	KindProject // the row of the project that sessions belong to
	KindEvents  // the row that counts the events of a session
	// KindDatabase is a whole database with its -wal and -shm; its image is a list of the files.
	KindDatabase
	KindIndex // the entry of a session in the index that the agent keeps of its sessions
	// KindRows stands for many rows of a database, which are either in the database or only in an archive. Its image
	// lists the archive's content while they are in the database, and is empty otherwise.
	KindRows
	// KindTree is a whole folder beside a database, identified by its parent folder (Project) and its name; its image
	// has the number of its files.
	KindTree
	// KindTranscript is the file of a session that is too large for a plan: it is built beside the store and moved. Its
	// image lists the file.
	KindTranscript
	// KindHistory is what the agent shows of a session: rows that it derives from the session's file.
	KindHistory
)

var kindNames = [...]string{
	KindSession: "session", KindMessage: "message", KindPart: "part", KindFolder: "folder", KindFile: "file", KindProject: "project", KindEvents: "event counter", KindDatabase: "database", KindIndex: "index entry", KindRows: "rows", KindTree: "folder beside the database", KindTranscript: "transcript", KindHistory: "shown history",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// WholeFiles reports whether removed content of the kind is kept beside the store: the journal only lists it.
func (k Kind) WholeFiles() bool { return k == KindTree || k == KindTranscript || k.Whole() }

// Whole reports whether a change of the kind may affect any record of the store.
func (k Kind) Whole() bool { return k == KindDatabase || k == KindRows }

// Derived reports whether the agent creates a record of the kind from other records: then a change does not conflict
// with any content of it.
func (k Kind) Derived() bool { return k == KindHistory }

// Own reports whether a change of the kind removes one of the user's own files or a whole database.
func (k Kind) Own() bool { return k == KindDatabase || k == KindFile }

// A Ref names one record of a store by the ids in its path or its primary key. It is
// comparable, and it names the same record at any later time: undo relies on that.
type Ref struct {
	Kind Kind `json:"kind"`
	// Project is the path element above the session, if any: the project of a session record, or the extra level of a
	// nested message folder.
	Project string `json:"project,omitempty"`
	Session string `json:"session,omitempty"`
	Message string `json:"message,omitempty"` // messages, parts, and folders of parts
	// Part is the id of a part, or the name of an archive, a database or a folder beside the database. For a file it is
	// the path below the folder that the other ids name, which may be any bytes; "" if the file takes the place of that
	// folder.
	Part string `json:"part,omitempty"`
}

// ID returns the record's own id, the last of its ids. A folder has the id of its message or session.
func (r Ref) ID() string {
	switch r.Kind {
	case KindPart, KindFile, KindRows, KindTree:
		return r.Part
	case KindMessage:
		return r.Message
	case KindFolder:
		if r.Message != "" {
			return r.Message
		}
	case KindProject:
		return r.Project
	case KindDatabase:
		return cmp.Or(r.Part, "database")
	case KindSession, KindEvents, KindIndex, KindTranscript, KindHistory:
	}
	return r.Session
}

// String returns the record's name in all texts that a person reads or types: the id of a session or a message,
// message/part for a part, a trailing slash for a folder, session/events for an event counter, session/index for an
// entry of an index, session/history for a shown history, parent/name for a folder beside the database, and folder/name
// for a file, escaped as in a Go string. Invalid ids, which a row may have, are quoted.
func (r Ref) String() string {
	switch r.Kind {
	case KindFile:
		name := strconv.Quote(r.Part)
		return cmp.Or(r.Message, r.Session) + "/" + name[1:len(name)-1]
	case KindPart:
		return shown(r.Message) + "/" + shown(r.Part)
	case KindFolder:
		return shown(r.ID()) + "/"
	case KindEvents:
		return shown(r.Session) + "/events"
	case KindIndex:
		return shown(r.Session) + "/index"
	case KindHistory:
		return shown(r.Session) + "/history"
	case KindTree:
		return shown(r.Project) + "/" + shown(r.Part)
	default:
		return shown(r.ID())
	}
}

func shown(id string) string {
	switch err := ValidateID(id); {
	case err == nil || id == "":
		return id
	case len(id) > MaxID:
		return strconv.QuoteToASCII(id[:MaxID]) + "…"
	}
	return strconv.QuoteToASCII(id)
}

// WithoutProject returns the ref without its project, which a move changes.
func (r Ref) WithoutProject() Ref {
	r.Project = ""
	return r
}

// Compare orders refs by kind, then by their ids.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Project, o.Project), cmp.Compare(r.Session, o.Session), cmp.Compare(r.Message, o.Message), cmp.Compare(r.Part, o.Part))
}

// Validate returns an error that names the first missing or invalid id of the ref, and wraps errBadID.
func (r Ref) Validate() error {
	need := append(make([]string, 0, 4), r.Session) // room for all: this is called for each record
	switch r.Kind {
	case KindSession, KindEvents, KindIndex, KindTranscript, KindHistory:
	case KindDatabase:
		if r.Part == "" {
			return nil
		}
		need[0] = r.Part
	case KindRows:
		need[0] = r.Part
	case KindTree:
		need = append(need[:0], r.Project, r.Part)
	case KindProject:
		need[0] = r.Project
	case KindMessage:
		need = append(need, r.Message)
	case KindPart:
		need = append(need, r.Message, r.Part)
	case KindFolder, KindFile:
		if r.Message != "" {
			need = append(need, r.Message)
		}
	default:
		return fmt.Errorf("%w: %v", errBadID, r.Kind)
	}
	if r.Project != "" && r.Kind != KindProject {
		if err := ValidateProject(r.Project); err != nil {
			return fmt.Errorf("%v %s: %w", r.Kind, r, err)
		}
	}
	for _, id := range need {
		if err := ValidateID(id); err != nil {
			return fmt.Errorf("%v %s: %w", r.Kind, r, err)
		}
	}
	if r.Kind == KindFile && r.Part != "" && !isName(r.Part) {
		return fmt.Errorf("file %s: %w: it leads out of its folder, or to a hidden file", r, errBadID)
	}
	return nil
}

// isName reports whether name is a path from a folder to a file below it, without hidden
// elements.
func isName(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if element == "" || element[0] == '.' || strings.IndexByte(element, 0) >= 0 {
			return false
		}
	}
	return true
}

// errBadID means that a string is not a valid id. Paths and keys contain valid ids only.
var errBadID = errors.New("not a valid id")

// MaxID is the greatest length of an id, in bytes.
const MaxID = 200

// maxName is the greatest length of a file name, in bytes. A project's id can be that long, because it is the name of a
// folder.
const maxName = 255

// ValidateID returns an error that wraps errBadID unless id has 1 to [MaxID] ASCII letters, digits, `_`, `-` and `.`,
// and does not start with a dot. So an id from a stored file can never be a path.
func ValidateID(id string) error { return validateID(id, MaxID) }

// ValidateProject is [ValidateID] for the id of a project, which is the name of a folder.
func ValidateProject(id string) error { return validateID(id, maxName) }

func validateID(id string, most int) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: empty", errBadID)
	case len(id) > most:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", errBadID, len(id), most)
	case id[0] == '.':
		return fmt.Errorf("%w: %q starts with a dot", errBadID, id)
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return fmt.Errorf("%w: %q has %q", errBadID, id, id[i])
		}
	}
	return nil
}

// ValidateSessionID is [ValidateID] for the id of a session. People type it on command lines, so it must not start with
// a dash, as a flag does.
func ValidateSessionID(id string) error {
	if strings.HasPrefix(id, "-") {
		return fmt.Errorf("%w: %q starts with a dash", errBadID, id)
	}
	return ValidateID(id)
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}
