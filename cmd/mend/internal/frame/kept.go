package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// DamagedCopies returns the paths of damaged files of copies that were set aside before a time.
func DamagedCopies(env *Env, before time.Time) []string {
	dir, err := env.Opt.Journal.Folder()
	if err != nil {
		return nil
	}
	all, _ := keep.DamagedFiles(dir, before) // an unreadable folder is reported elsewhere
	return all
}

// UsesCopies reports whether a path is the folder of "mend keep --to", or leads to the file of copies in it. If so,
// the command reads these copies instead of the local ones.
func (env *Env) UsesCopies(path string) bool {
	if path == "" {
		return false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	if dir := filepath.Dir(path); path == keep.Path(dir) {
		path = dir
	}
	for _, dir := range []string{filepath.Join(path, "mend"), path} {
		if _, err := os.Lstat(keep.Path(dir)); err == nil {
			env.Opt.Journal.Copies = dir
			return true
		}
	}
	return false
}

// RemakeText describes how a missing store is created again, so that the command in restore can restore its sessions.
func (env *Env) RemakeText(store change.StoreID, restore string) string {
	if env.Opt.Agents.Folders(store) != nil {
		return restore + " creates it again"
	}
	return fmt.Sprintf("start %s once, so that its store exists; then %s", agents.Title(store), restore)
}

// NoStore returns the error for a session whose store is missing.
func (s NamedSession) NoStore(env *Env) error {
	return fail.New(fail.Problems, env.RemakeText(s.StoreID, env.CommandLine("restore", s.ID)),
		"session %s was kept, but its store no longer exists: %s", s.ID, term.ShortenHome(s.StoreID.Root))
}

// ListWithoutStore returns the sessions with a copy whose store is missing.
func ListWithoutStore(ctx context.Context, env *Env, clients []*mend.Store, k *keep.Keep) (all []Restorable, err error) {
	if k == nil || env.Opt.Store != "" {
		return nil, nil
	}
	found, err := env.Opt.Agents.MissingStoreSessions(ctx, k, clients)
	for _, r := range found {
		all = append(all, Restorable{Restorable: r})
	}
	return all, err
}

// WithKept runs f with the kept copies open for reading. If they cannot be used, it prints a note, sets env.Unkept to
// the reason, and runs f with nil.
func WithKept(env *Env, f func(*keep.Keep) error) error {
	opened := false
	err := env.Opt.Journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
		opened = true
		return f(k)
	})
	if opened || err == nil {
		return err
	}
	env.Unkept = fmt.Errorf("the copies cannot be read: %w", err)
	env.NoteSkipped(env.Unkept)
	if errors.Is(err, keep.ErrDamaged) {
		command := "mend keep"
		if copies := env.Opt.Journal.Copies; copies != "" {
			command += " --to " + ShellWord(filepath.Dir(copies))
		}
		env.Note(fmt.Sprintf("%q copies the readable part of the damaged file to a new one", command))
	}
	return f(nil)
}

// UnkeptError returns the error of a verb that needs the copies, if they cannot be read; a note has the reason.
func (env *Env) UnkeptError(doing string) error {
	code, hint := fail.Classify(env.Unkept)
	return fail.New(code, hint, "%s, and the copies cannot be read", doing)
}

// OpenLost opens the store of a session, as [openFound] does, or returns an error if that store is missing. unread is
// the error of the skipped stores: OpenLost prints it, and returns it as left.
func OpenLost(ctx context.Context, env *Env, s *NamedSession, unread error, write bool) (c *mend.Store, left, err error) {
	switch {
	case errors.Is(unread, mend.ErrNoStore):
		left = &ReportedError{unread} // the other error is more specific
	case unread != nil:
		left = env.SkipStore(ctx, nil, unread)
	}
	if s.Store == nil {
		return nil, left, s.NoStore(env)
	}
	all, err := openFound(ctx, env, []NamedSession{*s}, write)
	if err == nil {
		s.Head = all[0].Named[0]
	}
	return s.Store, left, err
}

