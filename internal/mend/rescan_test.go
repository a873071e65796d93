package mend

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/testdata"
)

// blank blanks the text without changing the size.
func blank(data []byte) []byte {
	return []byte(strings.Replace(string(data), `"Running."`, `"        "`, 1))
}

// TestRescan: after these changes of a tree or the cache, the next scan reads the changed session only.
func TestRescan(t *testing.T) {
	rows := []struct {
		name string
		do   func(b *scanFixture)
		read int
		want []string
	}{
		{"nothing", func(*scanFixture) {}, 0, nil},
		{"rewritten with the same size and mtime", func(b *scanFixture) {
			name := b.part()
			info, err := os.Stat(name)
			b.must(err)
			data, err := os.ReadFile(name)
			b.must(err)
			b.must(os.WriteFile(name, blank(data), 0o644))
			b.must(os.Chtimes(name, info.ModTime(), info.ModTime()))
		}, 1, []string{"R11"}},
		{"replaced by another file of the same size and mtime", func(b *scanFixture) {
			name := b.part()
			info, err := os.Stat(name)
			b.must(err)
			data, err := os.ReadFile(name)
			b.must(err)
			b.must(os.WriteFile(name+".new", blank(data), 0o644))
			b.must(os.Chtimes(name+".new", info.ModTime(), info.ModTime()))
			b.must(os.Rename(name+".new", name))
		}, 1, []string{"R11"}},
		{"a removed part", func(b *scanFixture) { b.must(os.Remove(b.part())) }, 1, nil},
		{"an added part", func(b *scanFixture) {
			name := b.part()
			b.must(os.WriteFile(filepath.Join(filepath.Dir(name), "prt_zzz.json"), []byte("{"), 0o644))
		}, 1, []string{"unreadable"}},
		{"a link with the name of a message", func(b *scanFixture) {
			b.must(os.Symlink("/", filepath.Join(b.dir, "opencode/storage/message", b.id, "msg_z.json")))
		}, 1, []string{"stray"}},
		{"a backup beside a part", func(b *scanFixture) { b.must(os.WriteFile(b.part()+".bak", nil, 0o644)) }, 1, []string{"beside"}},
		{"a file among the messages", func(b *scanFixture) {
			b.must(os.WriteFile(filepath.Join(b.dir, "opencode/storage/message", b.id, "Thumbs.db"), nil, 0o644))
		}, 1, []string{"beside"}},
		{"a hidden file beside a part", func(b *scanFixture) {
			b.must(os.WriteFile(filepath.Join(filepath.Dir(b.part()), ".DS_Store"), nil, 0o644))
		}, 0, nil},
		{"an empty folder with the name of a part", func(b *scanFixture) {
			b.must(os.Mkdir(filepath.Join(filepath.Dir(b.part()), "prt_zzz.json"), 0o755))
		}, 1, nil},
		{"a file in place of a folder of parts", func(b *scanFixture) {
			folder := filepath.Dir(b.part())
			b.must(os.RemoveAll(folder))
			b.must(os.WriteFile(folder, nil, 0o644))
		}, 1, []string{"nothing", "stray"}},
		{"the session's record", func(b *scanFixture) {
			found, err := filepath.Glob(filepath.Join(b.dir, "opencode/storage/session/*/"+b.id+".json"))
			b.must(err)
			b.must(os.WriteFile(found[0], []byte("{}"), 0o644))
		}, 1, []string{"session"}},
		{"the cache is cut short", func(b *scanFixture) { b.edit(func(data []byte) []byte { return data[:len(data)-9] }) }, 1, nil},
		{"a bit of the cache is wrong", func(b *scanFixture) { b.edit(func(data []byte) []byte { data[len(data)/2] ^= 1; return data }) }, 1, nil},
		{"the cache is empty", func(b *scanFixture) { b.edit(func([]byte) []byte { return nil }) }, 1, nil},
		{"the cache is gone", func(b *scanFixture) { b.must(os.RemoveAll(b.opt.Cache)) }, 1, nil},
		{"the cache has bytes after its end", func(b *scanFixture) { b.edit(func(data []byte) []byte { return append(data, "?\n"...) }) }, 1, nil},
		{"another version of mend", func(b *scanFixture) { b.opt.Journal.Version = "2" }, 1, nil},
		{"for another version of the agent", func(b *scanFixture) { b.opt.AgentVersion = "1.0.185" }, 1, nil},
		{"thinking switched", func(b *scanFixture) { b.opt.Thinking = new(bool) }, 1, nil},
		{"the session is about to be written", func(b *scanFixture) {
			c, err := Open(b.opt)
			b.must(err)
			c.cache().Forget(b.id)
		}, 1, nil},
		{"another session is about to be written", func(b *scanFixture) {
			c, err := Open(b.opt)
			b.must(err)
			c.cache().Forget("ses_other")
		}, 0, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			b := newScanFixture(t, testdata.OpenCode1153)
			b.want("the first scan", 1)
			b.want("again", 0)
			r.do(b)
			b.want("then", r.read, r.want...)
		})
	}
}

