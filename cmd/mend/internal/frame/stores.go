package frame

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
	"mend/txn"
)

// SelectAgent restricts the options to the agent of --agent.
func (env *Env) SelectAgent() error {
	if env.AgentName == "" {
		return nil
	}
	i := slices.IndexFunc(agents.All, func(ag agent.Agent) bool { return ag.Name() == env.AgentName })
	if i < 0 {
		return Usagef("--agent %s: no such agent; name %s", env.AgentName, agents.Names())
	}
	env.Opt.Agents = agents.All[i : i+1]
	return nil
}

// AgentOptions returns the options for each agent that has a store here, or only the command's own options if the
// user names a store or an agent, or if there is no store. It prints a note about each folder of an agent that cannot
// be read or has another problem, and returns the last of these errors.
func AgentOptions(env *Env) (all []mend.Options, unread error) {
	if env.Opt.Store != "" || env.AgentName != "" {
		return []mend.Options{env.Opt}, nil
	}
	var unreadable []error
	for _, ag := range env.Opt.Agents {
		found, err := ag.Find()
		if denied, ok := errors.AsType[*fs.PathError](err); ok && (errors.Is(denied, fs.ErrPermission) || errors.Is(denied, agent.ErrLink)) {
			unreadable = append(unreadable, fail.New(fail.Unusable, "", "sessions in %s are not examined: %w", filepath.Dir(denied.Path), denied.Err))
		} else if err == nil && len(found) > 0 {
			o := env.Opt
			o.Agents = []agent.Agent{ag}
			all = append(all, o)
		} else if err != nil && !errors.Is(err, mend.ErrNoStore) {
			unreadable = append(unreadable, err)
		}
	}
	if len(all) == 0 {
		return []mend.Options{env.Opt}, nil
	}
	for _, err := range unreadable {
		env.NoteSkipped(err)
		unread = &ReportedError{err}
	}
	return all, unread
}

// OpenAll opens the store of each agent. It returns the stores that can be opened, with the worst error of
// the others.
func OpenAll(ctx context.Context, env *Env, write bool) (all []*mend.Store, left error) {
	options, left := AgentOptions(env)
	for _, o := range options {
		c, err := OpenWith(ctx, env, o, write)
		switch {
		case err == nil:
			all = append(all, c)
		case ExitCode(err) == ExitUsage:
			return nil, err // the same for all stores
		default:
			left = env.SkipStore(ctx, left, err)
		}
	}
	return all, left
}

// SkipStore prints the error of a store, so that the verb can continue with the others. It returns the worse of err
// and left, the result for earlier stores.
func (env *Env) SkipStore(ctx context.Context, left, err error) error {
	if !env.JSON && ctx.Err() == nil {
		env.PrintError(err)
		err = &ReportedError{err}
	}
	return fail.Worst(left, err)
}

// Both returns the worse of left, which [Env.SkipStore] has printed, and err. If there are two errors, it prints err.
func (env *Env) Both(ctx context.Context, left, err error) error {
	if _, printed := errors.AsType[*ReportedError](err); left == nil || err == nil || printed || errors.Is(err, ErrProblems) {
		return fail.Worst(left, err)
	}
	return env.SkipStore(ctx, left, err)
}

// ByteProgress returns a function that shows progress in bytes, and one that removes it.
func (env *Env) ByteProgress(what string) (show func(done, total int64), clear func()) {
	const step = 1 << 20
	var p *term.Progress
	steps := int64(0)
	show = func(done, total int64) {
		if p == nil {
			p = env.Progress(int(total/step)+1, what)
		}
		for ; steps < done/step; steps++ {
			p.Step()
		}
	}
	return show, func() {
		if p != nil {
			p.Clear()
		}
	}
}

// OpenAt opens the store at a path instead of the one that the user named.
func (env *Env) OpenAt(root string) (*mend.Store, error) {
	o := env.Opt
	o.Store = root
	return mend.Open(o)
}

// NamedStore returns the id of the store that the user named, nil for none.
func (env *Env) NamedStore() (*change.StoreID, error) {
	if env.Opt.Store == "" {
		return nil, nil
	}
	c, err := mend.Open(env.Opt)
	if err != nil {
		return nil, err
	}
	return new(c.ID()), nil
}