// IsKept reports whether a session has a copy.
func (env *Env) IsKept(session string) bool {
	if env.kept == nil {
		env.kept = map[string]bool{}
		_ = WithKept(env, func(k *keep.Keep) error { // unreadable copies cause a note
			if k == nil {
				return nil
			}
			return k.Each(keep.Query{}, func(s *keep.State) { env.kept[s.Session] = true })
		})
	}
	return env.kept[session]
}

// A Restorable is a session that can be restored, with its store.
type Restorable struct {
	mend.Restorable
	Store *mend.Store // nil if the store is missing
}

// StoreID returns the id of the store that the session belongs to.
func (x Restorable) StoreID() change.StoreID {
	if x.Store == nil {
		return *x.Gone
	}
	return x.Store.ID()
}

// NamedSession converts x to a session that the user can name.
func (x Restorable) NamedSession() NamedSession { return NamedSession{x.Session, x.StoreID(), x.Store} }

// ListRestorable returns the restorable sessions of the stores: those of the current folder first, and in each group
// the newest first. It also returns the worst of left and the errors of the stores that cannot be read.
func ListRestorable(ctx context.Context, env *Env, clients []*mend.Store, k *keep.Keep, left error) (all []Restorable, _ error) {
	for _, c := range clients {
		found, err := c.Restorables(ctx, k)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			left = env.SkipStore(ctx, left, err)
		}
		for _, r := range found {
			all = append(all, Restorable{r, c})
		}
	}
	storeless, err := ListWithoutStore(ctx, env, clients, k)
	if err != nil && left == nil { // otherwise it was reported
		left = env.SkipStore(ctx, left, err)
	}
	all = append(all, storeless...)
	slices.SortStableFunc(all, func(a, b Restorable) int { return b.Time().Compare(a.Time()) })
	var heads []change.Head
	for _, x := range all {
		heads = append(heads, x.Session)
	}
	here := mend.Here(heads, show.WorkingFolder())
	request.MoveFirst(all, func(x Restorable) bool { return here(x.Session) })
	return all, left
}

// MessagesText returns how many messages a session and its copy have, or where a session without a copy is.
func MessagesText(x Restorable) string {
	switch {
	case x.Kept > 0 && x.Missing > 0:
		return fmt.Sprintf("%d messages, kept %d, %s missing", x.Now, x.Kept, term.CountWords(x.Missing, "item", "items"))
	case x.Kept > 0:
		return fmt.Sprintf("%d messages, kept %d", x.Now, x.Kept)
	case x.State == mend.PromptsOnly:
		return "typed in " + term.OneLine(term.ShortenHome(x.Session.Directory), 60)
	case x.Other != "":
		return "in " + term.OneLine(term.ShortenHome(x.Other), 60)
	}
	return fmt.Sprintf("%d messages", x.Now)
}

// ProposeRestore plans to restore a session, if necessary from a copy.
func ProposeRestore(ctx context.Context, env *Env, c *mend.Store, head change.Head, r mend.RestoreRequest) (done mend.Restored, err error) {
	err = WithKept(env, func(k *keep.Keep) (err error) {
		done, err = c.ProposeRestore(ctx, k, head, r)
		if k == nil && (errors.Is(err, mend.ErrNothingKept) || err == nil && len(done.Plan.Ops) == 0) {
			err = env.UnkeptError(fmt.Sprintf("restoring session %s: nothing of it was found in the stores", head.ID))
		}
		return err
	})
	return done, err
}

// ApplyRestore restores a session. It drops the ops of the plan, which may be as large as the session, to free their
// memory before the session is examined.
func ApplyRestore(b *Batch, c *mend.Store, done *mend.Restored) error {
	if done.IsAside() {
		return applyAside(b, c, done)
	}
	plan := done.Plan
	done.Plan.Ops = nil
	if _, err := b.Apply(c, plan); err != nil || done.From == nil && done.Other == "" {
		return err
	}
	// The copy may be of an archived session, or name a project that was replaced since.
	rows, err := c.ProposeRepair(b.Ctx, done.Session, repair.Request{Restore: true, Force: true})
	if err != nil || len(rows.Plan.Ops) == 0 {
		return nil
	}
	_, err = b.Apply(c, rows.Plan)
	return err
}

