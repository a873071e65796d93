package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/internal/ui"
	"mend/internal/watch"
	"mend/journal"
	"mend/repair"
)

// UI returns the verb ui.
func UI(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "ui",
		Short: "Browse, repair and undo on one screen",
		Long: `The screen shows the sessions of all your agents, the broken ones first. Beside them it
shows the conversation of the selected session, with the broken places marked, and what a
repair would change. r repairs or restores a session, a repairs all broken ones, u undoes, c
shows the command that continues the session, ? lists all keys.

Changes by an agent appear within seconds. Nothing is written before you have seen it and
answered yes. Each change is written to the journal first, as with "mend fix", and can be
undone.`,
		Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUI(cmd.Context(), env) },
	}
}

func runUI(ctx context.Context, env *frame.Env) error {
	if env.JSON {
		return frame.Usagef("ui has no JSON answer; use mend scan --json")
	}
	if !env.CanAsk {
		return fail.New(fail.Refused, `"mend scan" and "mend fix" need no terminal`, "mend ui needs a terminal")
	}
	b := &uiBackend{Env: env, clients: map[string]*mend.Store{}, lost: map[uiKey]frame.Restorable{}}
	env.Opt.Note = b.addNote
	if err := b.open(); err != nil {
		return err
	}
	err := ui.Run(ctx, b, tea.WithInput(env.In), tea.WithOutput(env.Err))
	b.changing.Lock() // waits for the change in progress; it is never unlocked, so no other begins
	return err
}

// A uiKey names a session of a store.
type uiKey struct{ root, id string }

// A uiBackend implements the screen's reads and changes with the functions of the verbs.
type uiBackend struct {
	*frame.Env

	changing sync.Mutex // held while a change is written; reads continue
	stores   []string
	clients  map[string]*mend.Store     // by the root of the store
	lost     map[uiKey]frame.Restorable // restorable sessions

	mu    sync.Mutex // guards lost and notes
	notes []string
}

var _ ui.Backend = (*uiBackend)(nil)

// open opens the store that the user named, or all stores that are found. It fails if it can open none.
func (b *uiBackend) open() error {
	found := b.Opt.Agents.Stores()
	if b.Opt.Store != "" {
		found = []mend.Located{{Path: b.Opt.Store}}
	}
	failed := mend.ErrNoStore
	for _, at := range found {
		opt := b.Opt
		opt.Store, opt.Layout = at.Path, at.Layout
		c, err := mend.Open(opt)
		if err != nil {
			failed = err
			continue
		}
		root := c.ID().Root
		if former, err := filepath.EvalSymlinks(c.Reader().Former()); err == nil && former == root && b.Opt.Store == "" {
			b.addNote("the agent no longer reads " + term.ShortenHome(root))
			continue
		}
		if b.clients[root] == nil {
			b.clients[root] = c
			b.stores = append(b.stores, root)
		}
		pending, err := c.Log(b.Opt.Journal.Context, journal.Query{State: change.Pending})
		if err != nil {
			return err
		}
		for _, e := range pending {
			b.addNote(fmt.Sprintf(`repair %s is pending: the next change or "mend recover" finishes it`, e.ID))
		}
	}
	if len(b.stores) == 0 {
		return failed
	}
	if !errors.Is(failed, mend.ErrNoStore) {
		b.addNote("a store is not examined: " + failed.Error())
	}
	return nil
}

func (b *uiBackend) addNote(text string) { b.addMessage("note: " + text) }

func (b *uiBackend) addMessage(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// Notes implements [ui.Backend].
func (b *uiBackend) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notes)
}

// quiet returns an environment for running verbs. out gets their output; done shows their notes. The environment has
// its own journal, because verbs hold it while other goroutines read: see [mend.Journal.Hold].
func (b *uiBackend) quiet() (env *frame.Env, out *bytes.Buffer, done func()) {
	var notes bytes.Buffer
	out = &bytes.Buffer{}
	env = &frame.Env{Terminal: &term.Terminal{Out: out, Err: &notes}, Opt: b.Opt, AgentName: b.AgentName, Command: "undo"}
	env.Opt.Journal = b.Opt.Journal.Clone()
	return env, out, func() {
		if text := strings.Join(strings.Fields(ansi.Strip(notes.String())), " "); text != "" {
			b.addMessage(text)
		}
	}
}

