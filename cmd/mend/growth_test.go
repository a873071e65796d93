package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/bigstore"
	"mend/internal/test/storetest"
)

// A growth lists command lines that run one after another on stores of n, 2n and 4n sessions or turns.
type growth struct {
	kind  string // kind of stores, see [growthHome.write]
	n     int
	store func(n int) bigstore.Uniform
	each  int // bytes that a line may hold for each session or turn
	fixed int // bytes that a line may hold besides, see [pages]
	lines []growthLine
}

type growthLine struct {
	line string // without mend, see [growthHome.run]
	each int    // bytes that it may hold besides, for each session or turn
	more int    // bytes that it may hold besides, in all
}

// Bytes that a line may hold.
const (
	aSession = 1 << 10 // for each listed session
	anOp     = 300     // for each op of the one session that is changed, besides its records

	// Up to 256 pages of the journal or the copies that are read, and the changes of a transaction.
	pages = 5 << 19
	// For keep: the copies that are collected before they are written, and then their pages.
	collected = 6 << 20
	// For forget: the keys of 10,000 images that are removed in one transaction.
	removed = 1 << 20
)

// removeStores is not a command line: it moves the stores to the folder SAVED, and creates stores of one
// session.
const removeStores = "(remove)"

// changeRecords is not a command line: it appends a space to each record of a tree, as another program could.
const changeRecords = "(change)"

func small(n int) bigstore.Uniform { return bigstore.Uniform{Sessions: n, Turns: 1} }

func large(n int) bigstore.Uniform {
	return bigstore.Uniform{Sessions: n, Turns: 1, Answer: strings.Repeat("It is done. ", 20_000)}
}

const (
	turnSize  = 3_300   // bytes of the records of a turn in a tree
	largeTurn = 240_000 // bytes of a large turn in a transcript
)

func largeLong(n int) bigstore.Uniform {
	return bigstore.Uniform{Sessions: 2, Turns: n, Answer: strings.Repeat("It is done. ", largeTurn/12)}
}

func long(n int) bigstore.Uniform { return bigstore.Uniform{Sessions: 1, Turns: n} }

// brokenMany returns sessions in which two calls have the same id, which the provider of OpenCode refuses. The provider
// of Claude Code refuses the characters of the id.
func brokenMany(n int) bigstore.Uniform {
	return bigstore.Uniform{Sessions: n, Turns: 2, CallID: brokenCall}
}

func brokenLong(n int) bigstore.Uniform {
	return bigstore.Uniform{Sessions: 1, Turns: n, CallID: brokenCall}
}

func brokenCall(turn int) string { return fmt.Sprintf("toolu.%d", turn/2) }

func sharedLong(n int) bigstore.Uniform {
	return bigstore.Uniform{Sessions: 1, Turns: n, CallID: func(int) string { return "toolu_1" }}
}

