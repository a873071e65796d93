package main

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// What reads sessions makes room in memory first, once; most verbs read none, and are
// done before that would be. A repair wants all of its session at a time, and has more.
var (
	roomToScan   = sync.OnceFunc(func() { makeRoom(48<<20, 12<<20) })
	roomToRepair = sync.OnceFunc(func() { makeRoom(64<<20, 18<<20) })
)

// spare is memory that counts as in use, and which nothing touches, so that it takes
// none.
var spare []byte

// makeRoom readies the memory, for so many bytes to be in use and so many of garbage
// between two collections.
//
// The system gives memory a small page at a time, when it is touched, and to ask so
// often takes a quarter of the time of a repair. So room is asked for in large pages;
// it is garbage at once, and what is in use from then on lies in it.
//
// The usual share of what is in use collects dozens of times in a scan that uses
// little, and gives back to the system each time what is wanted again at once. So the
// share is a small one, of which spare makes much.
func makeRoom(room, garbage int) {
	const percent = 12
	debug.SetGCPercent(-1) // until both are there
	if size := garbage * 100 / percent; len(spare) < size {
		spare = make([]byte, size)
	}
	inLargePages(make([]byte, room))
	runtime.GC()
	debug.SetGCPercent(percent)
}
