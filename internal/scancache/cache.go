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
// bytes, little-endian, and a value of encoding/gob. The first block is a [File]. The next blocks have its
// sessions, [inBlock] in each but the last: a file is read and written with one of them in memory. Each further
// block is the id of a forgotten session: it is appended before mend changes that session.
package scancache

import (
	"bufio"
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

// A File is the cache of a store without its sessions. The texts that identify something include the build of mend.
type File struct {
	Written  time.Time // no result is newer
	Summary  *Summary  // of the last complete scan; nil if there is none, or if mend changed the store since
	Sessions int       // how many there are

	State string // identifies the state of the store whose sessions are exactly those of the file; "" if that is not known
	Sound string // identifies the state of the store in which its file as a whole was sound

	forgotten map[string]int // how often a session was forgotten, by its id
}

// A Session is a session with its result.
type Session struct {
	Head   change.Head
	Result *Result // nil if none is kept
}

// A Result has the diagnoses of a session. It is valid for an equal Stamp and equal Settings, before the time
// Until, and if the session is not busy.
type Result struct {
	Stamp    string // of the records
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

// Forgotten returns how often mend was about to change the session since the file was written.
func (f *File) Forgotten(id string) int { return f.forgotten[id] }

// Holds reports whether the result that [Cache.Load] yielded for a session counts.
func (f *File) Holds(id string) bool { return f.Sessions > 0 && f.forgotten[id] == 0 }

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
const (
	maxSize     = 32 << 20
	sessionSize = 320
)

// inBlock is the number of sessions in a block.
const inBlock = 256

// Load returns the content of the file, an empty File if it cannot be used. It calls each, unless that is nil, for the
// sessions in the file, in their order; only afterwards [File.Holds] is known. If the clock was set back since the
// file was written, only the summary is kept: a result may be valid only later.
func (c *Cache) Load(now time.Time, each func(Session)) *File {
	f, err := c.read(now, each)
	if err != nil {
		return &File{}
	}
	return f
}

func (c *Cache) read(now time.Time, each func(Session)) (*File, error) {
	if c.path == "" {
		return nil, os.ErrNotExist
	}
	file, err := ownfile.Open(c.path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() > maxSize {
		return nil, cmp.Or(err, errDamaged)
	}
	f, err := decode(bufio.NewReader(file), now, each)
	if err == nil && f.Summary != nil {
		f.Summary.Time = info.ModTime()
	}
	return f, err
}

// Save replaces the file. each calls yield for its n sessions. An error is not reported: it only makes the next scan
// slower.
func (c *Cache) Save(f *File, n int, each func(yield func(Session))) {
	if c.path == "" {
		return
	}
	f.Sessions = n
	data, err := encode(f, each)
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
	if err == nil && f.Summary != nil {
		c.Touch(f.Summary.Time)
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

// encode returns the blocks of a file.
func encode(f *File, each func(yield func(Session))) ([]byte, error) {
	data, err := appendBlock(make([]byte, 0, sessionSize*(f.Sessions+inBlock)), f)
	some := make([]Session, 0, inBlock)
	add := func() {
		if err == nil && len(some) > 0 {
			data, err = appendBlock(data, some)
		}
		some = some[:0]
	}
	each(func(s Session) {
		if some = append(some, s); len(some) == inBlock {
			add()
		}
	})
	add()
	return data, err
}

// readBlock reads a block into v; into nothing if that is nil. The error is [io.EOF] at the end of the file.
func readBlock(r io.Reader, v any) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n, sum := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if n > maxSize {
		return errDamaged
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil || crc32.ChecksumIEEE(data) != sum {
		return errDamaged
	}
	if v == nil {
		return nil
	}
	return gob.NewDecoder(bytes.NewReader(data)).Decode(v)
}

// decode reads a file, or returns an error if the bytes are incomplete or changed.
func decode(r io.Reader, now time.Time, each func(Session)) (*File, error) {
	f, texts := &File{}, Texts{}
	if err := readBlock(r, f); err != nil {
		return nil, err
	}
	later := f.Written.After(now)
	for left := f.Sessions; left > 0; left -= inBlock {
		if each == nil || later {
			if err := readBlock(r, nil); err != nil {
				return nil, errDamaged
			}
			continue
		}
		var some []Session
		if err := readBlock(r, &some); err != nil || len(some) != min(left, inBlock) {
			return nil, errDamaged
		}
		for _, s := range some {
			if texts.Share(&s.Head); s.Result != nil {
				texts.share(&s.Result.Settings, &s.Result.Provider)
			}
			each(s)
		}
	}
	for {
		var id string
		err := readBlock(r, &id)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if f.forgotten == nil {
			f.forgotten = map[string]int{}
		}
		f.forgotten[id]++
	}
	if len(f.forgotten) > 0 { // there is no result of these sessions, and no summary
		f.Summary, f.State = nil, ""
	}
	if later {
		f = &File{Summary: f.Summary}
	}
	return f, nil
}

// Texts stores texts that several sessions have in common, so that each is in memory only once: a list has a separate
// copy for each session.
type Texts map[string]string

// Share replaces the texts of a session by equal ones of other sessions, or by its id if they equal it.
func (t Texts) Share(h *change.Head) {
	if h.Ref.Session == h.ID {
		h.Ref.Session = h.ID
	}
	t.share(&h.Ref.Project, &h.Project, &h.Directory, &h.Version)
}

func (t Texts) share(all ...*string) {
	for _, s := range all {
		if one, ok := t[*s]; ok {
			*s = one
		} else {
			t[*s] = *s
		}
	}
}
