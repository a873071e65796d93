// Package scancache caches the results of the last scan of a store, so that the next scan reads only the
// sessions that have changed.
//
// A cache may be lost at any time, and no repair relies on it. A file that is damaged, too large or of
// another format counts as empty, and the next scan replaces it.
//
// # File
//
// There is one file per store, a sequence of blocks: the length and the CRC-32 (IEEE) of the rest, both 4
// bytes, little-endian, and a value of encoding/gob. The first block is a [File]. Each further block is the
// id of a forgotten session: it is appended before mend changes that session.
package scancache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/repair"
)

// A File is the cache of a store. The texts that identify something include the build of mend.
type File struct {
	Written  time.Time // no result is newer
	Summary  *Summary  // of the last complete scan; nil if there is none, or if mend changed the store since
	Sessions []*Session

	State string // identifies the state of the store whose sessions are exactly Sessions; "" if that is not known
	Sound string // identifies the state of the store in which its file as a whole was sound

	forgotten map[string]int // how often a session was forgotten, by its id
}

// A Session is a session with its result.
type Session struct {
	Head change.Head
	Result
}

// A Result has the diagnoses of a session. It is valid for an equal Stamp and equal Settings, before the time
// Until, and if the session is not busy.
type Result struct {
	Stamp    string // of the records; "" for a result that is not kept
	Settings string // identifies everything else that the result depends on
	Until    int64  // milliseconds since 1970; 0 for no end

	Unfinished bool   // the agent may have been working in it
	Thinking   bool   // diagnosed with thinking on
	Provider   string // the session was diagnosed for it
	Diagnoses  []repair.Diagnosis
}

// A Key identifies a session. In a tree two projects may have a session of the same id.
type Key struct{ folder, project, id string }

// KeyOf returns the key of a session.
func KeyOf(h *change.Head) Key { return Key{h.Ref.Project, h.Project, h.ID} }

// Heads returns the sessions without their results.
func (f *File) Heads() []change.Head {
	heads := make([]change.Head, len(f.Sessions))
	for i := range heads {
		heads[i] = f.Sessions[i].Head
	}
	return heads
}

// ByKey returns the sessions by their keys.
func (f *File) ByKey() map[Key]*Session {
	all := make(map[Key]*Session, len(f.Sessions))
	for _, s := range f.Sessions {
		all[KeyOf(&s.Head)] = s
	}
	return all
}

// Merge replaces the results of some sessions, and adds those that are not in the file.
func (f *File) Merge(some []*Session) {
	all := f.ByKey()
	for _, s := range some {
		if earlier := all[KeyOf(&s.Head)]; earlier != nil {
			earlier.Result = s.Result
		} else {
			f.Sessions = append(f.Sessions, s)
		}
	}
}

// Forgotten returns how often mend was about to change the session since the file was written.
func (f *File) Forgotten(id string) int { return f.forgotten[id] }

// A Cache is the cache file of one store.
type Cache struct {
	path string
	warn func(string)
}

// New returns the cache in folder dir of the store of that kind at root. With an empty dir there is no file,
// and nothing is cached. warn, if not nil, is called with a sentence for the user when the file or the folder
// is not safe to use.
func New(dir, kind, root string, warn func(string)) *Cache {
	if dir == "" {
		return &Cache{}
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + root))
	return &Cache{filepath.Join(dir, fmt.Sprintf("scan-%x", sum[:8])), warn}
}

// Forget drops the results of the session and the summary of the store. It is called before the session's
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

// Load returns the content of the file, an empty File if it cannot be used. If the clock was set back since,
// only the summary is kept: a result may be valid only later.
func (c *Cache) Load(now time.Time) *File { return c.load(now, decode) }

// LoadRest is Load without the sessions.
func (c *Cache) LoadRest(now time.Time) *File { return c.load(now, decodeRest) }

func (c *Cache) load(now time.Time, decode func([]byte) (*File, error)) *File {
	held, err := c.read(decode)
	switch {
	case err != nil:
		return &File{}
	case held.Written.After(now):
		return &File{Summary: held.Summary}
	}
	return held
}

