// Load reads a whole store of JSON files as mend does, and diagnoses nothing.
//
//	load STORE
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"sync"

	"mend/fsstore"
	"mend/session"
)

func main() {
	st, err := fsstore.Open(os.Args[1], "", fsstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	heads, err := st.List(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	next := make(chan session.Session)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for head := range next {
				if _, err := st.Load(context.Background(), head); err != nil {
					log.Fatal(err)
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