var growths = []growth{
	// Many small sessions.
	{"tree", storetest.Count(750, 100), small, aSession, pages, []growthLine{
		{"scan", 0, 0},
		{"scan", 0, 0},
		{"keep", 0, collected},
		{"keep", 0, 0},
		{"restore", 0, 0},
		{"move OLD NEW --dry-run", 0, 0},
		{"move", 0, 0},
		{"clean", 0, 0},
		{"status", 0, 0},
		{removeStores, 0, 0},
		{"restore", 0, 0},
	}},
	// Each session is changed by 11 ops. The ops of one session are held at once.
	{"tree", storetest.Count(150, 4), small, aSession, pages, []growthLine{
		{"move OLD NEW --yes", 0, 0},
		{"undo --yes", 0, 0},
		{"undo --redo --yes", 0, 0},
		{"undo --yes", 0, 0},
		{"clean sessions --folder OLD --yes", 0, 0},
		{"undo --yes", 0, 0},
		{"keep", 0, collected},
		{removeStores, 0, 0},
		{"restore --all --yes", 0, 0},
		{"forget op-qevajo --yes", 0, removed},
		{"forget --older-than 0s --yes", 2 * aSession, removed}, // the repair, the copy and its blobs of each
	}},
	// Each session is in conflict. The conflicts of one session are held at once.
	{"tree", storetest.Count(150, 4), small, aSession, pages, []growthLine{
		{"clean sessions --folder OLD --yes", 0, 0},
		{"undo --yes", 0, 0},
		{changeRecords, 0, 0},
		{"undo --redo --yes", 0, 0},
	}},
	// One session. A move has one op, and reads no message.
	{"tree", storetest.Count(100, 4), long, 0, pages, lines("move OLD NEW --yes", "undo --yes")},
	// One session, with 11 ops for each turn, which the store lists, too, and the records of the turn in the plan. A
	// redo, a restore and its undo also read the session.
	{"tree", storetest.Count(100, 4), long, 11*anOp + 2*turnSize, pages, []growthLine{
		{"clean sessions @ --yes", 0, 0},
		{"undo --yes", 0, 0},
		{"undo --redo --yes", turnSize, 0},
		{"undo --yes", 0, 0},
		{"keep", 0, collected},
		{removeStores, 0, 0},
		{"restore @ --yes", turnSize, 0},
		{"undo --yes", turnSize, 0},
	}},
	{"database", 4, brokenMany, aSession, 4 << 20, lines(
		"scan --json", "fix messages.5.content.0:tool_use_ids_must_be_unique --dry-run", "repair --yes --agent opencode",
		"undo --yes",
	)},
	// One session, which is in memory as a whole: less than 4 MB at these sizes.
	{"database", 16, long, 0, 4 << 20, lines(
		"scan", "keep", "trim @ --yes --to 1", "uncompact @ --yes", "clean images --yes", "clean sessions @ --yes", "undo --yes",
	)},
	{"database", 16, brokenLong, 0, 4 << 20, lines(
		"scan", "scan @ --request", "report @", "repair @ --yes", "undo --yes", "forget qevajo --yes",
	)},
	{"database", 16, sharedLong, 0, 4 << 20, lines("scan")},
}

// largeGrowths limit what a line holds of large records. A plain run does not measure that.
var largeGrowths = []growth{
	// Large records: only a few are held at once.
	{"tree", 8, large, aSession, 8 << 20, lines(
		"move OLD NEW --yes", "undo --yes", "redo --yes", "clean sessions --folder NEW --yes", "undo --yes", "keep",
		"log", "show op-qevajo --json", "verify", "recover", "clean images --yes", "gc --older-than 0s --yes",
		removeStores, "restore --all --yes", "undo --yes", "restore --from SAVED --yes --agent opencode",
	)},
	{"database", 3, large, aSession, 8 << 20, lines(
		"move OLD NEW --yes", "undo --yes", "clean sessions --folder OLD --yes", "undo --yes", "keep",
		"forget op-qevajo --yes",
		removeStores, "restore --all --yes", "undo --yes",
	)},
	// Transcripts of 17 MB and more. A copy has one in memory; a restore writes it to a new file.
	{"transcripts", 72, largeLong, 0, 8 << 20, []growthLine{
		{"keep", largeTurn + 2000, 0},
		{removeStores, 0, 0},
		{"restore 00000001-0000-7000-8000-000000000000 --yes --agent claude", 0, 0},
		{"restore 00000001-0000-7000-8000-000000000000 --yes --agent codex", 0, 0},
		{"undo --yes", 0, 0},
		{"undo --redo --yes", 0, 0},
	}},
}

func lines(all ...string) (ls []growthLine) {
	for _, line := range all {
		ls = append(ls, growthLine{line, 0, 0})
	}
	return ls
}

// noGrowth has the reason for each verb without a line in growths.
var noGrowth = map[string]string{
	"clean events":    "one archive, which clean sessions makes, too",
	"clean pages":     "SQLite's VACUUM",
	"clean snapshots": "folders are moved",
	"completion":      "reads no store",
	"config":          "reads no store",
	"demo":            "makes its own store",
	"exit-codes":      "reads no store",
	"explain":         "reads no store",
	"flags":           "reads no store",
	"help":            "reads no store",
	"hook":            "reads one session, as scan and repair do",
	"install":         "reads no store",
	"salvage":         "internal/mend has a test of its growth",
	"ui":              "plans and applies as scan, repair, restore, undo and keep do",
	"version":         "reads no store",
	"watch":           "runs until it is ended, and examines one session as scan does",
}

