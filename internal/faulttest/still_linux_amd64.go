package faulttest

import "golang.org/x/sys/unix"

// beginning is a call that a Go program makes before it reads what the kernel has
// told it about itself.
const beginning = unix.SYS_ARCH_PRCTL
