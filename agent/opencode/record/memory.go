package record

import "mend/session"

// A Memory keeps what was learned of the messages of a session, so that a later ScanRecords
// does not read those that have not changed. In the zero Memory nothing is kept. Its
// functions are called by several goroutines.
type Memory struct {
	// Known reports whether a message that has this stamp, with its parts, need not be read.
	// It is nil if nothing is known of any message.
	Known func(message string, stamp [32]byte) bool
	// Learn is called with each message that was read, and its stamp.
	Learn func(message string, stamp session.Stamp)
}