// printLines returns the lines that print prints on a terminal with width columns; with 0 no line is wrapped or cut.
func (b *uiBackend) printLines(width int, print func(a *frame.Env) error) (lines []ui.Line, err error) {
	env, out, done := b.quiet()
	defer done()
	env.Width = width
	if err = print(env); errors.Is(err, frame.ErrProblems) {
		err = nil
	}
	for text := range strings.SplitSeq(strings.Trim(ansi.Strip(out.String()), "\n"), "\n") {
		bare := strings.TrimLeft(text, " ")
		line := ui.Line{Text: bare, Indent: len(text) - len(bare), Mark: strings.HasPrefix(bare, "▲")}
		if line.Mark {
			line.Style = ui.Bad
		}
		lines = append(lines, line)
	}
	return lines, err
}

// scanStep is how often a scan reports progress.
const scanStep = 100 * time.Millisecond

// Scan implements [ui.Backend].
func (b *uiBackend) Scan(ctx context.Context, report func(ui.Progress)) error {
	var failed error
	var p ui.Progress
	var clients []*mend.Store
	found := map[uiKey]ui.Session{}
	for _, root := range b.stores {
		c, err := b.OpenAt(root) // not the one in clients, which other goroutines use
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		cached := c.WithCache()
		heads, err := cached.Sessions(ctx)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		clients = append(clients, c)
		p.Total += len(heads)
		last := time.Now()
		failed = errors.Join(failed, cached.CheckFile(ctx, frame.LargestChecked))
		for f := range cached.Scan(ctx, heads) {
			p.Done++
			s := b.session(c.ID(), f)
			found[uiKey{root, s.ID}] = s
			p.Found = append(p.Found, s)
			if time.Since(last) >= scanStep {
				report(p)
				p.Found, last = nil, time.Now()
			}
		}
		report(p)
		p.Found = nil
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	lost, err := b.listLost(ctx, clients)
	for key, x := range lost {
		p.Found = append(p.Found, lostSession(found[key], x))
	}
	report(p)
	b.mu.Lock()
	b.lost = lost
	b.mu.Unlock()
	return errors.Join(failed, err)
}

// listLost returns the sessions that "mend restore" lists. Errors of the stores were reported before.
func (b *uiBackend) listLost(ctx context.Context, clients []*mend.Store) (lost map[uiKey]frame.Restorable, err error) {
	env, _, _ := b.quiet()
	lost = map[uiKey]frame.Restorable{}
	err = frame.WithKept(env, func(k *keep.Keep) error {
		all, _ := frame.ListRestorable(ctx, env, clients, k, nil)
		for _, x := range all {
			lost[uiKey{x.StoreID().Root, x.Session.ID}] = x
		}
		return ctx.Err()
	})
	return lost, err
}

// lostSession returns the line of a restorable session; found is its line from the scan, or the zero value.
func lostSession(found ui.Session, x frame.Restorable) ui.Session {
	if found.ID == "" {
		id := x.StoreID()
		found = ui.Session{
			ID: x.Session.ID, Store: id.Root, Agent: agents.Title(id), Title: x.Session.Title, Folder: term.ShortenHome(x.Session.Directory), Time: x.Time(),
		}
	}
	found.State = x.State // damage is repaired before missing content is restored
	found.Lost = found.Severity != show.SeverityWord(repair.Broken).Plain() || x.State != mend.Shortened && x.State != mend.Replaced
	found.What = cmp.Or(found.What, frame.MessagesText(x))
	return found
}

func (b *uiBackend) session(id change.StoreID, f mend.Finding) ui.Session {
	s := ui.Session{
		ID: f.Session.ID, Store: id.Root, Agent: agents.Title(id), Title: f.Session.Title, Folder: term.ShortenHome(f.Session.Directory),
		Severity: show.SeverityWord(f.Severity()).Plain(), State: string(f.Shown()), Busy: f.Busy,
	}
	if f.Severity() == repair.Note {
		s.Severity = show.SeverityWord(0).Plain()
	}
	if t := max(f.Session.Updated, f.Session.Created); t > 0 {
		s.Time = time.UnixMilli(t)
	}
	for _, d := range f.Diagnoses {
		if d.Severity == f.Severity() && d.Severity != repair.Note {
			s.What = show.ClassWords(string(d.Class))
			break
		}
	}
	if f.Err != nil {
		s.What = "cannot be examined"
	}
	return s
}

// restorable returns a restorable session.
func (b *uiBackend) restorable(key uiKey) (x frame.Restorable, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x, known = b.lost[key]
	return x, known
}

// withSession runs f with a session's store and its head. listed is false if the store does not have the session.
func (b *uiBackend) withSession(ctx context.Context, s ui.Session, f func(c *mend.Store, h change.Head, listed bool) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	x, known := b.restorable(uiKey{s.Store, s.ID})
	c := b.clients[s.Store]
	switch {
	case c == nil && known:
		return x.NamedSession().NoStore(b.Env)
	case c == nil:
		return mend.ErrNoSession
	}
	h, err := c.Session(ctx, s.ID)
	if errors.Is(err, mend.ErrNoSession) && known {
		return f(c, x.Session, false)
	}
	if err != nil {
		return err
	}
	return f(c, h, true)
}

// proposeRestore plans to restore a session. If the store does not have the session, h needs only the id.
func (b *uiBackend) proposeRestore(ctx context.Context, c *mend.Store, h change.Head) (done mend.Restored, err error) {
	env, _, note := b.quiet()
	defer note()
	err = frame.WithKept(env, func(k *keep.Keep) (err error) {
		if h.Ref == (change.Ref{}) {
			gone, unread, err := c.Gone(ctx, k)
			i := slices.IndexFunc(gone, func(g change.Head) bool { return g.ID == h.ID })
			if i < 0 {
				return cmp.Or(err, unread, mend.ErrNoSession)
			}
			h = gone[i]
		}
		done, err = c.ProposeRestore(ctx, k, h, mend.RestoreRequest{})
		return err
	})
	return done, err
}

// Examine implements [ui.Backend].
func (b *uiBackend) Examine(ctx context.Context, s ui.Session) (line ui.Session, err error) {
	c, key := b.clients[s.Store], uiKey{s.Store, s.ID}
	x, known := b.restorable(key)
	if c == nil {
		s.Gone = !known
		return lostSession(s, x), nil
	}
	h, err := c.Session(ctx, s.ID)
	listed := err == nil
	if errors.Is(err, mend.ErrNoSession) {
		h, err = change.Head{ID: s.ID}, nil
	}
	if err != nil {
		return s, err
	}
	if listed {
		f, err := c.ScanOne(ctx, h)
		if ctx.Err() != nil || err != nil && f.Err == nil {
			return s, err
		}
		if line = b.session(c.ID(), f); !known && f.Shown() == repair.Listed {
			return line, nil
		}
	}
	done, err := b.proposeRestore(ctx, c, h)
	if known && (err != nil || len(done.Plan.Ops) == 0) {
		b.mu.Lock()
		delete(b.lost, key)
		b.mu.Unlock()
	}
	switch {
	case err == nil && len(done.Plan.Ops) > 0:
		x = frame.Restorable{Restorable: mend.Restorable{Session: done.Session, State: done.State, Now: done.Now, Other: done.Other}, Store: c}
		if done.From != nil {
			x.Kept, x.KeptAt = done.From.Messages, done.From.Time
		}
		b.mu.Lock()
		b.lost[key] = x
		b.mu.Unlock()
		return lostSession(line, x), nil
	case !listed:
		s.Gone = true
		return s, ctx.Err()
	}
	return line, ctx.Err()
}

// The times of [watch.Options].
const (
	uiQuiet = 300 * time.Millisecond // without a change before a session is read again
	uiPoll  = 2 * time.Second
)

// Follow implements [ui.Backend].
func (b *uiBackend) Follow(ctx context.Context, since time.Time, report func(ui.Session)) {
	var group sync.WaitGroup
	for _, root := range b.stores {
		c, err := b.OpenAt(root) // not the one in clients, which other goroutines use
		if err != nil {
			continue // the scan has reported it
		}
		group.Go(func() {
			watch.Run(ctx, frame.WatchedStore{Store: c, Reader: c.Reader()}, watch.Options{
				Since: since, Quiet: uiQuiet, Poll: uiPoll,
				Handle: func(ctx context.Context, h change.Head) (again bool) {
					s, err := b.Examine(ctx, ui.Session{ID: h.ID, Store: root})
					if err == nil {
						report(s)
					}
					return s.Busy
				},
				Notice: func(n watch.Notice) {
					if n.Lost != nil {
						b.addNote(term.ShortenHome(root) + " cannot be read: " + n.Lost.Error())
					}
				},
			})
		})
	}
	group.Wait()
}

// Conversation implements [ui.Backend].
func (b *uiBackend) Conversation(ctx context.Context, s ui.Session) (items []ui.Item, err error) {
	err = b.withSession(ctx, s, func(c *mend.Store, h change.Head, listed bool) error {
		if text := frame.StateTexts[s.State]; s.Lost && text != "" {
			items = append(items, ui.Item{Faults: []ui.Fault{{Why: text, Fix: "r brings it back, after you have seen what that does."}}})
		}
		if !listed {
			return nil
		}
		f, err := c.ScanOne(ctx, h)
		if err != nil {
			items = append(items, ui.Item{Faults: []ui.Fault{{Broken: true, Why: "It cannot be examined: " + err.Error(), Fix: b.Hint(err)}}})
			return ctx.Err()
		}
		if f.Busy {
			items = append(items, ui.Item{Line: ui.Line{Text: "The agent is using it."}})
		}
		conversation, elsewhere, err := c.Conversation(ctx, h, f.Diagnoses)
		if faults := uiFaults(elsewhere); len(faults) > 0 {
			items = append(items, ui.Item{Faults: faults})
		}
		for _, x := range conversation {
			items = append(items, uiItem(agents.Title(c.ID()), x))
		}
		return err
	})
	return items, err
}

// uiItem returns the display form of an item.
func uiItem(agent string, x mend.ConversationItem) ui.Item {
	it := ui.Item{Who: agent, Faults: uiFaults(x.Faults)}
	switch {
	case x.Summary:
		it.Who = "summary of what came before"
	case x.Role == change.RoleUser:
		it.Who = "you"
	}
	aside := func(text string) ui.Line { return ui.Line{Text: text, One: true, Style: ui.Faint} }
	switch b := x.Block; {
	case b == nil:
	case b.Type == request.ToolUse:
		state, style := "no result", ui.Plain
		if x.Failed {
			state = "failed"
		} else if x.Ended {
			state, style = "done", ui.Faint
		}
		it.Line = ui.Line{Text: "▸ " + b.ToolName + " (" + state + ")  " + strings.ReplaceAll(allInput(b), "\n", ", "), One: true, Style: style}
	case b.Type == request.ToolResult:
		it.Line = ui.Line{Text: "▸ result (of no call)", One: true}
	case b.IsThinking():
		it.Line = aside("thought: " + cmp.Or(strings.TrimSpace(b.Text), "(hidden)"))
	case b.Type == request.Image || b.Type == request.Document:
		it.Line = aside("file: " + cmp.Or(b.Name, b.Mime, "?"))
	case x.Added:
		it.Who, it.Line = agent, aside("added: "+strings.TrimSpace(b.Text))
	case b.Type == request.Text || b.Type == request.Summary:
		it.Text = cmp.Or(b.Text, " ")
	default:
		it.Line = aside("thought: " + string(b.Type))
	}
	return it
}

// uiFaults returns the diagnoses to show in a conversation.
func uiFaults(ds []repair.Diagnosis) (faults []ui.Fault) {
	for _, d := range ds {
		if d.Severity == repair.Note {
			continue
		}
		f := ui.Fault{Broken: d.Severity == repair.Broken, Why: d.Why}
		switch {
		case d.Fix == "":
			f.Fix = "no fix: " + d.WhyNot
		case d.Loses == "": // whether the fix spoils thinking is only known from the plan
			f.Fix = "fix: " + d.Fix
		default:
			f.Fix = "fix: " + d.Fix + " Lost: " + d.Loses
		}
		faults = append(faults, f)
	}
	return faults
}

// Explain implements [ui.Backend].
func (b *uiBackend) Explain(ctx context.Context, s ui.Session, width int) (lines []ui.Line, err error) {
	err = b.withSession(ctx, s, func(c *mend.Store, h change.Head, listed bool) error {
		if !listed {
			lines = []ui.Line{{Text: frame.StateTexts[s.State]}}
			return nil
		}
		f, err := c.ScanOne(ctx, h)
		if err != nil && f.Err == nil {
			return err
		}
		lines, err = b.printLines(width, func(a *frame.Env) error {
			printFinding(a, f, true)
			var shown []string
			for _, d := range f.Diagnoses {
				for _, t := range findTopics(allTopics(a), d.Rule) {
					if !slices.Contains(shown, t.Code) {
						shown = append(shown, t.Code)
						printTopic(a.Terminal, t)
						a.Printf("\n")
					}
				}
			}
			return nil
		})
		return err
	})
	return lines, err
}

// Continue implements [ui.Backend].
func (b *uiBackend) Continue(ctx context.Context, s ui.Session) (text string, err error) {
	err = b.withSession(ctx, s, func(c *mend.Store, h change.Head, listed bool) error {
		text = "Bring it back first: r."
		if listed {
			text = "To continue it: " + frame.ContinueCommand(ctx, c, h)
		}
		return nil
	})
	return text, err
}

// A uiStep is a planned change of a session.
type uiStep struct {
	session ui.Session
	name    string // of the session or the repair in a sentence
	lines   []ui.Line
	ops     []change.Op
	err     error  // why there is no plan
	proof   string // with which versions the session works afterwards
	do      func(*frame.RepairBatch) error
}

// uiVerbs are the words for a change: the question, the result, the next key, and the text if there is nothing to do.
type uiVerbs struct{ ask, done, next, nothing string }

var (
	repairVerbs  = uiVerbs{"Repair", "Repaired", "U undoes it.", "There is nothing to repair."}
	restoreVerbs = uiVerbs{"Bring back", "Brought back", "U undoes it.", "Nothing of it is missing."}
	undoVerbs    = uiVerbs{"Undo", "Undone:", "R applies it again.", "There is nothing to undo."}
	redoVerbs    = uiVerbs{"Redo", "Applied again:", "U undoes it.", "There is nothing to redo."}
)

// change returns the change that makes all steps as one operation in the journal j. A failed step does not stop the
// others.
func (b *uiBackend) change(verbs uiVerbs, j *mend.Journal, steps []uiStep) (ch ui.Change, err error) {
	var todo []uiStep
	changes := 0
	for _, s := range steps {
		if s.err != nil && len(steps) == 1 {
			return ch, b.withHint(s.err)
		}
		if len(steps) > 1 {
			ch.Lines = append(ch.Lines, ui.Line{Text: s.name, Style: ui.Bold})
		}
		if s.err != nil {
			ch.Lines = append(ch.Lines, ui.Line{Text: "stays as it is: " + s.err.Error(), Style: ui.Warn, Indent: 2}, ui.Line{})
			continue
		}
		ch.Lines = append(append(ch.Lines, s.lines...), ui.Line{})
		if len(s.ops) > 0 {
			todo, changes, ch.About = append(todo, s), changes+len(s.ops), append(ch.About, s.session)
		}
	}
	if len(todo) == 0 {
		ch.Question = verbs.nothing
		return ch, nil
	}
	name := steps[0].name
	if len(steps) > 1 {
		name = term.Count(len(todo), "session")
	}
	ch.Question = fmt.Sprintf("%s %s: %s?", verbs.ask, name, term.Count(changes, "change"))
	ch.Apply = func(ctx context.Context) (string, error) {
		b.changing.Lock()
		defer b.changing.Unlock()
		env, _, note := b.quiet()
		defer note()
		j.Join()
		run, sessions := &frame.RepairBatch{Batch: frame.NewBatch(ctx, env, len(todo))}, 0
		var failed error
		for _, s := range todo {
			before := run.Made
			var err error
			_ = b.Made.Apply(func() error {
				if err = s.do(run); run.Made > before {
					sessions++
					return nil
				}
				return err
			})
			if err = cmp.Or(err, ctx.Err()); errors.Is(err, frame.ErrProblems) {
				err = errors.New("it is still broken; e explains it")
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, b.withHint(err)))
			}
		}
		switch first := todo[0]; {
		case len(run.Done) == 0:
			return "", failed
		case len(todo) > 1:
			return fmt.Sprintf("%s %d of %s (%s). U undoes all of it.", verbs.done, sessions, term.Count(len(todo), "session"), mend.OperationOf(run.Done[0])), failed
		default:
			text := fmt.Sprintf("%s %s (%s)", verbs.done, first.name, run.Done[0].ID)
			if first.proof != "" && failed == nil {
				text += ": " + first.proof
			}
			return text + ". " + verbs.next, failed
		}
	}
	return ch, nil
}

