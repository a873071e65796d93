package faulttest

import "golang.org/x/sys/unix"

// firstCall is a call that a Go program makes before it reads its auxiliary
// vector.
const firstCall = unix.SYS_ARCH_PRCTL
