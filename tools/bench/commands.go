package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mend/journal"
)

// A bench is the lab with the commands, by their places.
type bench struct {
	*lab
	all [commands]command
}

// table measures the commands and tells the rows.
func (l *lab) table(parts, rounds int) (*table, error) {
	b := bench{lab: l}
	for _, add := range []func(int) error{b.trees, b.databases, b.varied, b.transcripts, b.firstFinding, b.journals, b.small, b.strips, b.rewrites} {
		if err := add(parts); err != nil {
			return nil, err
		}
	}
	costs, err := l.measure(rounds, b.all[:])
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, r := range rows {
		t.add(r, costs[r.is], costs[r.of])
	}
	return t, nil
}

// mend returns a command line of mend on a store.
func (b *bench) mend(s store, args ...string) []string {
	return append([]string{b.path("mend"), "--store", s.data}, args...)
}

func (b *bench) trees(parts int) error {
	tree, err := b.store("tree", parts, 1)
	if err != nil {
		return err
	}
	changed, err := onePart(tree.storage())
	if err != nil {
		return err
	}
	touch := func() error {
		data, err := os.ReadFile(changed)
		return errors.Join(err, os.WriteFile(changed, data, 0o644))
	}
	cache, scan := b.path("cache"), b.mend(tree, "scan")
	read := []string{b.path("readall"), tree.storage(), "2"}
	b.all[readTree] = command{args: read, before: once(read)}
	b.all[statTree] = command{args: []string{b.path("readall"), tree.storage(), "2", "stat"}}
	b.all[loadTree] = command{args: []string{b.path("load"), tree.data}}
	b.all[scanTree] = command{args: scan}
	b.all[bunOnePass] = b.bun("floor/tree.ts", tree.storage(), "1")
	b.all[bunFivePasses] = b.bun("floor/tree.ts", tree.storage(), "5")
	b.all[bunFivePasses].most = 3
	b.all[againTree] = command{args: scan, cache: cache}
	b.all[changedTree] = command{args: scan, cache: cache + "-changed", before: touch}
	b.all[status] = command{args: b.mend(tree, "status"), cache: cache, repeat: 5}
	const why = "only root may empty the cache"
	b.all[readCold] = command{args: []string{b.path("readall"), tree.storage(), "32"}, before: b.dropCaches, most: 3, last: true}
	b.all[scanCold] = command{args: scan, before: b.dropCaches, most: 3, last: true}
	if os.Geteuid() != 0 {
		b.all[readCold].missing, b.all[scanCold].missing = why, why
	}
	return b.warm(againTree, changedTree)
}

// transcripts adds commands on sessions of Claude Code, one for each ten parts of the other stores.
func (b *bench) transcripts(parts int) error {
	dir := b.path(fmt.Sprintf("transcripts-%d", parts/10))
	if err := b.makeOnce(dir, b.path("make"), "transcripts", fmt.Sprint(parts/10)); err != nil {
		return err
	}
	root := filepath.Join(dir, ".claude")
	read := []string{b.path("readall"), root, "2", "walk"}
	scan := []string{b.path("mend"), "--store", root, "scan"}
	b.all[readTranscripts] = command{args: read, before: once(read)}
	b.all[statTranscripts] = command{args: []string{b.path("readall"), root, "2", "stat"}}
	b.all[scanTranscripts] = command{args: scan}
	b.all[bunTranscripts] = b.bun("floor/transcripts.ts", filepath.Join(root, "projects"))
	b.all[againTranscripts] = command{args: scan, cache: b.path("cache-transcripts")}

	dir = b.path("broken-transcripts-100")
	if err := b.makeOnce(dir, b.path("make"), "broken-transcripts", "100"); err != nil {
		return err
	}
	id, err := os.ReadFile(filepath.Join(dir, "session"))
	if err != nil {
		return err
	}
	mend, state := []string{b.path("mend"), "--store", filepath.Join(dir, ".claude")}, b.path("state-transcripts")
	b.all[repairTranscript] = command{args: append(mend, "repair", string(id), "--force", "--yes"), state: state, until: "Repaired"}
	b.all[undoTranscript] = command{args: append(mend, "undo", "--session", string(id), "--yes"), state: state, until: "Undone"}
	return b.warm(againTranscripts, repairTranscript, undoTranscript)
}

// once runs a command without measuring it, so that what it reads is in the cache.
func once(args []string) func() error {
	return func() error { return exec.Command(args[0], args[1:]...).Run() }
}

// warm runs commands that shall be measured on what was scanned before.
func (b *bench) warm(commands ...int) error {
	var all []command
	for _, i := range commands {
		all = append(all, b.all[i])
	}
	return b.runAll(all)
}

// dropCaches empties the cache of all disks but for the programs, which the system
// then keeps in smaller pages than before: each start of one takes longer from then on.
func (b *bench) dropCaches() error {
	err := exec.Command("sync").Run()
	if err == nil {
		err = os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0)
	}
	for _, args := range [][]string{{b.path("mend"), "version"}, {b.path("readall"), b.path(fmt.Sprint("journal-", few)), "1"}} {
		if err == nil {
			err = exec.Command(args[0], args[1:]...).Run()
		}
	}
	return err
}

// onePart returns a part of the first session of a tree that has any. It lists no more
// folders than it needs, so that this process stays small.
func onePart(storage string) (string, error) {
	sessions, err := os.ReadDir(filepath.Join(storage, "message"))
	for _, s := range sessions {
		messages, merr := os.ReadDir(filepath.Join(storage, "message", s.Name()))
		err = errors.Join(err, merr)
		for _, m := range messages {
			dir := filepath.Join(storage, "part", strings.TrimSuffix(m.Name(), ".json"))
			if parts, perr := os.ReadDir(dir); perr == nil && len(parts) > 0 {
				return filepath.Join(dir, parts[0].Name()), nil
			}
		}
	}
	return "", fmt.Errorf("no parts in %s: %w", storage, err)
}

