package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"mend/internal/term"
	"mend/internal/ui"
	"mend/repair"
)

// UI returns the verb ui.
func UI(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "ui",
		Short: "Browse, repair and undo on one screen",
		Long: `The screen shows the sessions of all your agents, the broken ones first. Beside them it
shows the conversation of the selected session, with the broken places marked, and what a
repair would do. r repairs or restores a session, a repairs all broken ones, u undoes, c
shows the command that continues the session, ? lists all keys.

Nothing is written before you have seen it and answered yes. Each change is written to the
journal first, as with "mend fix", and can be undone.`,
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
	b := &uiBackend{Env: env}
	env.Opt.Note = b.addNote
	if err := b.open(ctx); err != nil {
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
	stores   []*mend.Store

	mu    sync.Mutex // guards lost and notes
	lost  map[uiKey]frame.Restorable
	notes []string
}

var _ ui.Backend = (*uiBackend)(nil)

// open opens the stores as "mend scan" does. It fails if it can open none.
func (b *uiBackend) open(ctx context.Context) (err error) {
	env, _, done := b.quiet()
	defer done()
	env.JSON = true                 // an error is returned, not printed
	env.Opt.Journal = b.Opt.Journal // in it, each change is one operation
	b.stores, err = frame.OpenAll(ctx, env, false)
	if err != nil && len(b.stores) > 0 {
		b.addNote("a store is not examined: " + err.Error())
		err = nil
	}
	return err
}

// store returns the store at root, nil if it is not open.
func (b *uiBackend) store(root string) *mend.Store {
	if i := slices.IndexFunc(b.stores, func(c *mend.Store) bool { return c.ID().Root == root }); i >= 0 {
		return b.stores[i]
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

// printLines returns the lines that print prints on a terminal.
func (b *uiBackend) printLines(print func(a *frame.Env)) (lines []ui.Line) {
	env, out, done := b.quiet()
	defer done()
	print(env)
	for text := range strings.SplitSeq(strings.Trim(ansi.Strip(out.String()), "\n"), "\n") {
		bare := strings.TrimLeft(text, " ")
		lines = append(lines, ui.Line{Text: bare, Indent: len(text) - len(bare)})
	}
	return lines
}

// scanStep is how often a scan reports progress.
const scanStep = 100 * time.Millisecond

// Scan implements [ui.Backend].
func (b *uiBackend) Scan(ctx context.Context, report func(ui.Progress)) (failed error) {
	var p ui.Progress
	var stores []*mend.Store
	found := map[uiKey]ui.Session{}
	last := time.Now()
	for _, s := range b.stores {
		c, err := b.OpenAt(s.ID().Root) // other goroutines use s
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		cached := c.WithCache() // one for the list, the check and the scan, which use what the others found
		heads, err := cached.Sessions(ctx)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		stores = append(stores, c)
		p.Total += len(heads)
		failed = errors.Join(failed, cached.CheckFile(ctx, frame.LargestChecked))
		for f := range cached.Scan(ctx, heads) {
			p.Done++
			s := b.session(c.ID(), f)
			found[uiKey{s.Store, s.ID}] = s
			if p.Found = append(p.Found, s); time.Since(last) >= scanStep {
				report(p)
				p.Found, last = nil, time.Now()
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	lost, err := b.listLost(ctx, stores)
	if ctx.Err() != nil { // another scan has begun, and lists them
		return ctx.Err()
	}
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
func (b *uiBackend) listLost(ctx context.Context, stores []*mend.Store) (lost map[uiKey]frame.Restorable, err error) {
	env, _, _ := b.quiet()
	lost = map[uiKey]frame.Restorable{}
	err = frame.WithKept(env, func(k *keep.Keep) error {
		all, _ := frame.ListRestorable(ctx, env, stores, k, nil)
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

// withSession runs f with a session's store and its head. listed is false if the store does not have the session.
func (b *uiBackend) withSession(ctx context.Context, s ui.Session, f func(c *mend.Store, h change.Head, listed bool) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.mu.Lock()
	x, known := b.lost[uiKey{s.Store, s.ID}]
	b.mu.Unlock()
	c := b.store(s.Store)
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

// Conversation implements [ui.Backend].
func (b *uiBackend) Conversation(ctx context.Context, s ui.Session) (lines []ui.Line, err error) {
	err = b.withSession(ctx, s, func(c *mend.Store, h change.Head, listed bool) error {
		if text := frame.StateTexts[s.State]; s.Lost && text != "" {
			lines = markedLines(ui.Warn, text, "r brings it back, after you have seen what that does.")
		}
		if !listed {
			return nil
		}
		f, err := c.ScanOne(ctx, h)
		if err != nil {
			lines = append(lines, markedLines(ui.Bad, "It cannot be examined: "+err.Error(), b.Hint(err))...)
			return ctx.Err()
		}
		if f.Busy {
			lines = append(lines, ui.Line{Text: "The agent is using it."})
		}
		shown := slices.DeleteFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == repair.Note })
		items, elsewhere, err := c.Conversation(ctx, h, shown)
		lines = append(lines, conversationLines(paragraphs(agents.Title(c.ID()), elsewhere, items))...)
		return err
	})
	return lines, err
}

// How many rows of a text, and of the input or the result of a tool call, are shown unless texts are shown in full.
const (
	maxTextRows   = 12
	maxFencedRows = 4
)

// conversationLines returns the lines of a conversation. Of equal findings in a row only the first has its fix.
func conversationLines(all []paragraph) (lines []ui.Line) {
	last := ""
	for _, p := range all {
		line := ui.Line{Text: p.text, Indent: 2, Most: maxTextRows}
		if strings.TrimSpace(p.text) == "" {
			line.Text, line.Style = "(empty)", ui.Faint
		}
		switch p.kind {
		case heading:
			line = ui.Line{Text: p.text, Style: ui.Bold}
			if len(lines) > 0 {
				lines = append(lines, ui.Line{})
			}
		case quote:
			line.Style = ui.Faint
		case fenced:
			line.Style, line.Indent, line.Most = ui.Faint, 4, maxFencedRows
		case note:
			style := ui.Warn
			if p.fault.Severity == repair.Broken {
				style = ui.Bad
			}
			marked := markedLines(style, p.fault.Why, fixText(p.fault))
			if why := p.fault.Why + marked[1].Text; why == last {
				marked = marked[:1]
			} else {
				last = why
			}
			lines = append(lines, marked...)
			continue
		case plain:
		}
		lines = append(lines, line)
	}
	return lines
}

// markedLines returns the lines about damage.
func markedLines(style ui.Style, why, fix string) []ui.Line {
	return []ui.Line{{Head: "▲ ", Text: why, Style: style, Indent: 2, Mark: true}, {Text: fix, Indent: 4}}
}

// fixText returns the effect of a fix and what it loses, or why there is none.
func fixText(d repair.Diagnosis) string {
	switch {
	case d.Fix == "":
		return "no fix: " + d.WhyNot
	case d.Loses == "": // whether the fix spoils thinking is only known from the plan
		return "fix: " + d.Fix
	}
	return "fix: " + d.Fix + " Lost: " + d.Loses
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
	frame.Step
	session ui.Session
	lines   []ui.Line
	proof   string                         // with which versions the session works afterwards
	apply   func(*frame.RepairBatch) error // nil: apply the plan
}

// uiVerbs are the words for a change: the question, the result, the next key, and the text if there is nothing to do.
type uiVerbs struct{ ask, done, next, nothing string }

var (
	repairVerbs  = uiVerbs{"Repair", "Repaired", "U undoes it.", "There is nothing to repair."}
	restoreVerbs = uiVerbs{"Bring back", "Brought back", "U undoes it.", "Nothing of it is missing."}
	undoVerbs    = uiVerbs{"Undo", "Undone:", "R applies it again.", "There is nothing to undo."}
	redoVerbs    = uiVerbs{"Redo", "Applied again:", "U undoes it.", "There is nothing to redo."}
)

// change returns the change that makes all steps as one operation in the journal j, which the stores of the steps use.
// A failed step does not stop the others.
func (b *uiBackend) change(verbs uiVerbs, j *mend.Journal, steps []uiStep) (ch ui.Change, err error) {
	var todo []uiStep
	changes := 0
	for _, s := range steps {
		if s.Err != nil && len(steps) == 1 {
			return ch, b.withHint(s.Err)
		}
		if len(steps) > 1 {
			ch.Lines = append(ch.Lines, ui.Line{Text: s.Name, Style: ui.Bold})
		}
		if s.Err != nil {
			ch.Lines = append(ch.Lines, ui.Line{Text: "stays as it is: " + s.Err.Error(), Style: ui.Warn, Indent: 2}, ui.Line{})
			continue
		}
		ch.Lines = append(append(ch.Lines, s.lines...), ui.Line{})
		if len(s.Plan.Ops) > 0 {
			todo, changes, ch.About = append(todo, s), changes+len(s.Plan.Ops), append(ch.About, s.session)
		}
	}
	if len(todo) == 0 {
		ch.Question = verbs.nothing
		return ch, nil
	}
	name := steps[0].Name
	if len(steps) > 1 {
		name = term.Count(len(todo), "session")
	}
	ch.Question = fmt.Sprintf("%s %s: %s?", verbs.ask, name, term.Count(changes, "change"))
	ch.Apply = func(ctx context.Context) (string, error) { return b.apply(ctx, verbs, j, todo) }
	return ch, nil
}

// apply makes the steps as one operation, and describes the result.
func (b *uiBackend) apply(ctx context.Context, verbs uiVerbs, j *mend.Journal, todo []uiStep) (text string, err error) {
	b.changing.Lock()
	defer b.changing.Unlock()
	var failures bytes.Buffer
	env, _, _ := b.quiet()
	env.Err, env.Opt.Journal = &failures, j
	batch := &frame.RepairBatch{Batch: frame.NewBatch(ctx, env, len(todo))}
	sessions, made := 0, 0
	_ = b.Made.Apply(func() error {
		err = batch.Run(frame.WriteFlags{Yes: true}, frame.Job{
			N: len(todo), Forks: true, // the scan after the change shows what became of forks
			Steps: func(yield func(frame.Step) bool) {
				for _, s := range todo {
					if s.apply != nil {
						s.Apply = func(*frame.Batch) (change.Entry, error) { return change.Entry{}, s.apply(batch) }
					}
					if !yield(s.Step) {
						return
					}
				}
			},
			Ended: func(frame.Step, change.Entry, error) {
				if batch.Made > made {
					sessions, made = sessions+1, batch.Made
				}
			},
		})
		if made > 0 {
			return nil
		}
		return err
	})
	switch {
	case errors.Is(err, frame.ErrProblems):
		err = errors.New("not all of it is repaired; ▲ marks what is left")
	case err != nil && failures.Len() > 0: // which has the errors of all sessions
		err = errors.New(strings.Join(strings.Fields(ansi.Strip(failures.String())), " "))
	case err != nil:
		err = b.withHint(err)
	}
	switch first := todo[0]; {
	case sessions == 0:
	case len(todo) > 1:
		text = fmt.Sprintf("%s %d of %s (%s). U undoes all of it.", verbs.done, sessions, term.Count(len(todo), "session"), mend.OperationOf(batch.Done[0]))
	default:
		text = fmt.Sprintf("%s %s (%s)", verbs.done, first.Name, batch.Done[0].ID)
		if first.proof != "" && err == nil {
			text += ": " + first.proof
		}
		text += ". " + verbs.next
	}
	return text, err
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
	step = uiStep{session: s, Step: frame.Step{Name: show.QuotedTitle(s.Title, s.ID)}}
	step.Err = b.withSession(ctx, s, func(c *mend.Store, h change.Head, listed bool) error {
		if s.Lost || !listed {
			env, _, note := b.quiet()
			defer note()
			done, err := frame.ProposeRestore(ctx, env, c, h, mend.RestoreRequest{})
			done.Plan.Cause.Title = cmp.Or(done.Plan.Cause.Title, h.Title)
			step.Plan = done.Plan
			step.lines = b.printLines(func(a *frame.Env) { frame.PrintRestore(a, h, done) })
			step.apply = func(run *frame.RepairBatch) error { return frame.ApplyRestore(run.Batch, c, &done) }
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
		if step.Plan = result.Plan; len(step.Plan.Ops) > 0 {
			step.proof = show.ProvenSessionsText([]show.Proposal{p})
		}
		step.lines = planLines(p, step.proof)
		if changes {
			step.lines = append(step.lines, b.opLines(step.Plan.Ops)...)
		}
		step.apply = func(run *frame.RepairBatch) error {
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

// maxOpLines is how many lines of changes are shown.
const maxOpLines = 2000

// opLines returns the changes of a plan, before and after.
func (b *uiBackend) opLines(ops []change.Op) []ui.Line {
	lines := b.printLines(func(a *frame.Env) { show.Ops(a.Terminal, ops) })
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l.Text, "+"):
			lines[i].Style = ui.Good
		case strings.HasPrefix(l.Text, "-"):
			lines[i].Style = ui.Bad
		}
	}
	if more := len(lines) - maxOpLines; more > 0 {
		lines = append(lines[:maxOpLines], ui.Line{Text: term.CountWords(more, "more line", "more lines"), Style: ui.Faint})
	}
	return append([]ui.Line{{}}, lines...)
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
			verbs.nothing = "mend knows no repair for what is wrong here; mend scan -v shows why."
		}
	}
	return b.change(verbs, b.Opt.Journal, steps)
}

// Revert implements [ui.Backend].
func (b *uiBackend) Revert(ctx context.Context, s ui.Session, redo bool) (ch ui.Change, err error) {
	env, _, note := b.quiet()
	defer note()
	v := frame.Reversal{Env: env, Ctx: ctx, DryRun: true, Request: mend.UndoRequest{Redo: redo}}
	if v.Names, err = b.newest(ctx, env, s, redo); err != nil {
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
		step := uiStep{Step: frame.Step{Store: t.Store, Plan: p, Name: frame.NameRepairs(len(t.IDs), 1, first), Err: t.Err}}
		for e := range env.Entries(t.IDs) {
			step.lines = append(step.lines, ui.Line{Text: fmt.Sprintf("%s  %s, %s", e.ID, term.Age(time.Since(e.Time)), show.CauseText(e))})
		}
		if step.lines = append(step.lines, b.opLines(p.Ops)...); t.Store != nil {
			step.session = ui.Session{ID: p.Session, Store: t.Store.ID().Root, Title: first.Cause.Title}
		}
		steps = append(steps, step)
	}
	return b.change(verbs, env.Opt.Journal, steps)
}

// newest returns the ids that undo or redo reverts by default: the newest of the session, none if it has none.
func (b *uiBackend) newest(ctx context.Context, env *frame.Env, s ui.Session, redo bool) (ids []string, err error) {
	c := b.store(s.Store)
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