// TestGrowthRows: each verb has a line in growths, or a reason in noGrowth.
func TestGrowthRows(t *testing.T) {
	listed := map[string]bool{}
	for _, g := range slices.Concat(growths, largeGrowths) {
		for _, l := range g.lines {
			words := strings.Fields(l.line)
			listed[words[0]] = true
			listed[strings.Join(words[:min(2, len(words))], " ")] = true
		}
	}
	root := newRoot(&frame.Env{Terminal: &term.Terminal{}})
	eachCommand(root, func(cmd *cobra.Command) {
		name := frame.CommandName(cmd)
		top, _, _ := strings.Cut(name, " ")
		if cmd != root && !listed[name] && noGrowth[name] == "" && noGrowth[top] == "" {
			t.Errorf("mend %s has no line in growths, and no reason in noGrowth", name)
		}
	})
}

// TestGrowth: on a store of twice the size, a line makes at most 2.5 times as many allocations, of 2.5 times as many
// bytes, and a few more; quadratic growth would make 4 times as many. With all cases the size is doubled again, and the
// bytes that a line holds are at most the limit of its row, at each size.
func TestGrowth(t *testing.T) {
	storetest.Long(t)
	sizes, all := []int{1, 2}, growths
	if storetest.AllCases() {
		sizes, all = append(sizes, 4), slices.Concat(growths, largeGrowths)
		const percent = 10 // held bytes are measured at each collection
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
		t.Setenv("GOGC", fmt.Sprint(percent))
	}
	for i, g := range all {
		t.Run(fmt.Sprintf("%d_%s", i, g.kind), func(t *testing.T) {
			g.n = max(min(g.n, 4), g.n/storetest.Count(1, 2))
			g.run(t, max(2, g.n/4), func(do func()) { do() }) // makes the one-time allocations
			var costs [][]cost
			for _, size := range sizes {
				var all []cost
				g.run(t, size*g.n, func(do func()) { all = append(all, measureCost(do)) })
				costs = append(costs, all)
			}
			for k, l := range g.lines {
				for i, size := range sizes {
					n, held := size*g.n, costs[i][k].held
					most := n*(g.each+l.each) + g.fixed + l.more
					if t.Logf("mend %s holds %d bytes of %d on a store of %d", l.line, held, most, n); storetest.AllCases() && held > most {
						t.Errorf("mend %s holds %d bytes on a store of %d, and may hold %d", l.line, held, n, most)
					}
				}
				for i := range costs[1:] {
					one, two := costs[i][k], costs[i+1][k]
					grows := func(before, after, few int) bool { return after > 5*before/2+few }
					if grows(one.calls, two.calls, 1000) || grows(one.bytes, two.bytes, 4<<20) {
						t.Errorf("mend %s costs %+v on a store of %d, and %+v on twice that", l.line, one, sizes[i]*g.n, two)
					}
				}
			}
		})
	}
}

// run runs the lines on stores of n sessions or turns, each by a call of measure.
func (g growth) run(t *testing.T, n int, measure func(do func())) {
	t.Helper()
	h := newGrowthHome(t, g.kind, g.store(n))
	for step, l := range g.lines {
		h.age(step)
		measure(func() { h.run(l.line) })
	}
}

// A cost is the number of allocations of a function, their bytes, and how many of the bytes it holds.
type cost struct{ calls, bytes, held int }

// measureCost returns the cost of do. The bytes it holds are measured if [storetest.AllCases]: that takes several
// collections. Otherwise none runs, so that pools are as empty in each measurement.
func measureCost(do func()) (c cost) {
	runtime.GC()
	runtime.GC()
	allocations := func() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		c.calls, c.bytes = int(after.Mallocs-before.Mallocs), int(after.TotalAlloc-before.TotalAlloc)
	}
	if storetest.AllCases() {
		c.held = heldBytes(allocations)
		return c
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	allocations()
	return c
}

// heldBytes calls do and returns how many bytes it holds: the maximum that is in use at four collections in a row.
func heldBytes(do func()) int {
	var live []uint64
	var over atomic.Bool
	done := make(chan struct{})
	var sample func()
	sample = func() { // after each collection
		if over.Load() {
			close(done)
			return
		}
		m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(m)
		live = append(live, m[0].Value.Uint64())
		runtime.SetFinalizer(new([16]byte), func(*[16]byte) { sample() })
	}
	sample()
	do()
	over.Store(true)
	for ended := false; !ended; {
		runtime.GC()
		select {
		case <-done:
			ended = true
		case <-time.After(time.Millisecond): // a sample was being taken
		}
	}
	held := live[0]
	for i := range live {
		if i >= 4 {
			held = max(held, slices.Min(live[i-3:i+1]))
		}
	}
	return int(held - live[0])
}

