package change

import (
	"fmt"
	"math"
)

// MaxText is the size in bytes of the largest record that mend reads. The agent cannot read much
// more: its JavaScript engine reads a text of 1.2 GB and aborts on one of 2.2 GB.
const MaxText = math.MaxInt32

// A SizeError means that a session is too large for the memory of this machine. Most is the
// limit in bytes.
type SizeError struct{ Most int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("it has more than %d MB, which is too much for the memory of this machine", e.Most>>20)
}
