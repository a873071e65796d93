package main

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// How much garbage there may be before it is collected: gcPercent of what is in use,
// and of spare, which is in use as far as the collector knows, and which nothing
// touches, so that it takes no memory. The usual share of what is in use collects
// dozens of times in a scan that uses little, and gives back to the system each
// time what is wanted again at once.
const (
	gcPercent = 12
	spareSize = 56 << 20
)

var spare []byte

// roomSize is how much memory is asked for in large pages. The system gives small
// ones a page at a time, when it is touched, and to be asked so often takes a
// quarter of the time of a repair.
const roomSize = 32 << 20

// makeRoom readies the memory, once, for what needs some: sessions that are read. Most
// verbs read none and are done before it would be. The room is garbage as soon as it
// is made, and what is in use from then on lies in it.
var makeRoom = sync.OnceFunc(func() {
	debug.SetGCPercent(-1) // until both are there
	spare = make([]byte, spareSize)
	inLargePages(make([]byte, roomSize))
	runtime.GC()
	debug.SetGCPercent(gcPercent)
})