// OpenWith opens a store. For a verb that writes it first recovers pending repairs.
func OpenWith(ctx context.Context, env *Env, o mend.Options, write bool) (*mend.Store, error) {
	c, err := mend.Open(o)
	if err == nil {
		_, err = prepare(ctx, env, c, write)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// prepare prepares a store for a verb. A verb that writes first recovers the changes that a crash interrupted; for any
// other verb they are only reported. It returns whether it recovered any.
func prepare(ctx context.Context, env *Env, c *mend.Store, write bool) (recovered bool, _ error) {
	if gcPercent := 200; os.Getenv("GOGC") == "" { // a scan needs little memory
		if write {
			gcPercent = 10 // a write saves memory rather than time
		}
		debug.SetGCPercent(gcPercent)
	}
	if v := env.Opt.AgentVersion; v != "" && !semver.IsValid("v"+v) {
		return false, Usagef("--agent-version %s: want a version such as 1.1.53", v)
	}
	WarnAbandoned(env.Terminal, env.Opt.Journal, c)
	if !write {
		warnPending(ctx, env, c)
		return false, nil
	}
	done, err := c.Recover(ctx, false)
	for _, e := range done {
		env.PrintErr("Recovered the pending repair %s: %s.\n", e.ID, mend.StateWord(e.State))
		if e.State == change.Conflicted {
			env.Message("     ", "%s", term.Faint(ResolveHint(e.ID)))
		}
	}
	if left, ok := errors.AsType[txn.UndecidedError](err); ok { // only a plan for the same records fails, later
		for _, e := range left {
			printPending(env, e.Entry)
		}
		err = nil
	}
	return len(done) > 0, err
}

// warnPending reports pending repairs, which verbs that only read do not recover. Without a readable journal these
// verbs continue.
func warnPending(ctx context.Context, env *Env, c *mend.Store) {
	pending, err := c.Log(ctx, journal.Query{State: change.Pending})
	if err != nil {
		env.PrintError(err)
	}
	for _, e := range pending {
		printPending(env, e)
	}
}

func printPending(env *Env, e change.Entry) {
	env.Message(term.Warn("mend:"), "repair %s is pending: %s", e.ID, env.WithStore(`run "mend recover"`))
}

// WarnAbandoned reports staged changes without an entry in this journal.
func WarnAbandoned(t *term.Terminal, l *mend.Journal, c *mend.Store) {
	var found []string
	if own, err := l.ID(); err == nil { // a verb that needs the journal reports the error
		found, _ = c.Reader().ListAbandoned(own)
	}
	for _, path := range found {
		t.Message(term.Warn("mend:"), "%s belongs to a change of another journal: another mend is running, or one was interrupted and its journal is lost. mend does not touch it", path)
	}
}

// ResolveHint returns the hint for a conflict.
func ResolveHint(id string) string {
	return fmt.Sprintf("another program changed the same records: \"mend log %[1]s\" shows them, \"mend recover %[1]s\" resolves the conflict", id)
}

// PrintHolders prints which processes have the databases open, if the error is about a locked database.
func PrintHolders(ctx context.Context, env *Env, e repair.APIError) {
	if text := strings.ToLower(e.Text); e.About != request.AboutStore || !strings.Contains(text, "lock") && !strings.Contains(text, "busy") {
		return
	}
	options, _ := AgentOptions(env) // a note has the error
	for _, o := range options {
		c, err := mend.Open(o)
		if err != nil {
			continue
		}
		if err := c.Reader().CheckFree(ctx); err != nil {
			env.Say("%s.", term.ShortenHome(err.Error()))
		} else {
			env.Say("No process has %s open now.", term.ShortenHome(c.ID().Root))
		}
	}
}

// Sweep removes mend's files beside the stores that no repair needs, and completes a forget that was killed. It
// returns the size in bytes of these files.
func Sweep(ctx context.Context, env *Env) (freed int64, err error) {
	paths := map[string]bool{env.Opt.Store: true}
	none := true
	for e, failed := range env.Opt.Journal.Each(journal.Query{}) {
		none, err = false, failed
		paths[e.Store.Root] = true
	}
	if err == nil && !none {
		_, err = env.Opt.Journal.Forget(ctx, nil)
	}
	if path, errPath := env.Opt.Journal.Folder(); errPath == nil && err == nil {
		if _, missing := os.Lstat(keep.Path(path)); missing == nil {
			err = env.Opt.Journal.Kept(keep.Options{Context: ctx, Notice: env.Note}, func(*keep.Keep) error { return nil })
		}
	}
	if err != nil {
		return 0, err
	}
	for _, l := range env.Opt.Agents.Stores() {
		paths[l.Path] = true
	}
	delete(paths, "")
	for path := range paths {
		n := int64(0)
		c, errOne := env.OpenAt(path)
		if errOne == nil {
			n, errOne = c.Sweep(ctx)
		}
		gone := errors.Is(errOne, mend.ErrNoStore) || errors.Is(errOne, fs.ErrNotExist) && path != env.Opt.Store
		if freed += n; errOne != nil && !gone { // the files beside a missing store are gone, too
			err = env.SkipStore(ctx, err, errOne)
		}
	}
	return freed, err
}

// LargestChecked is the size in bytes up to which each scan checks a changed file as a whole, which takes 2 seconds
// per GB. A larger file is checked only if a session is broken, because a damaged file would prevent its repair.
const LargestChecked = 1 << 30

// CheckFile returns the damage of the store's file as a whole, or nil; most is as for [mend.Store.CheckFile]. If the
// file cannot be checked, it prints a note.
func CheckFile(ctx context.Context, t *term.Terminal, c *mend.Store, most int64) error {
	err := c.CheckFile(ctx, most)
	if _, damaged := errors.AsType[*change.DamagedError](err); err == nil || damaged || ctx.Err() != nil {
		return err
	}
	t.Note(err.Error())
	return nil
}

// NextStore prints the path of a store, and the version and the setting that it is judged by, after a blank line if it
// is not the first.
func (env *Env) NextStore(c *mend.Store) {
	if env.stores++; env.stores > 1 {
		env.Printf("\n")
	}
	line := term.ShortenHome(c.ID().Root)
	v := c.Version("")
	if note := v.Note(); note != "" {
		line += ", requests of " + agents.Title(c.ID()) + " " + note
	} else if v.Name != "" {
		line += ", " + agents.Title(c.ID()) + " " + term.OneLine(v.Name, 30)
	}
	if t := show.ThinkingText(env.Opt.Thinking); t != "" {
		line += ", with thinking " + t
	}
	env.Printf("%s\n", term.Faint(line))
	if other := c.Reader().Former(); other != "" {
		env.Printf("%s\n", term.Faint("(the agent no longer reads "+term.ShortenHome(other)+")"))
	}
	env.Printf("\n")
}

// A WatchedStore is a store for package watch.
type WatchedStore struct {
	*mend.Store
	agent.Reader
}
