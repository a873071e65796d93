// Make makes what bench measures on: a store of sessions as people have them, transcripts, or one
// session that grew in one dimension.
//
//	make tree|db PARTS DIR
//	make transcripts SESSIONS DIR
//	make grown-tree|grown-db SHAPE SIZE DIR
//
// DIR/session holds the id of a grown session, and DIR/bytes its size.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"mend/internal/test/bigstore"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("make: ", err)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want a kind, a number and a folder, got %v", args)
	}
	dir := args[len(args)-1]
	n, err := strconv.Atoi(args[len(args)-2])
	if err != nil {
		return err
	}
	switch kind := args[0]; {
	case len(args) == 4:
		return makeGrown(kind, args[1], n, dir)
	case kind == "transcripts":
		return bigstore.Transcripts(filepath.Join(dir, ".claude"), n, 1)
	case kind == "db":
		return bigstore.Database(dir, bigstore.Varied(n, 1))
	}
	return bigstore.Tree(dir, bigstore.Varied(n, 1))
}

// makeGrown makes a store of one session of a shape of [bigstore.Shapes].
func makeGrown(kind, shape string, n int, dir string) error {
	s, err := bigstore.ShapeNamed(shape)
	if err != nil {
		return err
	}
	write := bigstore.GrowthTree
	if kind == "grown-db" {
		write = bigstore.GrowthDatabase
	}
	g, err := write(dir, s, n)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "session"), []byte(g.Session), 0o644),
		os.WriteFile(filepath.Join(dir, "bytes"), []byte(strconv.FormatInt(g.Bytes, 10)), 0o644))
}
