package mend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/internal/userdir"
)

// A cacheFile is a file of what is remembered of a store. It may be lost at any
// time, so its callers need not report an error: what is lost or cut short is
// noticed, and made again.
type cacheFile struct {
	path string       // "" where there is no folder for it
	note func(string) // reports what the user can put right; nil for nobody
}

// cacheFile is the file of what is remembered of this store, by what it is.
func (c *Client) cacheFile(what string) cacheFile {
	id := c.store.ID()
	sum := sha256.Sum256([]byte(id.Kind + "\x00" + id.Root))
	dir := c.opt.Cache
	if dir == "" {
		var err error
		if dir, err = userdir.Cache(); err != nil {
			return cacheFile{}
		}
	}
	return cacheFile{filepath.Join(dir, fmt.Sprintf("%s-%x", what, sum[:8])), c.opt.Note}
}

var errNoCache = errors.New("there is no folder for the cache")

// read returns the content, and when it was written.
func (c cacheFile) read() ([]byte, time.Time, error) {
	if c.path == "" {
		return nil, time.Time{}, errNoCache
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
	data, err := io.ReadAll(f)
	return data, info.ModTime(), err
}

// replace replaces the content, which others may be reading.
func (c cacheFile) replace(data []byte) error {
	if c.path == "" {
		return errNoCache
	}
	err := ownfile.MakeDir(filepath.Dir(c.path))
	if err == nil {
		err = ownfile.Check(c.path)
	}
	if err == nil {
		err = atomicfile.WriteFile(c.path, data, 0o600)
	}
	var unsafe *ownfile.UnsafeError
	if errors.As(err, &unsafe) && c.note != nil {
		c.note("the cache is not used: " + unsafe.Error())
	}
	return err
}

// add appends to the content, if there is any.
func (c cacheFile) add(data []byte) error {
	f, err := ownfile.Open(c.path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil // there is none, or none that is ever read
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (c cacheFile) remove() { _ = os.Remove(c.path) }

// touch sets when it was written.
func (c cacheFile) touch(at time.Time) { _ = os.Chtimes(c.path, at, at) }
