// Flush writes a page of a file and flushes it, as often as its argument says.
//
//	flush FILE TIMES
package main

import (
	"log"
	"os"
	"strconv"
)

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	f, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	page := make([]byte, 4096)
	for i := range n {
		if _, err := f.WriteAt(page, int64(i*len(page))); err != nil {
			log.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			log.Fatal(err)
		}
	}
}
