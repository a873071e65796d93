//go:build unix

package journal

import (
	"os"
	"syscall"
)

// abandon closes a file that bbolt has locked and mapped, and will not let go:
// the mapping keeps the lock alive beyond the close.
func abandon(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}