// withHint adds the user's next step to an error.
func (b *uiBackend) withHint(err error) error {
	if h := b.Hint(err); h != "" {
		return fmt.Errorf("%w (%s)", err, h)
	}
	return err
}

// propose plans the repair or the restore of a session; with changes its lines show each change of a record.
func (b *uiBackend) propose(ctx context.Context, s ui.Session, changes bool) (step uiStep) {
	step = uiStep{session: s, name: show.QuotedTitle(s.Title, s.ID)}
	step.err = b.withSession(ctx, s, func(c *mend.Store, h change.Head, listed bool) error {
		if s.Lost || !listed {
			done, err := b.proposeRestore(ctx, c, h)
			done.Plan.Cause.Title = cmp.Or(done.Plan.Cause.Title, h.Title)
			step.ops = done.Plan.Ops
			step.lines, _ = b.printLines(0, func(a *frame.Env) error { // PrintRestore returns no error
				frame.PrintRestore(a, h, done)
				return nil
			})
			step.do = func(run *frame.RepairBatch) error { return frame.ApplyRestore(run.Batch, c, &done) }
			return err
		}
		f, err := c.ScanOne(ctx, h)
		if err != nil {
			return err
		}
		result, err := c.ProposeRepair(ctx, h, repair.Request{Latent: !show.HasBroken(f.Diagnoses)})
		if err != nil {
			return err
		}
		p := show.Proposal{Store: c, StoreID: c.ID(), Head: h, Result: result}
		if proof := show.ProvenSessionsText([]show.Proposal{p}); proof != "" && len(result.Plan.Ops) > 0 {
			step.proof = proof
		}
		step.ops, step.lines = result.Plan.Ops, planLines(p, step.proof)
		if changes {
			step.lines = append(step.lines, opLines(step.ops)...)
		}
		step.do = func(run *frame.RepairBatch) error {
			_, err := run.Apply(p)
			return err
		}
		return nil
	})
	return step
}

