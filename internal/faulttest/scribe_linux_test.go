package faulttest_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"mend/internal/damage"
)

// A scribe is a scripted agent: it writes messages and parts the way OpenCode
// does, all the time, and breaks some. No two of its writes are the same.
type scribe struct {
	rng     *rand.Rand
	pen     pen
	records []damage.Record // that it writes
	writes  int

	ledger map[string]line // what it wrote last, by record
	gone   []line          // what it had written and did not find when it wrote anew
}

// A line of the ledger.
type line struct {
	damage.Record
	digest [sha256.Size]byte // of the record's image
	// late: when the write was over, the file that it went into was no longer the
	// record's. Nobody can tell whether that was after mend's last look at it.
	late bool
}

// A pen writes records as OpenCode does.
type pen interface {
	write([]damage.Record) ([]line, error)
	// digest is that of the record's image as it is stored now.
	digest(damage.Record) ([sha256.Size]byte, error)
	drop(damage.Record) error
	close() error
}

func newScribe(w *world, rng *rand.Rand) *scribe {
	w.Helper()
	a := &scribe{rng: rng, ledger: map[string]line{}, pen: &filePen{root: w.store, rng: rng}}
	if w.kind != tree {
		var err error
		if a.pen, err = newRowPen(w.store); err != nil {
			w.Fatal(err)
		}
	}
	s := w.open()
	messages, _ := s.Records()
	for _, n := range []int{damage.OneCall, damage.Hello, damage.Goodbye} {
		text := damage.Parts(s, n, "text")[0]
		a.records = append(a.records, messages[n], text)
		for i := range 3 { // texts that are not there yet
			more := text
			more.ID += strconv.Itoa(i)
			a.records = append(a.records, more)
		}
	}
	return a
}

// open is the store as damages are cut into it.
func (w *world) open() damage.Store {
	if w.kind == tree {
		return damage.Tree{T: w.T, Root: w.store, Session: w.session}
	}
	return damage.Database{SQL: damage.SQL(w.T, w.store)}
}

// work writes until ctx ends, now and then with a rest in which mend gets
// something done.
func (a *scribe) work(ctx context.Context) error {
	for ; ctx.Err() == nil; a.writes++ {
		pause := time.Duration(a.rng.IntN(4)) * time.Millisecond
		if a.rng.IntN(16) == 0 {
			pause = time.Duration(a.rng.IntN(300)) * time.Millisecond
		}
		time.Sleep(pause)
		if err := a.act(); err != nil {
			return fmt.Errorf("the agent: %w", err)
		}
	}
	return nil
}

// act writes up to three records at once, or takes one away.
func (a *scribe) act() error {
	if r := a.any(); r.Table == "part" && a.rng.IntN(10) == 0 {
		err := a.look(r)
		delete(a.ledger, r.ID)
		return errors.Join(err, a.pen.drop(r))
	}
	batch := map[string]damage.Record{}
	for i := range 1 + a.rng.IntN(3) {
		r := a.any()
		r.Data = a.content(r, fmt.Sprintf("written-by-the-agent-%d-%d", a.writes, i))
		batch[r.ID] = r
		if err := a.look(r); err != nil {
			return err
		}
	}
	lines, err := a.pen.write(slices.Collect(maps.Values(batch)))
	for _, l := range lines {
		a.ledger[l.ID] = l
	}
	return err
}

// look notes it if a record is not as the agent has left it. What it finds in
// place it may take away itself.
func (a *scribe) look(r damage.Record) error {
	l, ok := a.ledger[r.ID]
	if !ok {
		return nil
	}
	now, err := a.pen.digest(r)
	if now != l.digest {
		a.gone = append(a.gone, l)
	}
	return err
}

func (a *scribe) any() damage.Record { return a.records[a.rng.IntN(len(a.records))] }

// content is the record with the token in it, sometimes blank or cut short.
func (a *scribe) content(r damage.Record, token string) string {
	blank := a.rng.IntN(4) == 0
	data := r.Edit(func(v map[string]any) {
		v["agent"] = token // the first of its fields
		if blank && r.Table == "part" {
			v["text"] = " \n"
		}
	}).Data
	if a.rng.IntN(24) == 0 {
		return data[:len(data)-len(data)/4]
	}
	return data
}
