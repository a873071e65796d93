package aside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"mend/change"
)

// The files of a database. The -shm is moved with them but is not in the list, because readers create it, too.
const (
	wal = "-wal"
	shm = "-shm"
)

var listed = []string{"", wal}

type fileSum struct {
	suffix string
	size   int64
	sum    string
}

type fileSet struct {
	mode  fs.FileMode // mode of the database file
	files []fileSum
}

// FileImage returns the image of a single file.
func FileImage(mode fs.FileMode, size int64, sum []byte) *change.Image {
	return (&fileSet{mode, []fileSum{{"", size, hex.EncodeToString(sum)}}}).image()
}

const setVersion = "mend database 1\n"

// image returns the set as an image. The encoding is frozen.
func (f *fileSet) image() *change.Image {
	var b strings.Builder
	b.WriteString(setVersion)
	for _, x := range f.files {
		fmt.Fprintf(&b, "database%s %d %s\n", x.suffix, x.size, x.sum)
	}
	return &change.Image{Data: []byte(b.String()), Mode: f.mode}
}

// setOf decodes an image; the set is nil for a nil image.
func setOf(i *change.Image) (*fileSet, error) {
	if i == nil {
		return nil, nil
	}
	text, ok := strings.CutPrefix(string(i.Data), setVersion)
	f := &fileSet{mode: i.Mode}
	for line := range strings.Lines(text) {
		var x fileSum
		var name string
		n, err := fmt.Sscanf(line, "%s %d %s\n", &name, &x.size, &x.sum)
		suffix, isDatabase := strings.CutPrefix(name, "database")
		if n != 3 || err != nil || !isDatabase || !slices.Contains(listed, suffix) || len(x.sum) != 64 || (len(f.files) == 0) != (suffix == "") {
			ok = false
			break
		}
		x.suffix = suffix
		f.files = append(f.files, x)
	}
	if !ok || len(f.files) == 0 {
		return nil, errors.New("the list of its files is damaged")
	}
	return f, nil
}

// name returns the name of the folder where the set is kept.
func (f *fileSet) name() string { return setName(sha256.Sum256(f.image().Data)) }

// setPrefix begins the name of a folder with a database's kept files.
const setPrefix = "db-"

// setName returns the name of the folder of a set, given the hash of its list.
func setName(sum [sha256.Size]byte) string { return setPrefix + hex.EncodeToString(sum[:8]) }

// Files returns the image of the files of the database in a place, nil if it does not exist.
func (a *Area) Files(ctx context.Context, p Place) (*change.Image, error) {
	set, err := a.files(ctx, p)
	if set == nil || err != nil {
		return nil, err
	}
	return set.image(), nil
}

// files returns the files of the database in a place, nil if it does not exist.
func (a *Area) files(ctx context.Context, p Place) (*fileSet, error) {
	set := &fileSet{}
	for _, suffix := range listed {
		e, err := a.stat(Place{p.Dir, p.Name + suffix})
		switch {
		case err != nil:
			return nil, err
		case !e.Exists && suffix == "":
			return nil, nil
		case !e.Exists || e.Size == 0 && suffix != "":
			continue
		case suffix == "":
			set.mode = e.Mode.Perm()
		}
		x, err := a.sum(ctx, Place{p.Dir, p.Name + suffix}, false)
		if err != nil {
			return nil, err
		}
		x.suffix = suffix
		set.files = append(set.files, x)
	}
	return set, nil
}

// Sums caches the hashes of files that were read whole.
type Sums struct{ all sync.Map } // the hash of a file, by its fileState

// A fileState changes with every write of a file.
type fileState struct {
	dev, ino    uint64
	size, mtime int64
}

// sum returns size and hash of a file. It reads a file only if the file has changed since it was last read, or if
// again is set. A block that the disk cannot read counts as zeros.
func (a *Area) sum(ctx context.Context, p Place, again bool) (x fileSum, err error) {
	d, err := a.Root.Sub(p.Dir)
	if err != nil {
		return x, err
	}
	defer d.Close()
	f, e, err := d.Open(p.Name)
	if err == nil && f == nil {
		err = fmt.Errorf("%s: %s", p, e.ReadProblem())
	}
	if err != nil {
		return x, err
	}
	defer f.Close()
	state := fileState{e.Dev, e.Ino, e.Size, e.Mtime}
	x.size = e.Size
	if sum, known := a.sums.all.Load(state); known && !again {
		x.sum = sum.(string)
		return x, nil
	}
	h := sha256.New()
	if err := hashFile(ctx, h, f, x.size); err != nil {
		return x, err
	}
	x.sum = hex.EncodeToString(h.Sum(nil))
	a.sums.all.Store(state, x.sum)
	return x, nil
}

func hashFile(ctx context.Context, h io.Writer, f io.ReaderAt, size int64) error {
	buf := make([]byte, min(1<<20, max(size, 1)))
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := buf[:min(int64(len(buf)), size-at)]
		n, err := f.ReadAt(block, at)
		if err != nil && !errors.Is(err, io.EOF) {
			n = readAround(f, block, at)
		}
		if n == 0 {
			break
		}
		_, _ = h.Write(block[:n]) // a hash returns no error
		at += int64(n)
	}
	return nil
}

// readAround reads a block page by page: pages that the disk cannot read are zero.
func readAround(f io.ReaderAt, block []byte, at int64) int {
	const page = 4096
	clear(block)
	for i := 0; i < len(block); i += page {
		b := block[i:min(i+page, len(block))]
		if _, err := f.ReadAt(b, at+int64(i)); err != nil && !errors.Is(err, io.EOF) {
			clear(b)
		}
	}
	return len(block)
}
