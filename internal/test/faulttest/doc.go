// Package faulttest runs a program and injects a fault at one chosen system call: the program is killed, the call
// fails, or the call waits while the test does something else.
//
// It imports nothing of mend. Read [Program.Run] first.
//
// A [Program] runs under a seccomp filter that stops each call that changes stored data, in all threads, until the test has
// answered. The calls are numbered from 1 in their order. A test runs the program with a fault at call k for
// k = 1, 2, 3 … until the program ends before call k.
//
// A Program can also fix the inputs that make equal runs differ: the clock and the random numbers.
//
// It needs Linux 5.19 or later and no special privileges; on other systems the package is empty. The command
// filtered installs the filter in the process that becomes the program.
//
// The tests of this package run the real mend and check its promises. The recovery and the checks after a cut depend only
// on the bytes, names and modes in the store and in mend's own folders. So a state that an earlier cut in the same store
// has left is not recovered again. Because the clock is fixed, three cuts in four leave such a state.
//
// The tests are in layers:
//
//	go test ./internal/test/faulttest                 the fault injection itself
//	FAULTTEST=sample go test …                        as full, at every sixtieth call, with one broken variant
//	FAULTTEST=full go test ./internal/test/faulttest  every call of every verb that writes; EIO, ENOSPC; foreign writes; broken variants; as root: power cuts
//	make torture                                      all errors, every pair of cuts, real full disks
package faulttest
