// Package scancache caches the results of the last scan of a store, so that the next scan reads only the sessions that
// have changed.
//
// It may import change, internal/atomicfile, internal/ownfile and repair. Read [Cache.Load] and [Cache.Save] first.
//
// A cache may be lost at any time, and no repair relies on it. A file that is damaged, too large or of
// another format counts as empty, and the next scan replaces it.
//
// # File
//
// There is one file per store, a sequence of blocks: the length and the CRC-32 (IEEE) of the rest, both 4
// bytes, little-endian, and a value of encoding/gob. The first block is a [File]. Each further block is the id of a
// forgotten session: it is appended before mend changes that session.
package scancache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/repair"
)

// A File is the cache of a store. The texts that identify a state or settings include the build of mend.
type File struct {
	Written  time.Time // after the time of every result
	Damage   string    // of the file of the store as a whole; "" for none, or if mend changed the store since
	Sessions []Session // all sessions of the store

	State string // identifies the state of the store whose sessions are exactly Sessions; "" if that is not known
	Sound string // identifies the state of the store in which its file as a whole was sound

	forgotten map[string]int // how often a session was forgotten, by its id
}

// A Session is a session with its result.
type Session struct {
	Head   change.Head
	Result *Result // nil if none is kept
}

// A Result has the diagnoses of a session. It is valid for an equal Stamp and equal Settings, and if the
// session is not busy.
type Result struct {
	Stamp    string // of the records
	Settings string // identifies everything else that the result depends on

	Unfinished bool   // the agent may have been working in it
	Thinking   bool   // diagnosed with thinking on
	Provider   string // the session was diagnosed for it
	Diagnoses  []repair.Diagnosis
}

// A Key identifies a session. In a tree two projects may have a session with the same id.
type Key struct{ folder, project, id string }

// KeyOf returns the key of a session.
func KeyOf(h *change.Head) Key { return Key{h.Ref.Project, h.Project, h.ID} }

// Invalidations returns how often mend began to change the session since the file was written.
func (f *File) Invalidations(id string) int { return f.forgotten[id] }

// A Cache is the cache file of one store.
type Cache struct {
	path string
	warn func(string)
}

// New returns the cache in folder dir for the store of this kind at root. With an empty dir there is no file, and
// nothing is cached. warn, if not nil, is called with a sentence for the user when the file or the folder is not safe
// to use.
func New(dir, kind, root string, warn func(string)) *Cache {
	if dir == "" {
		return &Cache{}
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + root))
	return &Cache{filepath.Join(dir, fmt.Sprintf("scan-%x", sum[:8])), warn}
}

// Forget drops the results of the session. It is called before the session's
// records are changed.
func (c *Cache) Forget(id string) {
	if c.path == "" {
		return
	}
	f, err := ownfile.Open(c.path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return
	}
	block, err := appendBlock(nil, id)
	if err == nil {
		_, err = f.Write(block)
	}
	if errors.Join(err, f.Close()) != nil {
		_ = os.Remove(c.path)
	}
}

// maxSize limits the file, in bytes. A session takes some 300.
const maxSize = 32 << 20

// Load returns the content of the file. It returns an empty File if the file cannot be used, or is dated in the future:
// the clock was set back, and the results may not be valid yet.
func (c *Cache) Load(now time.Time) *File {
	f, err := c.read()
	if err != nil || f.Written.After(now) {
		return &File{}
	}
	return f
}

func (c *Cache) read() (*File, error) {
	if c.path == "" {
		return nil, os.ErrNotExist
	}
	file, err := ownfile.Open(c.path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := ownfile.ReadAtMost(file, maxSize)
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// Save replaces the file. An error is not reported: it only makes the next scan slower.
func (c *Cache) Save(f *File) {
	if c.path == "" {
		return
	}
	data, err := appendBlock(nil, f)
	if err != nil || len(data) > maxSize {
		return
	}
	err = ownfile.MakeDir(filepath.Dir(c.path))
	if err == nil {
		err = ownfile.Check(c.path)
	}
	if err == nil {
		err = atomicfile.WriteFile(c.path, data, 0o600)
	}
	if unsafe, ok := errors.AsType[*ownfile.UnsafeError](err); ok && c.warn != nil {
		c.warn("the cache is not used: " + unsafe.Error())
	}
}

var errDamaged = errors.New("the cache is damaged")

func appendBlock(data []byte, v any) ([]byte, error) {
	var block bytes.Buffer
	err := gob.NewEncoder(&block).Encode(v)
	data = binary.LittleEndian.AppendUint32(data, uint32(block.Len()))
	data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(block.Bytes()))
	return append(data, block.Bytes()...), err
}

// readBlock reads the first block into v, and returns the rest.
func readBlock(data []byte, v any) (rest []byte, err error) {
	if len(data) < 8 {
		return nil, errDamaged
	}
	n, sum := int64(binary.LittleEndian.Uint32(data)), binary.LittleEndian.Uint32(data[4:])
	if data = data[8:]; n > int64(len(data)) || crc32.ChecksumIEEE(data[:n]) != sum {
		return nil, errDamaged
	}
	return data[n:], gob.NewDecoder(bytes.NewReader(data[:n])).Decode(v)
}

// decode reads a file, or returns an error if the bytes are incomplete or changed.
func decode(data []byte) (*File, error) {
	f := &File{}
	data, err := readBlock(data, f)
	for err == nil && len(data) > 0 {
		var id string
		if data, err = readBlock(data, &id); f.forgotten == nil {
			f.forgotten = map[string]int{}
		}
		f.forgotten[id]++
	}
	if err != nil {
		return nil, err
	}
	if len(f.forgotten) > 0 {
		f.Damage, f.State = "", ""
	}
	for i := range f.Sessions {
		if s := &f.Sessions[i]; f.forgotten[s.Head.ID] > 0 {
			s.Result = nil
		}
	}
	return f, nil
}
