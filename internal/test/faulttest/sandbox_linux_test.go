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
	"mend/internal/test/claude"
	"mend/internal/test/dbtest"
	"mend/internal/test/faulttest"
	"mend/journal"
	"mend/testdata"
)

// A sandbox is a store with a journal and a cache, all below one folder. The path of the store stays the same, because the
// journal identifies the store by its path.
type sandbox struct {
	*testing.T
	scenario
	mend    faulttest.Program
	wrong   bool   // mend has a deliberate bug
	disk    *disk  // the sandbox's disk; nil for memory
	live    string // the folder
	saved   state  // the state before the verb
	store   string // in live: the root of the tree, or the database
	session string
	first   string // the id of the first repair
	settled int    // number of entries in the journal before the change

	before, after snapshot
	damaged       snapshot         // the bytes of a database with a damaged page
	calls         []faulttest.Call // of the change

	// Results for states that were checked before.
	known       map[digest]snapshot // by the bytes of the database
	found       map[digest]*cutState
	ended       map[digest]*recoveredState
	settlements map[digest]*settlement
}

func (sb *sandbox) subtest(t *testing.T) *sandbox {
	in := *sb
	in.T = t
	if sb.disk != nil {
		d := *sb.disk
		d.T = t
		in.disk = &d
	}
	return &in
}

// A snapshot is the stored content, by name: from damage.Snapshot, with the forgotten entries of the journal, and with the
// copies for verbs that make them.
type snapshot map[string]string

// fastDir returns a folder in memory if possible, because each cut syncs often.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mend-fault-") //nolint:usetesting // TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newSandbox returns a sandbox on the disk, or in memory if d is nil.
func newSandbox(t *testing.T, d *disk, bin binaries, s scenario) *sandbox {
	t.Helper()
	if d == nil {
		return newSandboxIn(t, nil, fastDir(t), bin, s)
	}
	return newSandboxIn(t, d, d.mount, bin, s)
}

