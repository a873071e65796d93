package session

import (
	"fmt"
	"math"
)

// MaxText is the size in bytes of the largest record that is read: the agent cannot hold
// a longer text. Its engine reads one of 1.2 GB, and aborts the process on one of 2.2 GB.
const MaxText = math.MaxInt32

// A SizeError says that a session has more bytes than can be worked on in the memory of
// this machine.
type SizeError struct{ Most int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("it has more than %d MB, which is too much for the memory of this machine", e.Most>>20)
}
