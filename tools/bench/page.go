package main

import (
	"bytes"
	"os"
)

// The headings of the parts of the page behind the table.
const (
	growthHeading = "\n## Growth of one session\n"
	byHand        = "\n## Measured by hand\n" // this part stays as it is
)

// writePage writes the page with the tables. If no shapes were measured, their part stays as it is.
func writePage(path, about string, t *table, shapes []grown) error {
	var b bytes.Buffer
	b.WriteString("# Performance\n\nWritten by `make bench`: mend against programs that do no more than the disk has to be asked for\n" +
		"(`tools/bench/floor`), on stores that `internal/test/bigstore` makes. " + about + "\n\n" + t.String() + shapesTable(shapes))
	kept := byHand
	if len(shapes) == 0 {
		kept = growthHeading
	}
	if old, err := os.ReadFile(path); err == nil {
		if i := bytes.Index(old, []byte(kept)); i >= 0 {
			b.Write(old[i:])
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