// TestRescanBelow: a change of a file in a folder among the parts is noticed, too. A session with files beside its
// records is not read more often than others.
func TestRescanBelow(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode1153)
	folder := filepath.Join(filepath.Dir(b.part()), "prt_zzz.json", "in")
	b.must(os.MkdirAll(folder, 0o755))
	b.want("the first scan", 1)
	b.want("again", 0)
	b.must(os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o644))
	b.want("with a file in the folder", 1, "beside")
	b.want("again", 0, "beside")
	b.must(os.Remove(filepath.Join(folder, "notes.txt")))
	b.want("without", 1)
}

// edit changes the cache file.
func (b *scanFixture) edit(f func([]byte) []byte) {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.opt.Cache, "*"))
	b.must(err)
	if len(found) != 1 {
		b.t.Fatalf("the cache has the files %v, want one", found)
	}
	data, err := os.ReadFile(found[0])
	b.must(err)
	b.must(os.WriteFile(found[0], f(data), 0o600))
}

// TestRescanReportsTheSame: a finding from the cache is the same as the finding that was cached.
func TestRescanReportsTheSame(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode1153)
	data, err := os.ReadFile(b.part())
	b.must(err)
	b.must(os.WriteFile(b.part(), blank(data), 0o644))
	found := func() (all []Finding) {
		c, err := Open(b.opt)
		b.must(err)
		c.clock = func() time.Time { return time.Now().Add(time.Hour) }
		heads, err := c.Sessions(t.Context())
		b.must(err)
		return slices.Collect(c.Scan(t.Context(), heads))
	}
	first, again := found(), found()
	if len(first) != 1 || len(first[0].Diagnoses) != 1 {
		t.Fatalf("the first scan found %v, want one finding", first)
	}
	if diff := cmp.Diff(first, again, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
		t.Errorf("the second scan found something else (-first +second):\n%s", diff)
	}
}

func unexported(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && f.Name() == "finding"
}

// TestRescanOfYoungRecords: a session is read again if a change after the scan may have left the same stamp.
func TestRescanOfYoungRecords(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode1153)
	b.clock = 0
	b.want("the first scan", 1)
	b.clock = time.Hour
	b.want("again, later", 1)
	b.want("once more", 0)
}

// TestRescanOfShortLivedResults: the cached result of a session with an unfinished answer is used only if no process
// has the store open, neither at the first scan nor at the second.
func TestRescanOfShortLivedResults(t *testing.T) {
	unfinished := strings.NewReplacer(`"completed"`, `"x"`, `"finish"`, `"y"`)
	rows := []struct {
		name          string
		first, second bool // a process has the store open at that scan
		read          int
	}{
		{"no process", false, false, 0},
		{"a process starts", false, true, 1},
		{"a process ends", true, false, 1},
		{"a process runs", true, true, 1},
	}
	for _, r := range rows {
		b := newScanFixture(t, testdata.OpenCode1153)
		found, err := filepath.Glob(filepath.Join(b.dir, "opencode/storage/message/*/*.json"))
		b.must(err)
		for _, name := range found {
			data, err := os.ReadFile(name)
			b.must(err)
			b.must(os.WriteFile(name, []byte(unfinished.Replace(string(data))), 0o644))
		}
		b.held = r.first
		b.scan()
		b.held = r.second
		if _, read := b.scan(); read != r.read {
			t.Errorf("%s: %d sessions were read again, want %d", r.name, read, r.read)
		}
	}
}

// TestScansAtTheSameTime: scans at the same time find the same, and leave a cache that can be used.
func TestScansAtTheSameTime(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode1153)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := Open(b.opt)
			if err != nil {
				t.Error(err)
				return
			}
			c.clock = func() time.Time { return time.Now().Add(time.Hour) }
			heads, err := c.Sessions(t.Context())
			if err != nil {
				t.Error(err)
			}
			for f := range c.Scan(t.Context(), heads) {
				if f.Err != nil || len(f.Diagnoses) > 0 {
					t.Errorf("Scan found %v, %v", f.Diagnoses, f.Err)
				}
			}
		})
	}
	wg.Wait()
	b.want("afterwards", 0)
}
