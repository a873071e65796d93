package record

import (
	"crypto/sha256"

	"mend/change"
)

// A Copied is a session of which the records were read, and not decoded.
type Copied struct {
	*Session // without the messages that were skipped

	Skipped int           // the number of messages that were not read
	First   string        // the id of the first message of all
	Marks   []change.Mark // one behind each message of all; none if a change could leave them as they are
	Stamp   change.Stamp
}

// CommonMark returns how many messages precede the last mark that is in both; 0 for none. all has one behind each message.
func CommonMark(all, marks []change.Mark) (n int) {
	for _, m := range marks {
		if m.Messages > n && m.Messages <= len(all) && all[m.Messages-1].Print == m.Print {
			n = m.Messages
		}
	}
	return n
}

// Marks returns a mark behind each message. Of each, each has what its own records are; first is what all have in common.
func Marks(first [16]byte, each []change.Mark) []change.Mark {
	all := make([]change.Mark, len(each))
	last := change.Mark{Print: first}
	for i, of := range each {
		last.Messages, last.Print = i+1, NextPrint(last.Print, of.Print[:])
		if of.Newest.After(last.Newest) {
			last.Newest = of.Newest
		}
		all[i] = last
	}
	return all
}

// NextPrint returns the print of what has the print before and then these bytes.
func NextPrint(before [16]byte, b []byte) [16]byte {
	sum := sha256.New()
	sum.Write(before[:])
	sum.Write(b)
	return [16]byte(sum.Sum(nil)[:16])
}
