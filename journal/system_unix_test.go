//go:build linux || darwin

package journal

import (
	"strconv"
	"syscall"
)

func setUmask(mask int) int { return syscall.Umask(mask) }

// limitFileSize limits the files that this process writes, if size is a number.
func limitFileSize(size string) {
	n, err := strconv.ParseUint(size, 10, 64)
	if err != nil {
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		panic(err)
	}
}
