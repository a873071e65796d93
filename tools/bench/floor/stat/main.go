// Stat looks at a database and its -wal: what it takes at least to see that
// nothing has changed.
package main

import "os"

func main() {
	for _, name := range os.Args[1:] {
		_, _ = os.Stat(name)
	}
}
