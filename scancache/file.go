package scancache

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
)

// A Cache is the cache file of one store.
type Cache struct {
	path string
	warn func(string)
}

// New returns the cache in folder dir of the store of that kind at root. With an empty
// dir there is no file, and nothing is kept. warn, if not nil, is called with a
// sentence for the user when the file or the folder is not safe to use.
func New(dir, kind, root string, warn func(string)) *Cache {
	if dir == "" {
		return &Cache{}
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + root))
	return &Cache{filepath.Join(dir, fmt.Sprintf("scan-%x", sum[:8])), warn}
}

// Summary returns the summary of the last whole scan, nil if there is none.
func (c *Cache) Summary() *Summary { return c.load().summary }

// Forget drops what is known of the session and of the store as a whole. It is
// called before the session's records are changed.
func (c *Cache) Forget(session string) {
	if c.path == "" {
		return
	}
	if err := c.append(appendBlock(nil, []byte(session))); err != nil {
		_ = os.Remove(c.path)
	}
}

// append appends to the file, if there is one that can be used.
func (c *Cache) append(data []byte) error {
	f, err := ownfile.Open(c.path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// maxSize bounds the file, in bytes. A session takes some 300.
const maxSize = 64 << 20

// load returns what the file holds, nothing if it cannot be used.
func (c *Cache) load() *contents {
	data, written, err := c.read()
	if err != nil || len(data) > maxSize {
		return &contents{}
	}
	held, err := decode(data)
	if err != nil {
		return &contents{}
	}
	if held.summary != nil {
		held.summary.Time = written
	}
	return held
}

// read returns the bytes of the file, maxSize + 1 at most, and when it was written.
func (c *Cache) read() ([]byte, time.Time, error) {
	if c.path == "" {
		return nil, time.Time{}, os.ErrNotExist
	}
	f, err := ownfile.Open(c.path, os.O_RDONLY)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), maxSize)) + bytes.MinRead)
	_, err = data.ReadFrom(io.LimitReader(f, maxSize+1))
	return data.Bytes(), info.ModTime(), err
}

// save replaces the file. It keeps the time of the summary. An error is not
// reported, since all that it costs is time: the next scan reads more.
func (c *Cache) save(held *contents) {
	if c.path == "" {
		return
	}
	data := encode(held)
	if len(data) > maxSize {
		return
	}
	err := ownfile.MakeDir(filepath.Dir(c.path))
	if err == nil {
		err = ownfile.Check(c.path)
	}
	if err == nil {
		err = atomicfile.WriteFile(c.path, data, 0o600)
	}
	var unsafe *ownfile.UnsafeError
	if errors.As(err, &unsafe) && c.warn != nil {
		c.warn("the cache is not used: " + unsafe.Error())
	}
	if err == nil && held.summary != nil {
		c.touch(held.summary.Time)
	}
}

// touch sets the time of the summary.
func (c *Cache) touch(t time.Time) { _ = os.Chtimes(c.path, t, t) }
