package session

import "time"

// A Stamp identifies a state of a session's records without their
// bytes: by names, sizes, times and places on the disk. A program that rewrites a
// record twice within one tick of the file system's clock can leave the same
// stamp, so it says nothing of records that are younger than that.
type Stamp struct {
	Sum    [32]byte  // equal for equal states; the zero Sum is no stamp: the store cannot tell
	Newest time.Time // when a record was last changed
}