func (b *bench) databases(parts int) error {
	db, err := b.store("db", parts, 1)
	if err != nil {
		return err
	}
	file := filepath.Join(db.data, "opencode.db")
	read := []string{b.path("readall"), filepath.Dir(db.data), "1"}
	b.all[readDB] = command{args: read, before: once(read)}
	b.all[bunDB] = b.bun("floor/scan.ts", file)
	b.all[statDB] = command{args: []string{b.path("stat"), file, file + "-wal"}, repeat: 5}
	b.all[scanDB] = command{args: b.mend(db, "scan")}
	b.all[againDB] = command{args: b.mend(db, "scan"), cache: b.path("cache"), repeat: 5}
	return b.warm(againDB)
}

// varied adds commands on sessions as people have them.
func (b *bench) varied(parts int) error {
	tree, err := b.store("varied-tree", parts, 0)
	if err != nil {
		return err
	}
	db, err := b.store("varied-db", parts, 0)
	if err != nil {
		return err
	}
	read := []string{b.path("readall"), tree.storage(), "2"}
	b.all[readVariedTree] = command{args: read, before: once(read)}
	b.all[scanVariedTree] = command{args: b.mend(tree, "scan")}
	file := []string{b.path("readall"), filepath.Dir(db.data), "1"}
	b.all[bunVariedDB] = b.bun("floor/scan.ts", filepath.Join(db.data, "opencode.db"))
	b.all[bunVariedDB].before = once(file)
	b.all[scanVariedDB] = command{args: b.mend(db, "scan")}
	return nil
}

// firstFinding adds a command on a store in which a call of the newest session never ended:
// that session is the first.
func (b *bench) firstFinding(parts int) error {
	tree, err := b.store("tree", 3*parts, 1)
	b.all[first] = command{args: b.mend(tree, "scan"), until: "unfinished", most: 3}
	return err
}

// few is how many repairs there are in a journal that is not large: those that log
// is asked for.
const few = 20

func (b *bench) journals(int) error {
	for _, j := range []struct{ repairs, log, show int }{{few, logFew, showFew}, {10_000, logMany, showMany}} {
		state, err := b.journal(j.repairs)
		if err != nil {
			return err
		}
		b.all[j.log] = command{args: []string{b.path("mend"), "log", "-n", fmt.Sprint(few)}, state: state, repeat: 10}
		b.all[j.show] = command{args: []string{b.path("mend"), "show", journal.IDOf(5)}, state: state, repeat: 10}
	}
	b.all[nothing] = command{args: []string{b.path("empty")}, repeat: 10}
	b.all[flushed] = command{args: []string{b.path("flush"), b.path("flushed"), "6"}, repeat: 3}
	return nil
}

// small adds commands on a store of one session in which one call never ended. The journal
// is used for all of its repairs, so that most find room in it.
func (b *bench) small(int) error {
	tree, err := b.store("tree", 100, 1)
	if err != nil {
		return err
	}
	tree, reset := b.copyOf(tree, "copy-small")
	state := b.path("state-small")
	if err := errors.Join(b.discard(state), reset()); err != nil {
		return err
	}
	fix := command{args: b.mend(tree, "repair", tree.session, "--latent", "--force", "--yes"), state: state, until: "Repaired"}
	back := command{args: b.mend(tree, "undo", "--session", tree.session, "--yes"), state: state, until: "Undone"}
	b.all[repair], b.all[undo] = fix, back
	fix.count, back.count = true, true
	b.all[repairCounted], b.all[undoCounted] = fix, back
	return b.warm(repair, undo, repair, undo, repair, undo)
}

// strips adds commands that remove the thinking from a session of 500 messages.
func (b *bench) strips(int) error {
	tree, err := b.store("tree", 2600, 0)
	if err != nil {
		return err
	}
	floor, resetFloor := b.copyOf(tree, "copy-strip-floor")
	b.all[stripFloor] = command{args: []string{b.path("strip"), floor.storage(), floor.session, b.path("stripped")}, before: resetFloor}
	onBun, resetOnBun := b.copyOf(tree, "copy-strip-bun")
	b.all[stripBun] = b.bun("floor/strip.ts", onBun.storage(), onBun.session)
	b.all[stripBun].before = resetOnBun
	tree, reset := b.copyOf(tree, "copy-strip")
	b.all[strip] = b.writing(reset, b.mend(tree, "repair", tree.session, "--class", "thinking_disabled_violation", "--thinking", "off", "--force", "--yes"))
	return nil
}

// rewrites adds commands on a session of which 1,000 calls never ended.
func (b *bench) rewrites(int) error {
	tree, err := b.store("tree", 2600, 1000)
	if err != nil {
		return err
	}
	floor, resetFloor := b.copyOf(tree, "copy-rewrite-floor")
	b.all[rewriteFloor] = command{args: []string{b.path("renameio"), floor.storage()}, before: resetFloor}
	tree, reset := b.copyOf(tree, "copy-rewrite")
	b.all[rewrite] = b.writing(reset, b.mend(tree, "repair", tree.session, "--latent", "--force", "--yes"))
	return nil
}

// writing returns a command on a store that is made for each run, with a journal in
// which nothing of that store is yet.
func (b *bench) writing(reset func() error, args []string) command {
	state := b.path("state-writing")
	return command{args: args, state: state, until: "Repaired", before: func() error {
		err := b.discard(state)
		if err == nil {
			err = os.CopyFS(state, os.DirFS(b.path(fmt.Sprint("journal-", few))))
		}
		return errors.Join(err, reset())
	}}
}