// planLines describes a planned repair.
func planLines(p show.Proposal, proof string) (lines []ui.Line) {
	for _, f := range show.PlanFacts(p.Result) {
		lines = append(lines, ui.Line{Head: fmt.Sprintf("%-5s  ", f.Label), Text: term.Join(f.Shown(), "\n").Plain()})
	}
	switch {
	case len(lines) == 0:
		lines = []ui.Line{{Text: "Nothing to repair.", Style: ui.Good}}
	case proof != "":
		lines = append(lines, ui.Line{Head: "then   ", Text: proof + "."})
	}
	return lines
}

// maxOpLines is about how many lines of changes are shown.
const maxOpLines = 2000

// opLines returns the changes of a plan, before and after.
func opLines(ops []change.Op) (lines []ui.Line) {
	for i, o := range ops {
		if len(lines) > maxOpLines {
			return append(lines, ui.Line{Text: term.CountWords(len(ops)-i, "more change", "more changes"), Style: ui.Faint})
		}
		title := fmt.Sprintf("Change %d of %d", i+1, len(ops))
		if word := show.OpWord(o); word != "change" {
			title += ": " + word
		}
		lines = append(lines, ui.Line{}, ui.Line{Text: title, Style: ui.Bold})
		if !show.HasDiff(o.Ref) {
			continue
		}
		show.EachDiffLine(o.Pre, o.Post, func(line []byte) {
			style := map[byte]ui.Style{'+': ui.Good, '-': ui.Bad}[line[0]]
			lines = append(lines, ui.Line{Head: string(line[:1]) + " ", Text: show.ShortenLine(string(line[1:])), Style: style, Indent: 1})
		})
	}
	return lines
}

