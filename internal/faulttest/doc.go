// Package faulttest runs a program and does to it, at one chosen call of the
// system, what happens to programs: it is killed, the call fails, or the call
// waits while the test does something else.
//
// A [Program] is run under a seccomp filter that stops every call that changes
// what is stored, in all its threads, until the test has answered. The calls are
// numbered from 1, in the order in which they come. A test goes through
// k = 1, 2, 3 … until the program ends before it comes to k.
//
// It can also hold still what makes equal runs differ: the time that the program
// is told, and what it takes for random.
//
// It needs no rights, but Linux 5.19 or later; elsewhere there is nothing in
// this package. The command filtered installs the filter in the process that
// becomes the program.
//
// The tests of this package do all that to the real mend, and check what it
// promises. Each cut is made, each failed run goes to its end. What comes after
// it, recovery and all that is checked then, depends on nothing but the bytes,
// names and modes that the cut left in the store and in mend's own folders: a
// state that a cut in the same store has left before is recovered once. Since the
// time stands still, three cuts in four leave such a state.
//
// The tests are in layers:
//
//	go test ./internal/faulttest                 kill and one error at every fifth call of repair and undo, others each day
//	FAULTTEST=sample go test …                   as full, at every fifth call
//	FAULTTEST=full go test ./internal/faulttest  every call of every verb that writes; EIO, ENOSPC; foreign writes; broken variants; as root: power cuts
//	make torture                                 all errors, every pair of cuts, real full disks
package faulttest
