package main

import "golang.org/x/sys/unix"

// inLargePages asks the system to give this memory in large pages, where that is left
// to programs: /sys/kernel/mm/transparent_hugepage/enabled says "madvise", as most
// distributions have it. An error means that the pages are small, as they were.
func inLargePages(memory []byte) { _ = unix.Madvise(memory, unix.MADV_HUGEPAGE) }
