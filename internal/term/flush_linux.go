package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput drops typed input that was not read.
func discardInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
