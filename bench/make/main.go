// Make makes what bench measures on: a store, or a journal.
//
//	make [varied-]tree|db PARTS RUNNING DIR
//	make journal REPAIRS DIR
//	make transcripts SESSIONS DIR
//	make grown-tree|grown-db SHAPE SIZE DIR
//
// Of the newest session in the store that calls a tool, so many calls never ended;
// DIR/session holds its id, and of a grown one DIR/bytes its size. The journal is DIR/mend/journal.db.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mend/internal/bigstore"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("make: ", err)
	}
}

func run(args []string) error {
	grown := len(args) > 0 && strings.HasPrefix(args[0], "grown-")
	if len(args) < 3 || grown && len(args) < 4 {
		return fmt.Errorf("want a kind, numbers and a folder, got %v", args)
	}
	if grown {
		return makeGrown(args[0], args[1], args[2], args[len(args)-1])
	}
	var numbers []int
	for _, arg := range args[1 : len(args)-1] {
		n, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		numbers = append(numbers, n)
	}
	dir := args[len(args)-1]
	if args[0] == "journal" {
		return makeJournal(filepath.Join(dir, "mend"), numbers[0])
	}
	if args[0] == "transcripts" {
		return bigstore.Transcripts(filepath.Join(dir, ".claude"), numbers[0], 1)
	}
	write, stop := bigstore.Tree, stopFiles
	if strings.HasSuffix(args[0], "db") {
		write, stop = bigstore.Database, stopRows
	}
	mix := bigstore.Plain
	if strings.HasPrefix(args[0], "varied-") {
		mix = bigstore.Varied
	}
	if err := write(dir, mix, numbers[0], 1); err != nil {
		return err
	}
	session, err := stop(filepath.Join(dir, "opencode"), numbers[1])
	if err != nil {
		return fmt.Errorf("stopping calls: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "session"), []byte(session), 0o644)
}

// makeGrown makes a store of one session of a shape of [bigstore.Shapes].
func makeGrown(kind, shape, size, dir string) error {
	s, err := bigstore.ShapeNamed(shape)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(size)
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