// Changes implements [ui.Backend].
func (b *uiBackend) Changes(ctx context.Context, s ui.Session) ([]ui.Line, error) {
	step := b.propose(ctx, s, true)
	if step.err != nil {
		return []ui.Line{{Text: "Nothing is planned: " + step.err.Error()}}, ctx.Err()
	}
	return step.lines, nil
}

// Repair implements [ui.Backend].
func (b *uiBackend) Repair(ctx context.Context, all []ui.Session) (ui.Change, error) {
	verbs := restoreVerbs
	var steps []uiStep
	for _, s := range all {
		if steps = append(steps, b.propose(ctx, s, len(all) == 1)); ctx.Err() != nil {
			return ui.Change{}, ctx.Err()
		}
		if !s.Lost {
			verbs = repairVerbs
		}
		if s.Severity == "broken" {
			verbs.nothing = "mend knows no repair for what is wrong here; e explains it."
		}
	}
	return b.change(verbs, b.Opt.Journal, steps)
}

// Revert implements [ui.Backend].
func (b *uiBackend) Revert(ctx context.Context, s ui.Session, id string, redo bool) (ch ui.Change, err error) {
	env, _, note := b.quiet()
	defer note()
	v := frame.Reversal{Env: env, Ctx: ctx, DryRun: true, Request: mend.UndoRequest{Redo: redo}}
	if id != "" {
		v.Names = []string{id}
	} else if v.Names, err = b.newest(ctx, env, s, redo); err != nil {
		return ch, err
	}
	if _, err := v.Find(); err != nil {
		return ch, err
	}
	_ = v.Open() // the plans return the error
	v.Plan()
	verbs := undoVerbs
	if redo {
		verbs = redoVerbs
	}
	var steps []uiStep
	for i := range v.Todo {
		t := &v.Todo[i]
		var p change.Plan
		if t.Err == nil {
			p, t.Err = v.MakePlan(t)
		}
		first := env.Entry(t.IDs[0])
		step := uiStep{name: frame.NameRepairs(len(t.IDs), 1, first), ops: p.Ops, err: t.Err}
		for e := range env.Entries(t.IDs) {
			step.lines = append(step.lines, ui.Line{Text: fmt.Sprintf("%s  %s, %s", e.ID, term.Age(time.Since(e.Time)), show.CauseText(e))})
		}
		if step.lines = append(step.lines, opLines(p.Ops)...); t.Store != nil {
			step.session = ui.Session{ID: p.Session, Store: t.Store.ID().Root, Title: first.Cause.Title}
		}
		step.do = func(run *frame.RepairBatch) error {
			_, err := run.Batch.Apply(t.Store, p)
			return err
		}
		steps = append(steps, step)
	}
	return b.change(verbs, env.Opt.Journal, steps)
}

