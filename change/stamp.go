package change

import "time"

// A Stamp identifies a state of a session's records without their bytes: by names, sizes, times and
// inodes. A program that writes a record twice within one tick of the file system's clock can leave
// the same stamp, so a stamp proves nothing about records that are younger than a tick.
type Stamp struct {
	Sum    [32]byte  // equal for equal states; the zero Sum is no stamp
	Newest time.Time // when a record was last changed
}

// clockStep is the coarsest step of the clock of a file system, rounded up.
const clockStep = 2 * time.Second

// Distinct reports whether every change after t gives the records a stamp other than s. This holds
// if the newest record is older than one step of the file system's clock.
func (s Stamp) Distinct(t time.Time) bool {
	return s.Sum != [32]byte{} && s.Newest.Before(t.Add(-clockStep))
}
