package main

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
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/ui"
	"mend/journal"
	"mend/repair"
)

func uiVerb(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "ui",
		Short: "Browse, repair and undo on one screen",
		Long: `The screen shows the sessions of all your stores, the worst first. Enter opens one: its next
request as the provider will see it, with the broken blocks marked, and what a repair
would change. r repairs, u undoes, l shows the journal, e explains, ? lists all keys.

Nothing is written before you have seen the change and answered yes. Each change is
written to the journal first, as with mend repair, and can be undone.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUI(cmd.Context(), env) },
	}
}

func runUI(ctx context.Context, env *environment) error {
	if env.JSON {
		return usagef("ui has no JSON answer; use mend scan --json")
	}
	if !env.CanAsk {
		return fail.New(fail.Refused, `"mend scan" and "mend repair" need no terminal`, "mend ui needs a terminal")
	}
	b := &uiBackend{environment: env, clients: map[string]*mend.Store{}}
	env.opt.Note = b.addNote
	if err := b.open(); err != nil {
		return err
	}
	err := ui.Run(ctx, b, tea.WithInput(env.In), tea.WithOutput(env.Err))
	b.mu.Lock() // for good: a change that is written ends first, and no other begins
	return err
}

// A uiBackend gives the screen what the verbs print.
type uiBackend struct {
	*environment

	mu      sync.Mutex // for the clients, besides a scan, and what follows
	stores  []string
	clients map[string]*mend.Store // by the root of the store

	notesMu sync.Mutex
	notes   []string
}

var _ ui.Backend = (*uiBackend)(nil)

// open opens the store that the user named, or all that are found. It fails if there is none.
func (b *uiBackend) open() error {
	found := b.opt.Agents.Stores()
	if b.opt.Store != "" {
		found = []mend.Located{{Path: b.opt.Store, Layout: b.opt.Layout}}
	}
	failed := mend.ErrNoStore
	for _, at := range found {
		opt := b.opt
		opt.Store, opt.Layout = at.Path, at.Layout
		c, err := mend.Open(opt)
		if err != nil {
			failed = err
			continue
		}
		root := c.ID().Root
		if former, err := filepath.EvalSymlinks(c.Reader().Former()); err == nil && former == root && b.opt.Store == "" {
			b.addNote("the agent no longer reads " + term.ShortenHome(root))
			continue
		}
		if b.clients[root] == nil {
			b.clients[root] = c
			b.stores = append(b.stores, root)
		}
		pending, err := c.Log(b.opt.Journal.Context, journal.Query{State: change.Pending})
		if err != nil {
			return err
		}
		for _, e := range pending {
			b.addNote(fmt.Sprintf(`repair %s is pending: the next change finishes it, or "mend recover"`, e.ID))
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

func (b *uiBackend) addNote(text string) {
	b.notesMu.Lock()
	defer b.notesMu.Unlock()
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// Notes implements [ui.Backend].
func (b *uiBackend) Notes() []string {
	b.notesMu.Lock()
	defer b.notesMu.Unlock()
	return slices.Clone(b.notes)
}

// scanStep is how often a scan reports progress.
const scanStep = 100 * time.Millisecond

// Scan implements [ui.Backend].
func (b *uiBackend) Scan(ctx context.Context, report func(ui.Progress)) error {
	var failed error
	var p ui.Progress
	for _, root := range b.stores {
		b.mu.Lock()
		opt := b.opt
		b.mu.Unlock()
		opt.Store, opt.Layout = root, ""
		c, err := mend.Open(opt)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		c = c.Cached()
		heads, err := c.Sessions(ctx)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		failed = errors.Join(failed, c.CheckFile(ctx, largestChecked))
		p.Total += len(heads)
		last := time.Now()
		for f := range c.Scan(ctx, heads) {
			p.Done++
			p.Found = append(p.Found, b.session(root, f))
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
	return failed
}

// session returns the line of a session.
func (b *uiBackend) session(root string, f mend.Finding) ui.Session {
	s := ui.Session{
		ID: f.Session.ID, Store: root, Severity: ansi.Strip(severityWord(f.Severity())), Age: ageOf(f.Session), Title: ansi.Strip(titleOf(f.Session)),
		Place: term.OneLine(term.ShortenHome(f.Session.Directory), 40),
	}
	if len(b.stores) > 1 {
		s.Place += "  " + term.OneLine(term.ShortenHome(root), 40)
	}
	for _, d := range f.Diagnoses {
		if d.Severity == f.Severity() {
			s.Class = classWords(string(d.Class))
			break
		}
	}
	switch {
	case f.Err != nil:
		s.Class = "cannot be read"
	case f.Busy:
		s.Class = strings.TrimSpace("busy " + s.Class)
	}
	worst := f.Severity()
	if worst == 0 {
		worst = repair.Note + 1
	}
	const years = 1 << 43 // more milliseconds than any time has
	s.Rank = int(worst)*years + years - int(min(max(f.Session.Updated, f.Session.Created, 0), years))
	return s
}

// with runs f with the client of a session's store, and its head.
func (b *uiBackend) with(ctx context.Context, s ui.Session, f func(*mend.Store, change.Head) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.clients[s.Store]
	heads, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(heads, func(h change.Head) bool { return h.ID == s.ID })
	if i < 0 {
		return fmt.Errorf("%w: %q", mend.ErrNoSession, s.ID)
	}
	return f(c, heads[i])
}

// Examine implements [ui.Backend].
func (b *uiBackend) Examine(ctx context.Context, s ui.Session) (line ui.Session, err error) {
	err = b.with(ctx, s, func(c *mend.Store, h change.Head) error {
		f, err := c.ScanOne(ctx, h)
		if ctx.Err() == nil && f.Err != nil {
			err = nil
		}
		line = b.session(s.Store, f)
		return err
	})
	return line, err
}

// printed returns the lines that print prints, without colours.
func (b *uiBackend) printed(print func(a *environment) error) ([]string, error) {
	var out bytes.Buffer
	a := &environment{Terminal: &term.Terminal{Out: &out, Err: &out}, opt: b.opt}
	err := print(a)
	if errors.Is(err, errProblems) {
		err = nil
	}
	text := strings.TrimRight(ansi.Strip(out.String()), "\n")
	if text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), err
}

// Detail implements [ui.Backend].
func (b *uiBackend) Detail(ctx context.Context, s ui.Session) (d ui.Detail, err error) {
	err = b.with(ctx, s, func(c *mend.Store, h change.Head) error {
		f, err := c.ScanOne(ctx, h)
		if err != nil {
			return err
		}
		if d.Findings, err = b.printed(func(a *environment) error {
			printFinding(a, f, true)
			return nil
		}); err != nil {
			return err
		}
		d.Request, err = b.printed(func(a *environment) error { return printForecast(ctx, a, c, h) })
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			d.Request = append(d.Request, term.Escape(err.Error()))
		}
		r, err := c.ProposeRepair(ctx, h, b.request(f))
		if err != nil {
			d.Changes = []string{"  No repair is planned: " + term.Escape(err.Error())}
			return nil
		}
		d.Changes, err = b.printedPlan(agentOf(c.ID()), proposal{head: h, result: r})
		return err
	})
	return d, err
}

// request returns the repair that the screen offers: what is broken, or if nothing is, what is latent.
func (b *uiBackend) request(f mend.Finding) repair.Request {
	return repair.Request{Latent: !hasBroken(f.Diagnoses)}
}

// printedPlan returns the lines of a planned repair: what it is for, and the diff of every record.
func (b *uiBackend) printedPlan(agent string, p proposal) ([]string, error) {
	return b.printed(func(a *environment) error {
		printProposal(a.Terminal, p, true)
		if len(p.result.Plan.Ops) > 0 {
			printOps(a.Terminal, p.result.Plan.Ops)
			a.Printf("\n%s\n", "After the repair it "+provenText(agent, []proposal{p})+".")
		}
		return nil
	})
}

// Repair implements [ui.Backend].
func (b *uiBackend) Repair(ctx context.Context, s ui.Session) (ch ui.Change, err error) {
	err = b.with(ctx, s, func(c *mend.Store, h change.Head) error {
		f, err := c.ScanOne(ctx, h)
		if err != nil {
			return err
		}
		req := b.request(f)
		r, err := c.ProposeRepair(ctx, h, req)
		if err != nil {
			return err
		}
		if len(r.Plan.Ops) == 0 {
			ch.Question = "There is nothing to repair."
			if len(r.Remaining) > 0 {
				ch.Question = "mend knows no repair for what is wrong here; e explains it."
			}
			return nil
		}
		ch, err = b.repairChange(s.Store, proposal{head: h, result: r})
		return err
	})
	return ch, err
}

// repairChange returns the change that makes a planned repair.
func (b *uiBackend) repairChange(root string, p proposal) (ch ui.Change, err error) {
	name, ops := quotedTitle(p.head.Title, p.head.ID), p.result.Plan.Ops
	ch.Question = fmt.Sprintf("Repair %s: %s?", name, term.Count(len(ops), "change"))
	ch.Apply = b.applier(root, p.result.Plan, "Repaired as %s.")
	ch.Hint = "u undoes it."
	ch.Lines, err = b.printedPlan(agentOf(b.clients[root].ID()), p)
	return ch, err
}

// applier returns a function that applies a plan to a store. done says so, with %s for the id.
func (b *uiBackend) applier(root string, p change.Plan, done string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		e, err := b.clients[root].Apply(ctx, p)
		if err != nil {
			if h := b.hint(err); h != "" {
				err = fmt.Errorf("%w (%s)", err, h)
			}
			return "", err
		}
		for _, path := range e.Kept {
			b.addNote("another program wrote into a file that was just replaced; its bytes are in " + path)
		}
		return fmt.Sprintf(done, e.ID), nil
	}
}

// Newest implements [ui.Backend].
func (b *uiBackend) Newest(ctx context.Context, s ui.Session, undone bool) (string, error) {
	es, err := b.opt.Journal.Log(journal.Query{Session: s.ID, State: change.Committed})
	for _, e := range es {
		switch {
		case !b.clients[s.Store].Owns(ctx, e):
		case undone && undoInForce(e): // the repair that was undone last
			return journal.IDOf(e.Cause.Entries[len(e.Cause.Entries)-1]), err
		case !undone && inForce(e):
			return e.ID, err
		}
	}
	if err == nil && undone {
		err = fmt.Errorf("%w: no repair of this session is undone", mend.ErrNothingToDo)
	} else if err == nil {
		err = fmt.Errorf("%w: this session has no repair that is not undone", mend.ErrNothingToDo)
	}
	return "", err
}

// Undo implements [ui.Backend].
func (b *uiBackend) Undo(ctx context.Context, id string) (ui.Change, error) {
	return b.revert(ctx, id, "Undo", "Undone (%s).", "R applies it again.", func(c *mend.Store, e change.Entry) (change.Plan, error) {
		return c.ProposeUndo(ctx, mend.UndoRequest{IDs: []string{e.ID}})
	})
}

// Redo implements [ui.Backend].
func (b *uiBackend) Redo(ctx context.Context, id string) (ui.Change, error) {
	return b.revert(ctx, id, "Redo", "Applied again (%s).", "u undoes it.", func(c *mend.Store, e change.Entry) (change.Plan, error) {
		return c.ProposeUndo(ctx, mend.UndoRequest{IDs: []string{e.ID}, Redo: true})
	})
}

// revert plans the undo or the redo of a repair, in the store that it is about.
func (b *uiBackend) revert(ctx context.Context, id, verb, done, hint string, propose func(*mend.Store, change.Entry) (change.Plan, error)) (ui.Change, error) {
	e, _, err := b.opt.Journal.Show(id)
	if err != nil {
		return ui.Change{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := max(0, slices.IndexFunc(b.stores, func(root string) bool { return b.clients[root].Owns(ctx, e) })) // else propose returns an error
	p, err := propose(b.clients[b.stores[i]], e)
	if err != nil {
		return ui.Change{}, err
	}
	lines, err := b.printed(func(a *environment) error {
		printOps(a.Terminal, p.Ops)
		return nil
	})
	return ui.Change{
		Question: fmt.Sprintf("%s repair %s of %s: %s?", verb, e.ID, e.Session, term.Count(len(p.Ops), "change")),
		Lines:    lines, Apply: b.applier(b.stores[i], p, done), Hint: hint,
	}, err
}

// Journal implements [ui.Backend].
func (b *uiBackend) Journal(context.Context) ([]ui.Entry, error) {
	es, err := b.opt.Journal.Log(journal.Query{})
	list := make([]ui.Entry, len(es))
	for i, e := range es {
		list[i] = ui.Entry{
			ID: e.ID, Text: ansi.Strip(fmt.Sprintf("%s  %s  %s  %s, %s", e.Time.Local().Format("2006-01-02 15:04"), stateWord(e), term.OneLine(cmp.Or(strings.TrimSpace(e.Cause.Title), e.Session), 24), causeText(e), term.Count(len(e.Ops), "change"))),
		}
	}
	return list, err
}

// Show implements [ui.Backend].
func (b *uiBackend) Show(_ context.Context, id string) ([]string, error) {
	e, ops, err := b.opt.Journal.Show(id)
	if err != nil {
		return nil, err
	}
	related, err := b.opt.Journal.Related([]change.Entry{e})
	if err != nil {
		return nil, err
	}
	return b.printed(func(a *environment) error {
		printEntry(a.Terminal, e, ops, related[e.ID], nil, "")
		return nil
	})
}

// Explain implements [ui.Backend].
func (b *uiBackend) Explain(ctx context.Context, s ui.Session) (lines []string, err error) {
	err = b.with(ctx, s, func(c *mend.Store, h change.Head) error {
		f, err := c.ScanOne(ctx, h)
		if err != nil {
			return err
		}
		lines, err = b.printed(func(a *environment) error {
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