// newest returns the ids that undo or redo reverts by default: the newest of the session, none if it has none.
func (b *uiBackend) newest(ctx context.Context, env *frame.Env, s ui.Session, redo bool) (ids []string, err error) {
	c := b.clients[s.Store]
	if c == nil {
		return nil, nil
	}
	find := env.Opt.Journal.Newest
	if redo {
		find = env.Opt.Journal.NewestUndo
	}
	ids, err = find(func(e change.Entry) bool { return e.Session == s.ID && c.Owns(ctx, e) })
	if redo && len(ids) > 0 {
		return env.RevertedEntries(ids)
	}
	return ids, err
}

// Journal implements [ui.Backend].
func (b *uiBackend) Journal(context.Context) (list []ui.Entry, err error) {
	es, err := b.Opt.Journal.Log(journal.Query{})
	if errors.Is(err, journal.ErrDamaged) && len(es) > 0 {
		b.addNote(err.Error())
		err = nil
	}
	env, _, _ := b.quiet()
	for _, op := range show.Operations(es) {
		id, row := op[0].ID, show.EntryRow(env.Terminal, op[0], "")
		if len(op) > 1 {
			id, row = mend.OperationOf(op[0]), op.Row(env.Terminal)
		}
		list = append(list, ui.Entry{ID: id, Time: op[0].Time, State: ansi.Strip(fmt.Sprint(row[2])), What: fmt.Sprint(row[3]), Title: fmt.Sprint(row[5])})
	}
	return list, err
}

// Show implements [ui.Backend].
func (b *uiBackend) Show(_ context.Context, id string, width int) ([]ui.Line, error) {
	q, err := b.Opt.Journal.Find(id)
	var op []change.Entry
	if err == nil {
		op, err = b.Opt.Journal.Log(q)
	}
	if err != nil {
		return nil, err
	}
	if len(op) > 1 {
		return b.printLines(width, func(a *frame.Env) error { return frame.ShowOperation(a, op, func() {}) })
	}
	e, ops, err := b.Opt.Journal.Show(op[0].ID)
	if err != nil {
		return nil, err
	}
	related, err := b.Opt.Journal.Related([]change.Entry{e})
	if err != nil {
		return nil, err
	}
	head := ops
	if ops != nil {
		head = []change.Op{}
	}
	lines, err := b.printLines(width, func(a *frame.Env) error {
		show.Entry(a.Terminal, e, head, related[e.ID], nil, "")
		return nil
	})
	return append(lines, opLines(ops)...), err
}