// A growthHome is a home folder with stores.
type growthHome struct {
	*testing.T
	dir  string
	kind string
	has  bigstore.Uniform

	changed bool // see changeRecords
}

// newGrowthHome makes stores of a kind: a tree, or a database with the stores of Claude Code and Codex.
func newGrowthHome(t *testing.T, kind string, u bigstore.Uniform) *growthHome {
	t.Helper()
	h := &growthHome{T: t, dir: newHome(t), kind: kind, has: u}
	h.has.Folder = h.path("old")
	t.Chdir(h.dir) // reports are written there
	for _, name := range []string{"old", "new", "saved"} {
		if err := os.Mkdir(h.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.write(h.has)
	return h
}

func (h *growthHome) path(name string) string { return filepath.Join(h.dir, name) }

func (h *growthHome) write(u bigstore.Uniform) {
	h.Helper()
	data := h.path(".local/share")
	err := os.MkdirAll(data, 0o755)
	switch h.kind {
	case "tree":
		err = errors.Join(err, bigstore.Tree(data, u.Mix))
	case "database":
		err = errors.Join(err, bigstore.Database(data, u.Mix))
		fallthrough
	default:
		err = errors.Join(err, u.Transcripts(h.path(".claude")), u.Rollouts(h.path(".codex")))
	}
	if err != nil {
		h.Fatal(err)
	}
}

// growthStores are the folders of the stores.
var growthStores = []string{".local/share/opencode", ".claude", ".codex"}

// age makes the files written in the last step older, because mend does not cache the result of a file that was just
// written.
func (h *growthHome) age(step int) {
	h.Helper()
	now := time.Now()
	old := now.Add(time.Duration(step)*time.Minute - 24*time.Hour)
	for _, store := range growthStores {
		err := filepath.WalkDir(h.path(store), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && now.Sub(info.ModTime()) < time.Hour {
				err = os.Chtimes(path, old, old)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.Fatal(err)
		}
	}
}

// run runs a command line in this process. OLD is the folder of the sessions, NEW another one.
func (h *growthHome) run(line string) {
	h.Helper()
	if line == removeStores {
		for _, store := range growthStores {
			err := os.Rename(h.path(store), h.path(filepath.Join("saved", filepath.Base(store))))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				h.Fatal(err)
			}
		}
		h.write(bigstore.Uniform{Sessions: 1, Turns: 1, Folder: h.has.Folder})
		return
	}
	if line == changeRecords {
		h.changeRecords()
		return
	}
	saved := map[string]string{"tree": "saved/opencode/storage", "database": "saved/opencode/opencode.db"}[h.kind]
	var out lastText
	env := &frame.Env{Terminal: &term.Terminal{In: &bytes.Buffer{}, Out: &out, Err: &out}}
	root := newRoot(env)
	names := strings.NewReplacer("OLD", h.path("old"), "NEW", h.path("new"), "SAVED", h.path(saved))
	root.SetArgs(strings.Fields(names.Replace(line)))
	want := []int{frame.ExitDone, frame.ExitProblems, frame.ExitRefused}
	if h.changed {
		want = []int{frame.ExitConflict}
	}
	if exit := env.Report(root.ExecuteContext(h.Context())); !slices.Contains(want, exit) {
		h.Fatalf("mend %s: exit code %d\n%s", line, exit, out)
	}
}

func (h *growthHome) changeRecords() {
	h.Helper()
	h.changed = true
	err := filepath.WalkDir(h.path(".local/share/opencode/storage"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(path, append(data, ' '), 0o600))
	})
	if err != nil {
		h.Fatal(err)
	}
}

// A lastText keeps the end of what is written to it.
type lastText []byte

func (l *lastText) Write(p []byte) (int, error) {
	*l = append(*l, p...)
	*l = append((*l)[:0], (*l)[max(0, len(*l)-2000):]...)
	return len(p), nil
}
