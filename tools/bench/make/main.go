// Make makes what bench measures on: a store, or a journal.
//
//	make [varied-]tree|db PARTS RUNNING DIR
//	make journal REPAIRS DIR
//	make [broken-]transcripts SESSIONS DIR
//	make grown-tree|grown-db SHAPE SIZE DIR
//
// Of the newest session in the store that calls a tool, so many calls never ended; of broken
// transcripts one has a tool with a name that the provider rejects. DIR/session holds its id, and
// of a grown one DIR/bytes its size. The journal is DIR/mend/journal.db.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mend/internal/test/bigstore"
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
	if strings.HasSuffix(args[0], "transcripts") {
		err := bigstore.Transcripts(filepath.Join(dir, ".claude"), numbers[0], 1)
		if err == nil && args[0] == "broken-transcripts" {
			err = breakTranscript(dir)
		}
		return err
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

// breakTranscript gives a tool a name that the provider rejects, and writes the id of that session to
// DIR/session.
func breakTranscript(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, ".claude", "projects", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("finding transcripts: %w", err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	before, after, ok := bytes.Cut(data, []byte(`"type":"tool_use"`))
	if !ok {
		return errors.New("no session calls a tool")
	}
	after = bytes.Replace(after, []byte(`"name":"`), []byte(`"name":"a b `), 1)
	return errors.Join(
		os.WriteFile(files[0], slices.Concat(before, []byte(`"type":"tool_use"`), after), 0o600),
		os.WriteFile(filepath.Join(dir, "session"), []byte(strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")), 0o644))
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
