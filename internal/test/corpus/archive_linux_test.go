package corpus

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"mend/internal/test/damage"
)

// A frozenCase is one archive of testdata.
type frozenCase struct {
	name  string
	files map[string][]file // by the name of the state

	Store  string   `json:"store"`
	Verb   []string `json:"verb"`            // arguments of the frozen program
	Bytes  bool     `json:"bytes,omitempty"` // compare databases by bytes instead of rows
	States []state  `json:"states"`
}

// A state is the home of a case at one time.
type state struct {
	Name    string   `json:"name"`
	Call    string   `json:"call,omitempty"` // the system call before which the program was killed
	Entries []entry  `json:"entries"`        // as the frozen program listed them, newest first
	Runs    [][]step `json:"runs,omitempty"` // each starts from the state
}

// An entry has the facts about an entry of the journal that later programs must list, too.
type entry struct {
	ID       string `json:"id"`
	Session  string `json:"session"`
	State    string `json:"state"`
	Cause    string `json:"cause"`
	Changes  int    `json:"changes"`
	UndoneBy string `json:"undoneBy,omitempty"`
}

// A step is a command, with the name of the state in which it leaves the store. A refused step ends with an error and changes
// nothing.
type step struct {
	Args    []string `json:"args"`
	Want    string   `json:"want"`
	Refused bool     `json:"refused,omitempty"`
}

// settled is the Want of a step that leaves the store as before the change or as after it.
const settled = "before or done"

func (c *frozenCase) state(name string) *state {
	if i := slices.IndexFunc(c.States, func(s state) bool { return s.Name == name }); i >= 0 {
		return &c.States[i]
	}
	return nil
}

type file struct {
	name string // below the home
	mode fs.FileMode
	data []byte
}

// readHome returns all files below a home that a case needs, in lexical order.
func readHome(home string) (all []file, err error) {
	err = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == home {
			return err
		}
		rel, _ := filepath.Rel(home, path)
		if rel == ".cache" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := file{name: rel, mode: info.Mode()}
		if info.Mode().IsRegular() {
			f.data, err = os.ReadFile(path)
		}
		all = append(all, f)
		return err
	})
	return all, err
}

// writeHome replaces the home by one with exactly these files.
func writeHome(home string, files []file) error {
	err := errors.Join(os.RemoveAll(home), os.MkdirAll(home, 0o700))
	for _, f := range files {
		path := filepath.Join(home, f.name)
		if f.mode.IsDir() {
			err = errors.Join(err, os.Mkdir(path, 0o700), os.Chmod(path, f.mode.Perm()))
			continue
		}
		err = errors.Join(err, os.WriteFile(path, f.data, 0o600), os.Chmod(path, f.mode.Perm()), os.Chtimes(path, frozenTime, frozenTime))
	}
	return err
}

// frozenTime is the time of every file in an archive.
var frozenTime = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// readDictionary returns the dictionary of the archives: the stores with which most cases begin.
func readDictionary(t *testing.T) []byte {
	t.Helper()
	packed, err := os.ReadFile("testdata/dictionary.zst")
	if err != nil {
		t.Fatal(err)
	}
	zr, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	data, err := zr.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pack returns the archive of a case. Equal content in two states is stored once, and content of the
// dictionary not at all.
func (c *frozenCase) pack(dictionary []byte) ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	zw, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(32<<20), zstd.WithEncoderConcurrency(1), zstd.WithEncoderDictRaw(1, dictionary))
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	put := func(name string, mode fs.FileMode, data []byte) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(mode.Perm()), Size: int64(len(data)), ModTime: frozenTime}
		if mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
		}
		err = errors.Join(err, tw.WriteHeader(h))
		_, werr := tw.Write(data)
		err = errors.Join(err, werr)
	}
	put("case.json", 0o644, text)
	for _, s := range c.States {
		for _, f := range c.files[s.Name] {
			put(s.Name+"/"+f.name, f.mode, f.data)
		}
	}
	err = errors.Join(err, tw.Close(), zw.Close())
	return b.Bytes(), err
}

// newDecoder returns a decoder for any number of archives, one after the other.
func newDecoder(dictionary []byte) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxWindow(64<<20), zstd.WithDecoderConcurrency(1), zstd.WithDecoderDictRaw(1, dictionary))
}

func unpack(name string, archive []byte, zr *zstd.Decoder) (*frozenCase, error) {
	c := &frozenCase{name: name, files: map[string][]file{}}
	if err := zr.Reset(bytes.NewReader(archive)); err != nil {
		return nil, err
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return nil, err
		}
		if h.Name == "case.json" {
			if err := json.Unmarshal(data, c); err != nil {
				return nil, err
			}
			continue
		}
		stateName, rel, _ := strings.Cut(strings.TrimSuffix(h.Name, "/"), "/")
		c.files[stateName] = append(c.files[stateName], file{rel, h.FileInfo().Mode(), data})
	}
}

const exportName = "export.jsonl"

// snapshot returns the content of the agents' stores below a home, without mend's files. For a database it
// returns the rows, or with bytes the bytes of its files.
func snapshot(home string, bytes bool) (map[string]string, error) {
	files, err := readHome(home)
	if err != nil {
		return nil, err
	}
	return snapshotFiles(files, bytes)
}

func snapshotFiles(files []file, bytes bool) (map[string]string, error) {
	all := map[string]string{}
	for _, f := range files {
		inOurs := slices.Contains(strings.Split(f.name, "/"), ".mend") || f.name == exportName || strings.HasPrefix(f.name, ".local/state")
		isSide := strings.HasSuffix(f.name, "-wal") || strings.HasSuffix(f.name, "-shm")
		if inOurs || strings.Contains(f.name, "thread-writer-locks") || isSide && (!bytes || len(f.data) == 0 || strings.HasSuffix(f.name, "-shm")) {
			continue
		}
		if ext := filepath.Ext(f.name); !bytes && (ext == ".db" || ext == ".sqlite") {
			if err := addRows(all, files, f); err != nil {
				return nil, err
			}
			continue
		}
		all[f.name] = f.mode.String() + " " + string(f.data)
	}
	return all, nil
}

// addRows adds the rows of a database. It reads a copy, because a reader may change the side files of a database.
func addRows(all map[string]string, files []file, db file) error {
	dir, err := os.MkdirTemp(scratch, "rows-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal"} {
		for _, f := range files {
			if f.name == db.name+suffix {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, "x.db"+suffix), f.data, 0o600))
			}
		}
	}
	rows, rerr := damage.Snapshot(filepath.Join(dir, "x.db"))
	if err := errors.Join(err, rerr); err != nil {
		return fmt.Errorf("reading the rows of %s: %w", db.name, err)
	}
	for key, row := range rows {
		all[db.name+" "+key] = row
	}
	return nil
}
