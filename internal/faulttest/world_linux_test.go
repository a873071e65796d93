package faulttest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/faulttest"
	"mend/journal"
	"mend/testdata"
)

// A world is a store with a journal and a cache, all below one folder. Its path
// stays the same, since the journal knows the store by it.
type world struct {
	*testing.T
	scenario
	mend    faulttest.Program
	wrong   bool   // that is no mend as it should be
	disk    *disk  // what it is on; nil for memory
	live    string // the folder
	saved   state  // how it is when the verb begins, or what that one was killed in
	store   string // in live: the folder of the tree, or the database
	session string
	first   string // the id of the first repair
	settled int    // how many entries the journal has before the change

	before, after snapshot
	calls         []faulttest.Call // of the change

	// What is known already, of states that have come before.
	known       map[digest]snapshot // by the bytes of the database
	found       map[digest]*finding
	ended       map[digest]*ending
	settlements map[digest]*settlement
}

// in is the world in a test below the one that made it.
func (w *world) in(t *testing.T) *world {
	in := *w
	in.T = t
	if w.disk != nil {
		d := *w.disk
		d.T = t
		in.disk = &d
	}
	return &in
}

// A snapshot is what is stored, by name: damage.Snapshot, and which entries of the
// journal have lost their bytes.
type snapshot map[string]string

// fastDir is a folder in memory where there is one: each cut flushes often.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mend-fault-") //nolint:usetesting // TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newWorld makes a world on the disk, or in memory.
func newWorld(t *testing.T, d *disk, bin binaries, s scenario) *world {
	t.Helper()
	if d == nil {
		return newWorldIn(t, nil, fastDir(t), bin, s)
	}
	return newWorldIn(t, d, d.mount, bin, s)
}

// newWorldIn makes a damaged store in the folder, brings it to where the verb of
// s begins, and measures what the verb changes.
func newWorldIn(t *testing.T, d *disk, dir string, bin binaries, s scenario) *world {
	t.Helper()
	w := &world{
		T: t, scenario: s, wrong: bin.wrong, disk: d, live: filepath.Join(dir, "live"),
		known: map[digest]snapshot{}, found: map[digest]*finding{}, ended: map[digest]*ending{},
		settlements: map[digest]*settlement{},
	}
	data := filepath.Join(w.live, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.session, err = testdata.Unpack(archives[s.kind], data); err != nil {
		t.Fatal(err)
	}
	w.mend = faulttest.Program{Path: bin.mend, Filtered: bin.filtered, Dir: w.live, Env: []string{
		"GOGC=off", // no verb lives long enough to need it
		"HOME=" + w.live, "XDG_DATA_HOME=" + data, "TMPDIR=" + filepath.Join(dir, "tmp"),
		"XDG_STATE_HOME=" + filepath.Join(w.live, "state"), "XDG_CACHE_HOME=" + filepath.Join(w.live, "cache"),
	}}
	w.store = filepath.Join(data, "opencode", "opencode.db")
	if s.kind == tree {
		w.store = filepath.Join(data, "opencode", "storage")
	}
	if s.wal {
		w.leaveWal(w.cut)
	} else {
		w.cut()
	}
	for _, verb := range s.setup {
		if code, out := w.plain(verb...); code > 1 { // 1: something is left for the next verb
			t.Fatalf("mend %s: exit code %d:\n%s", strings.Join(verb, " "), code, out)
		}
		es := w.entries()
		w.first, w.settled = es[len(es)-1].ID, len(es)
	}
	w.mend.Now = time.Now()
	w.saved = w.state()
	w.measure()
	if w.half != nil && w.disk == nil {
		w.restore(w.saved)
		w.kill()
		w.saved = w.state()
	}
	return w
}

// measure finds out what the store holds before and after the change, and of
// which calls it is made.
func (w *world) measure() {
	w.Helper()
	w.before = w.snapshot()
	r := w.run(faulttest.Fault{}, w.change()...)
	if r.Code != 0 {
		w.Fatalf("%s: exit code %d:\n%s%s", w.name, r.Code, r.Out, r.Err)
	}
	w.after, w.calls = w.snapshot(), r.Calls
	if maps.Equal(w.before, w.after) {
		w.Fatalf("%s changes nothing", w.name)
	}
}

// begin brings the world to where the verb begins. What a killed change wrote to
// a disk may then still be in memory alone.
func (w *world) begin() {
	w.Helper()
	w.restore(w.saved)
	if w.disk == nil {
		return
	}
	w.disk.sync()
	if w.half != nil {
		w.kill()
	}
}

// kill kills the change that the scenario is about.
func (w *world) kill() {
	w.Helper()
	w.run(faulttest.Fault{At: w.half(w.calls), Action: faulttest.Kill}, w.change()...)
}

// run runs a verb of mend on the store, with a fault.
func (w *world) run(f faulttest.Fault, verb ...string) faulttest.Result {
	w.Helper()
	return run(w.T, w.mend, f, w.args(verb)...)
}

func (w *world) args(verb []string) []string {
	args := slices.Clone(verb)
	for i, a := range args {
		switch a {
		case "SESSION":
			args[i] = w.session
		case "ID":
			args[i] = w.first
		case "LAST":
			args[i] = w.entries()[0].ID
		}
	}
	return append(args, "--store", w.store)
}

// plain runs a verb and lets its calls pass.
func (w *world) plain(verb ...string) (code int, out string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.mend.Path, w.args(verb)...)
	cmd.Env, cmd.Dir = w.mend.Env, w.mend.Dir
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// patience is how long a verb may take.
const patience = 30 * time.Second

func (w *world) journal() string { return filepath.Join(w.live, "state", "mend") }

// entries is what the journal holds, the newest first.
func (w *world) entries() []change.Entry {
	w.Helper()
	j, err := journal.Open(w.journal(), journal.Options{ReadOnly: true})
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	es, err := j.List(journal.Query{})
	if err != nil {
		w.Fatal(err)
	}
	return es
}

// verify checks every byte of the journal.
func (w *world) verify() error {
	j, err := journal.Open(w.journal(), journal.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = j.Verify()
	return errors.Join(err, j.Close())
}