// newSandboxIn creates a sandbox with a damaged store in the folder, prepares the state before the verb of s, and records the
// changes and the calls of the verb.
func newSandboxIn(t *testing.T, d *disk, dir string, bin binaries, s scenario) *sandbox {
	t.Helper()
	sb := &sandbox{
		T: t, scenario: s, wrong: bin.wrong, disk: d, live: filepath.Join(dir, "live"),
		known: map[digest]snapshot{}, found: map[digest]*cutState{}, ended: map[digest]*recoveredState{},
		settlements: map[digest]*settlement{},
	}
	data := filepath.Join(sb.live, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.kind == lines {
		sb.session = claude.Session
	} else if s.kind == rollouts {
		sb.session = testdata.CodexSession
	} else if sb.session, err = testdata.Unpack(archives[s.kind], data); err != nil {
		t.Fatal(err)
	}
	sb.mend = faulttest.Program{Path: bin.mend, Filtered: bin.filtered, Dir: sb.live, Env: []string{
		"GOGC=off", // no verb runs long enough to need it
		"HOME=" + sb.live, "XDG_DATA_HOME=" + data, "TMPDIR=" + filepath.Join(dir, "tmp"),
		"XDG_STATE_HOME=" + filepath.Join(sb.live, "state"), "XDG_CACHE_HOME=" + filepath.Join(sb.live, "cache"),
	}}
	sb.store = filepath.Join(data, "opencode", "opencode.db")
	switch s.kind {
	case tree:
		sb.store = filepath.Join(data, "opencode", "storage")
	case lines:
		sb.store = filepath.Join(data, "claude")
	case rollouts:
		sb.store = filepath.Join(data, "codex")
	case sqlite, newest:
	}
	if s.kind == newest { // OpenCode 1.18 answers no prompt in a session without its folder
		dbtest.Alter(t, sb.store, "UPDATE session SET directory = '"+dir+"'")
	}
	if s.wal {
		sb.leaveWal(sb.damageStore)
	} else {
		sb.damageStore()
	}
	if s.pages {
		sb.damagePage()
		sb.damaged = sb.bytes()
	}
	if s.name == cleanSnapshots().name {
		sb.keepSnapshots()
	}
	for _, verb := range s.setup {
		if code, out := sb.runUnfiltered(verb...); code > 1 { // 1: something remains to be repaired
			t.Fatalf("mend %s: exit code %d:\n%s", strings.Join(verb, " "), code, out)
		}
		if es := sb.entries(); len(es) > 0 { // a copy has no entry
			sb.first, sb.settled = es[len(es)-1].ID, len(es)
		}
	}
	sb.mend.Now = time.Now()
	sb.saved = sb.state()
	sb.measure()
	if sb.half != nil && sb.disk == nil {
		sb.restore(sb.saved)
		sb.kill()
		sb.saved = sb.state()
	}
	return sb
}

// measure records the content of the store before and after the change, and the calls of the change.
func (sb *sandbox) measure() {
	sb.Helper()
	sb.before = sb.snapshot()
	r := sb.run(faulttest.Fault{}, sb.change()...)
	if r.Code != 0 {
		sb.Fatalf("%s: exit code %d:\n%s%s", sb.name, r.Code, r.Out, r.Err)
	}
	sb.after, sb.calls = sb.snapshot(), r.Calls
	if maps.Equal(sb.before, sb.after) {
		sb.Fatalf("%s changes nothing", sb.name)
	}
}

// begin restores the state before the verb. On a disk it syncs that state and kills the change of the scenario again, so that
// the writes of the change are not synced.
func (sb *sandbox) begin() {
	sb.Helper()
	sb.restore(sb.saved)
	if sb.disk == nil {
		return
	}
	sb.disk.sync()
	if sb.half != nil {
		sb.kill()
	}
}

// kill kills the scenario's change.
func (sb *sandbox) kill() {
	sb.Helper()
	sb.run(faulttest.Fault{At: sb.half(sb.calls), Action: faulttest.Kill}, sb.change()...)
}

// run runs a verb of mend on the store, with a fault.
func (sb *sandbox) run(f faulttest.Fault, verb ...string) faulttest.Result {
	sb.Helper()
	return run(sb.T, sb.mend, f, sb.args(verb)...)
}

func (sb *sandbox) args(verb []string) []string {
	args := slices.Clone(verb)
	for i, a := range args {
		switch a {
		case "SESSION":
			args[i] = sb.session
		case "FOLDER":
			if args[i] = "/home/user/project"; sb.kind == rollouts {
				args[i] = "/home/user/src/cx/base/work"
			}
		case "ID":
			args[i] = sb.first
		case "LAST":
			args[i] = sb.entries()[0].ID
		}
	}
	return append(args, "--store", sb.store)
}

// runUnfiltered runs a verb without stopping its calls.
func (sb *sandbox) runUnfiltered(verb ...string) (code int, out string) {
	sb.Helper()
	ctx, cancel := context.WithTimeout(sb.Context(), verbTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, sb.mend.Path, sb.args(verb)...)
	cmd.Env, cmd.Dir = sb.mend.Env, sb.mend.Dir
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		sb.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// verbTimeout is the maximum duration of a verb.
const verbTimeout = 30 * time.Second

func (sb *sandbox) journal() string { return filepath.Join(sb.live, "state", "mend") }

// entries returns the entries of the journal, newest first.
func (sb *sandbox) entries() []change.Entry {
	sb.Helper()
	j, err := journal.Open(sb.journal(), journal.Options{ReadOnly: true})
	if err != nil {
		sb.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	es, err := j.List(journal.Query{})
	if err != nil {
		sb.Fatal(err)
	}
	return es
}

// verify checks every byte of the journal.
func (sb *sandbox) verify() error {
	j, err := journal.Open(sb.journal(), journal.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = j.Verify("")
	return errors.Join(err, j.Close())
}
