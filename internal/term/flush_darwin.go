package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops typed input that was not read.
func discardInput(f *os.File) {
	const read = 1 // FREAD of <sys/fcntl.h>
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
