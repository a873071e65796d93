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

	"mend/internal/test/damage"
)

// An agentWriter writes messages and parts like OpenCode, and damages some. No two writes are equal.
type agentWriter struct {
	rng     *rand.Rand
	writer  recordWriter
	records []damage.Record // the records that it writes
	writes  int

	written     map[string]writtenRecord // the last write of each record, by id
	overwritten []writtenRecord          // writes that were gone when it wrote the record again
}

// A writtenRecord is a record as the agent wrote it.
type writtenRecord struct {
	damage.Record
	digest [sha256.Size]byte // of the image
	late   bool              // after the write the record had another file: mend may have made its last check before
}

// A recordWriter writes records like OpenCode.
type recordWriter interface {
	write([]damage.Record) ([]writtenRecord, error)
	// digest returns the digest of the record's stored image.
	digest(damage.Record) ([sha256.Size]byte, error)
	drop(damage.Record) error
	close() error
}

func newAgentWriter(sb *sandbox, rng *rand.Rand) *agentWriter {
	sb.Helper()
	a := &agentWriter{rng: rng, written: map[string]writtenRecord{}, writer: &fileWriter{root: sb.store, rng: rng}}
	if sb.kind != tree {
		var err error
		if a.writer, err = newRowWriter(sb.store); err != nil {
			sb.Fatal(err)
		}
	}
	s := sb.open()
	messages, _ := s.Records()
	for _, n := range []int{damage.OneCall, damage.Hello, damage.Goodbye} {
		text := damage.Parts(s, n, "text")[0]
		a.records = append(a.records, messages[n], text)
		for i := range 3 { // texts that do not exist yet
			more := text
			more.ID += strconv.Itoa(i)
			a.records = append(a.records, more)
		}
	}
	return a
}

func (sb *sandbox) open() damage.Store {
	if sb.kind == tree {
		return damage.Tree{T: sb.T, Root: sb.store, Session: sb.session}
	}
	return damage.Database{SQL: damage.SQL(sb.T, sb.store)}
}

// work writes until ctx ends. In its pauses mend can finish a change.
func (a *agentWriter) work(ctx context.Context) error {
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

// act writes up to three records, or deletes one.
func (a *agentWriter) act() error {
	if r := a.any(); r.Table == "part" && a.rng.IntN(10) == 0 {
		err := a.check(r)
		delete(a.written, r.ID)
		return errors.Join(err, a.writer.drop(r))
	}
	batch := map[string]damage.Record{}
	for i := range 1 + a.rng.IntN(3) {
		r := a.any()
		r.Data = a.content(r, fmt.Sprintf("written-by-the-agent-%d-%d", a.writes, i))
		batch[r.ID] = r
		if err := a.check(r); err != nil {
			return err
		}
	}
	lines, err := a.writer.write(slices.Collect(maps.Values(batch)))
	for _, l := range lines {
		a.written[l.ID] = l
	}
	return err
}

// check adds the last write of the record to overwritten if the record has other content now.
func (a *agentWriter) check(r damage.Record) error {
	l, ok := a.written[r.ID]
	if !ok {
		return nil
	}
	now, err := a.writer.digest(r)
	if now != l.digest {
		a.overwritten = append(a.overwritten, l)
	}
	return err
}

func (a *agentWriter) any() damage.Record { return a.records[a.rng.IntN(len(a.records))] }

// content returns the data of the record with the token, sometimes blank or truncated.
func (a *agentWriter) content(r damage.Record, token string) string {
	blank := a.rng.IntN(4) == 0
	data := r.Edit(func(v map[string]any) {
		v["agent"] = token // the first field, which truncation leaves
		if blank && r.Table == "part" {
			v["text"] = " \n"
		}
	}).Data
	if a.rng.IntN(24) == 0 {
		return data[:len(data)-len(data)/4]
	}
	return data
}
