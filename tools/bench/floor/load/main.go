// Load reads a whole store of JSON files as a scan does, and looks at nothing of it.
//
//	load STORE
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"runtime"
	"sync"

	"mend/agent/opencode/record"
	"mend/agent/opencode/tree"
	"mend/change"
)

func main() {
	st, err := tree.Open(os.Args[1], "", tree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	heads, err := st.List(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	next := make(chan change.Head)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for head := range next {
				if s, _ := st.ScanRecords(context.Background(), head, record.Memory{}, take); s == nil {
					log.Fatalf("session %s cannot be scanned", head.ID)
				}
			}
		})
	}
	for _, head := range heads {
		next <- head
	}
	close(next)
	all.Wait()
	fmt.Println(len(heads), "sessions")
}

// take asks for every part.
func take(_ *change.Record, parts iter.Seq[*change.Record]) bool {
	parts(func(*change.Record) bool { return true })
	return true
}