// applyAside restores a session whose transcript is large: it is built beside the store, and moved.
func applyAside(b *Batch, c *mend.Store, done *mend.Restored) error {
	if len(done.Files.Ops) > 0 {
		if _, err := b.Apply(c, done.Files); err != nil {
			return err
		}
		done.Plan.Seen = nil
	}
	var discard func()
	err := b.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: b.Ctx}, func(k *keep.Keep) (err error) {
		discard, err = c.BuildAside(b.Ctx, k, *done)
		return err
	})
	if err != nil {
		return err
	}
	defer discard()
	_, err = b.Apply(c, done.Plan)
	return err
}

// StateTexts describe the states of restorable sessions.
var StateTexts = map[string]string{
	string(repair.Archived):  "It is archived.",
	string(repair.Hidden):    "Its agent does not list it.",
	string(repair.NotLoaded): "Its agent finds no conversation in it.",
	mend.Deleted:             "The agent no longer has any of it.",
	mend.Shortened:           "It lacks messages, parts, files or texts that its copy has.",
	mend.Undone:              "Its agent removed messages that its copy has, as after /undo.",
	mend.Replaced:            "Its messages differ from those in its copy.",
	mend.Elsewhere:           "It is in a store that its agent does not read.",
	mend.PromptsOnly:         "The agent deleted it. What you typed is left; the answers are lost.",
}

// PrintRestore describes a restore.
func PrintRestore(env *Env, head change.Head, done mend.Restored) {
	if text := StateTexts[done.State]; text != "" && len(done.Fixed) == 0 {
		env.SayAt(2, "%s", text)
	}
	switch from := done.From; {
	case len(done.Plan.Ops) == 0 && done.State != "":
		env.SayAt(2, "It already has the content of that time.")
	case len(done.Plan.Ops) == 0:
		env.SayAt(2, "Nothing of its conversation is missing. Files of the project that are gone, as after git clean, are not part of it: mend does not bring those back.")
	case done.State == mend.PromptsOnly:
		env.SayAt(2, "%s, after a note that tells the model what is missing. %s stays as it is.", term.CountWords(done.Messages-1, "prompt comes back", "prompts come back"), term.ShortenHome(done.Other))
	case done.Other != "":
		env.SayAt(2, "It is in %s with %s, and is copied into this store. The original stays unchanged.", term.ShortenHome(done.Other), term.Count(done.Messages, "message"))
	case from == nil && strings.HasPrefix(done.State, "before"):
		env.SayAt(2, "It is restored to its state %s: %s from the journal.", done.State, term.Count(len(done.Plan.Ops), "change"))
	case from == nil:
		for _, d := range done.Fixed {
			env.SayAt(2, "%s", term.OneLine(d.Why, 400))
			env.SayAt(2, "After the restore: %s", term.OneLine(strings.ToLower(d.Fix[:1])+d.Fix[1:], 400))
		}
	default:
		env.SayAt(2, "It was kept on %s, %s, with %s; it has %d now.", from.Time.Local().Format(time.DateTime), term.Age(time.Since(from.Time)), term.Count(from.Messages, "message"), done.Now)
		if other := done.Beside; other != nil {
			when := "later"
			if other.Time.Before(from.Time) {
				when = "earlier"
			}
			env.SayAt(2, "It was also kept %s, on %s, with %s: for that, %s.", when, other.Time.Local().Format(time.DateTime), term.Count(other.Messages, "message"), term.Command(env.CommandLine("restore", head.ID, "--at", other.ID)))
		}
		if done.Joined {
			env.SayAt(2, "What it has now stays, and what is missing is added: %s in all.", term.Count(done.Messages, "message"))
		}
	}
	if done.Unread != "" {
		env.SayAt(2, "%s it is not complete. Not read: %s.", term.Warn("note:"), term.OneLine(done.Unread, 300))
	}
}