func (c *Cache) read(decode func([]byte) (*File, error)) (*File, error) {
	if c.path == "" {
		return nil, os.ErrNotExist
	}
	f, err := ownfile.Open(c.path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > maxSize {
		return nil, cmp.Or(err, errDamaged)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	held, err := decode(data)
	if err == nil && held.Summary != nil {
		held.Summary.Time = info.ModTime()
	}
	return held, err
}

// Save replaces the file. An error is not reported: it only makes the next scan slower.
func (c *Cache) Save(held *File) {
	if c.path == "" {
		return
	}
	data, err := appendBlock(nil, held)
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
	if err == nil && held.Summary != nil {
		c.Touch(held.Summary.Time)
	}
}

// Touch sets the time of the summary.
func (c *Cache) Touch(t time.Time) { _ = os.Chtimes(c.path, t, t) }

var errDamaged = errors.New("the cache is damaged")

// appendBlock appends a block that holds v.
func appendBlock(data []byte, v any) ([]byte, error) {
	var block bytes.Buffer
	err := gob.NewEncoder(&block).Encode(v)
	data = binary.LittleEndian.AppendUint32(data, uint32(block.Len()))
	data = binary.LittleEndian.AppendUint32(data, crc32.ChecksumIEEE(block.Bytes()))
	return append(data, block.Bytes()...), err
}

// cutBlock reads the first block of data into v, and returns the remaining data.
func cutBlock(data []byte, v any) (rest []byte, err error) {
	const header = 8
	if len(data) < header {
		return nil, errDamaged
	}
	n, sum := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	if data = data[header:]; uint64(n) > uint64(len(data)) || crc32.ChecksumIEEE(data[:n]) != sum {
		return nil, errDamaged
	}
	return data[n:], gob.NewDecoder(bytes.NewReader(data[:n])).Decode(v)
}

// decode returns the content of a file, or an error if the bytes are incomplete or changed.
func decode(data []byte) (*File, error) {
	f := &File{}
	return f, f.decode(data, f)
}

// decodeRest is decode without the sessions.
func decodeRest(data []byte) (*File, error) {
	f := &File{}
	var rest struct {
		Written      time.Time
		Summary      *Summary
		State, Sound string
	}
	err := f.decode(data, &rest)
	f.Written, f.Sound = rest.Written, rest.Sound
	if len(f.forgotten) == 0 {
		f.Summary, f.State = rest.Summary, rest.State
	}
	return f, err
}

// decode decodes the first block into f, or into some of its members, and the ids of the forgotten sessions.
func (f *File) decode(data []byte, to any) error {
	rest, err := cutBlock(data, to)
	if len(rest) > 0 {
		f.forgotten = map[string]int{}
	}
	for err == nil && len(rest) > 0 {
		var id string
		if rest, err = cutBlock(rest, &id); err == nil {
			f.forgotten[id]++
		}
	}
	if len(f.forgotten) > 0 { // there is no result of these sessions, and no summary
		f.Summary, f.State = nil, ""
	}
	same := textPool{}
	for _, s := range f.Sessions {
		if f.forgotten[s.Head.ID] > 0 {
			s.Result = Result{}
		}
		same.share(&s.Head.ID, &s.Head.Ref.Session, &s.Head.Ref.Project, &s.Head.Project, &s.Head.Directory, &s.Head.Version,
			&s.Settings, &s.Provider)
	}
	return err
}

// A textPool stores texts that several sessions have in common, so that each is in memory only once: gob decodes a
// separate copy for each session.
type textPool map[string]string

// share replaces the texts of a session by equal ones in t, or by the session's id if they equal it.
func (t textPool) share(id *string, all ...*string) {
	for _, s := range all {
		if *s == *id {
			*s = *id
		} else if one, ok := t[*s]; ok {
			*s = one
		} else {
			t[*s] = *s
		}
	}
}
