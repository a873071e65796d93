// Package ui is the screen of "mend ui": on the left the sessions of all agents, or the journal; on the right the
// conversation of the selected session, or the changes of a repair. A [Backend] provides all of this as texts, and
// makes the changes. The user sees each change and agrees to it first.
//
// It may import internal/term. Read [Run] first.
//
// Work runs in the background, so keys always respond. The screen stays open while a change is written.
package ui

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A Session is a line of the list.
type Session struct {
	ID, Store string // together they name the session
	Agent     string
	Title     string
	Folder    string
	Time      time.Time // last used
	Severity  string    // "broken", "at risk", "lost" or "healthy"; "" if only a copy of the session is left
	What      string    // a short description of the findings
	State     string    // such as "deleted" or "archived"; "" if its agent lists it
	Lost      bool      // its content must be restored, not repaired
	Busy      bool      // its agent is using it
	Gone      bool      // the store no longer has it, and it cannot be restored
}

// An Item is one text, tool call or other block of a conversation.
type Item struct {
	Who string // "" for a text about the whole session
	Line
	Faults []Fault
}

// A Fault is a finding about an item.
type Fault struct {
	Broken bool // otherwise it is at risk, or has lost content
	Why    string
	Fix    string // the effect and the loss of a repair, or why there is none
}

// An Entry is a line of the journal: the changes of one run of mend.
type Entry struct {
	ID    string
	Time  time.Time
	State string // as "mend log" has it
	What  string
	Title string // of the session
}

// A Change is a planned change for the user to confirm.
type Change struct {
	Question string // or if Apply is nil, why there is nothing to do
	Lines    []Line // describe the change
	About    []Session
	// Apply makes the change. It describes the result in a sentence, also if only a part was done; nil if there is
	// nothing to do.
	Apply func(ctx context.Context) (string, error)
}

// Progress is the progress of a scan.
type Progress struct {
	Found       []Session // sessions examined since the last report
	Done, Total int
}

// A Backend provides the sessions, the repairs and the journal. Its methods are called in the background, and
// concurrently.
type Backend interface {
	// Scan examines all sessions, then searches for restorable ones. It calls report now and then.
	Scan(ctx context.Context, report func(Progress)) error
	// Follow calls report with each session that its agent changes, until ctx ends.
	Follow(ctx context.Context, since time.Time, report func(Session))
	// Examine examines a session again, and returns its line.
	Examine(ctx context.Context, s Session) (Session, error)
	// Conversation returns the conversation.
	Conversation(ctx context.Context, s Session) ([]Item, error)
	// Changes returns the changes that a repair or a restore of the session would make.
	Changes(ctx context.Context, s Session) ([]Line, error)
	// Explain explains the findings of a session, wrapped to a number of columns.
	Explain(ctx context.Context, s Session, width int) ([]Line, error)
	// Continue returns a sentence about how to continue the session.
	Continue(ctx context.Context, s Session) (string, error)

	// Repair plans to repair or restore sessions, as one operation.
	Repair(ctx context.Context, all []Session) (Change, error)
	// Revert plans to undo an entry of the journal, or with redo to apply it again. If id is "", that is the newest
	// entry of the session, or if it has none, the newest of all sessions.
	Revert(ctx context.Context, s Session, id string, redo bool) (Change, error)

	// Journal lists the entries, newest first.
	Journal(ctx context.Context) ([]Entry, error)
	// Show describes an entry, wrapped to a number of columns.
	Show(ctx context.Context, id string, width int) ([]Line, error)
	// Notes returns all notes for the user so far, each text once.
	Notes() []string
}

// Run shows the screen until the user closes it, or until ctx ends.
func Run(ctx context.Context, b Backend, options ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, b)
	m.pause = 60 * time.Millisecond
	_, err := tea.NewProgram(m, append(options, tea.WithContext(ctx), tea.WithoutSignalHandler())...).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// key names a session.
func (s Session) key() string { return s.ID + "\x00" + s.Store }

// A lane runs one piece of work in the background: new work cancels the previous work.
type lane struct {
	n      int
	cancel func()
}

// next cancels the previous work, and returns the context and the number of the new work.
func (l *lane) next(ctx context.Context) (context.Context, int) {
	if l.cancel != nil {
		l.cancel()
	}
	ctx, l.cancel = context.WithCancel(ctx)
	l.n++
	return ctx, l.n
}

// A model is the state of the screen.
type model struct {
	ctx           context.Context
	backend       Backend
	width, height int
	now           func() time.Time
	pause         time.Duration // how long a session must be selected before it is read

	work    lane     // started by the user
	running string   // a description of that work, "" for none
	writing bool     // a change is being written: the screen must not close
	closing bool     // the user wants to quit
	message string   // the last result
	failed  bool     // the message is an error
	about   []string // the keys of the sessions that the message is about
	noted   int      // number of notes shown

	sessions []Session // in list order
	known    map[string]Session
	progress Progress
	scanning bool
	began    time.Time // of the first scan
	filter   struct {
		text   string // only sessions with every word of it are listed
		typing bool
	}
	list cursor

	inJournal bool
	entries   []Entry
	log       cursor

	right   bool // the right side has the focus
	changes bool // the right side shows the changes by a repair instead of the conversation
	look    lane
	shownID string // names the content of the right side, see subject
	pane    scroller
	have    bool // the content was read
	loading bool
	whole   bool // texts are shown in full

	title  string // of a text over the whole screen, "" for none
	text   scroller
	asking *Change // the change to confirm
}

func newModel(ctx context.Context, b Backend) *model {
	return &model{ctx: ctx, backend: b, width: 80, height: 24, now: time.Now, known: map[string]Session{}}
}

// A doneMsg is the result of background work. do changes the screen's state, unless newer work has replaced this work.
type doneMsg struct {
	lane *lane // nil for work that is never replaced
	n    int
	do   func() tea.Cmd
	more tea.Cmd // the rest of the work
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.scan() }

// stream runs work in the background. Its messages arrive in order.
func (m *model) stream(work func(send func(do func() tea.Cmd))) tea.Cmd {
	steps := make(chan func() tea.Cmd)
	go func() {
		defer close(steps)
		work(func(do func() tea.Cmd) {
			select {
			case steps <- do:
			case <-m.ctx.Done():
			}
		})
	}()
	var next tea.Cmd
	next = func() tea.Msg {
		if do, ok := <-steps; ok {
			return doneMsg{do: do, more: next}
		}
		return nil
	}
	return next
}

// scan examines all sessions.
func (m *model) scan() tea.Cmd {
	m.scanning, m.progress = true, Progress{}
	clear(m.known)
	m.addSessions(nil)
	begin := m.began.IsZero()
	if begin {
		m.began = m.now()
	}
	return m.stream(func(send func(func() tea.Cmd)) {
		err := m.backend.Scan(m.ctx, func(p Progress) {
			send(func() tea.Cmd {
				m.progress = p
				m.addSessions(p.Found)
				return nil
			})
		})
		send(func() tea.Cmd {
			m.scanning = false
			m.fail(err)
			return nil
		})
		if begin {
			m.backend.Follow(m.ctx, m.began, func(s Session) { send(func() tea.Cmd { return m.updateSession(s) }) })
		}
	})
}

// start runs work that the user asked for in the background, and then the function that the work returns. It cancels
// the previous work, but refuses to start while a change is written.
func (m *model) start(what string, work func(context.Context) func() tea.Cmd) tea.Cmd {
	if m.writing {
		m.say("Wait: a change is being written.", nil)
		return nil
	}
	ctx, n := m.work.next(m.ctx)
	m.running, m.message = what, ""
	return func() tea.Msg {
		do := work(ctx)
		return doneMsg{lane: &m.work, n: n, do: func() tea.Cmd {
			m.running = ""
			return do()
		}}
	}
}

// fail shows an error, if err is not nil, and reports whether it did.
func (m *model) fail(err error) bool {
	if err != nil {
		m.say("", err)
	}
	return err != nil
}

// say shows a text or an error. about has the keys of sessions: if one of these changes, the message is dropped.
func (m *model) say(text string, err error, about ...string) {
	if err != nil {
		text = strings.TrimSpace(text + " " + err.Error())
	}
	m.message, m.failed, m.about = text, err != nil, about
}

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if notes := m.backend.Notes(); len(notes) > m.noted && m.message == "" && m.asking == nil {
		m.say(notes[m.noted], nil)
		m.noted++
	}
	m.layout()
	if read := m.read(); read != nil {
		cmd = tea.Batch(cmd, read)
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		if m.filter.typing {
			m.setFilter(m.filter.text + strings.Join(strings.Fields(msg.Content), " "))
		}
	case doneMsg:
		if msg.lane == nil || msg.n == msg.lane.n {
			return tea.Batch(msg.do(), msg.more)
		}
		return msg.more
	}
	return nil
}

// updateSession updates a session that mend or another program has changed. It drops messages and plans about the
// former state of the session.
func (m *model) updateSession(s Session) tea.Cmd {
	before, key := m.known[s.key()], s.key()
	m.addSessions([]Session{s})
	if cur, ok := m.selectedSession(); ok && cur.key() == key {
		m.reread()
	}
	var cmd tea.Cmd
	if m.inJournal {
		cmd = m.loadJournal
	}
	if before == s {
		return cmd
	}
	if slices.Contains(m.about, key) {
		m.message = ""
	}
	if m.asking != nil && slices.ContainsFunc(m.asking.About, func(o Session) bool { return o.key() == key }) {
		m.asking = nil
		m.say("The session has changed meanwhile. Nothing was done.", nil, key)
	}
	return cmd
}

// The groups of the list.
const (
	groupBroken = iota
	groupRisk
	groupLost
	groupRestorable
	groupHealthy
	groupArchived
)

var groupNames = [...]string{"broken", "at risk", "lost something", "can be brought back", "healthy", "archived"}

func (s Session) group() int {
	switch {
	case s.Severity == "broken":
		return groupBroken
	case s.Lost && s.State == "archived":
		return groupArchived
	case s.Lost:
		return groupRestorable
	case s.Severity == "lost":
		return groupLost
	case s.Severity == "at risk":
		return groupRisk
	}
	return groupHealthy
}

// addSessions adds sessions to the list, or replaces or removes them. The cursor stays with its session.
func (m *model) addSessions(found []Session) {
	selected, ok := m.selectedSession()
	for _, s := range found {
		if s.Gone {
			delete(m.known, s.key())
		} else {
			m.known[s.key()] = s
		}
	}
	m.sessions = slices.SortedFunc(maps.Values(m.known), func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.group(), b.group()), b.Time.Compare(a.Time), cmp.Compare(a.Store, b.Store), cmp.Compare(a.ID, b.ID))
	})
	fit := m.matchingSessions()
	moved := m.list.at > 0 || m.right || !m.scanning // otherwise the worst session is selected as soon as it is found
	if i := slices.IndexFunc(fit, func(o Session) bool { return ok && o.key() == selected.key() }); i >= 0 && moved {
		m.list.at = i
	}
	m.list.move(0, len(fit))
}

// matchingSessions returns the sessions that match the filter.
func (m *model) matchingSessions() []Session {
	words := strings.Fields(strings.ToLower(m.filter.text))
	if len(words) == 0 {
		return m.sessions
	}
	var fit []Session
	for _, s := range m.sessions {
		text := strings.ToLower(strings.Join([]string{s.ID, s.Agent, s.Severity, s.What, s.State, s.Title, s.Folder}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			fit = append(fit, s)
		}
	}
	return fit
}

func (m *model) setFilter(text string) {
	m.filter.text, m.list = text, cursor{}
}

// selectedSession returns the session under the cursor.
func (m *model) selectedSession() (Session, bool) {
	if fit := m.matchingSessions(); m.list.at < len(fit) {
		return fit[m.list.at], true
	}
	return Session{}, false
}

// selectedEntry returns the entry of the journal under the cursor.
func (m *model) selectedEntry() (Entry, bool) {
	if m.log.at < len(m.entries) {
		return m.entries[m.log.at], true
	}
	return Entry{}, false
}

// subject returns an id for the content that the right side should show, "" for nothing, and the function that reads
// it.
func (m *model) subject() (id string, read func(context.Context) ([]Line, error)) {
	if m.inJournal {
		e, ok := m.selectedEntry()
		if !ok {
			return "", nil
		}
		width := textWidth(m.rightWidth())
		return "entry " + e.ID + e.State, func(ctx context.Context) ([]Line, error) { return m.backend.Show(ctx, e.ID, width) }
	}
	s, ok := m.selectedSession()
	switch {
	case !ok:
		return "", nil
	case m.changes:
		return "changes " + s.Store + "\x00" + s.ID, func(ctx context.Context) ([]Line, error) { return m.backend.Changes(ctx, s) }
	}
	return s.Store + "\x00" + s.ID, func(ctx context.Context) ([]Line, error) {
		items, err := m.backend.Conversation(ctx, s)
		return talkLines(items), err
	}
}

// read reads the text of the right side, unless it was read or is being read.
func (m *model) read() tea.Cmd {
	id, read := m.subject()
	if id != m.shownID { // the text shown is of another session
		m.look.next(m.ctx)
		m.shownID, m.pane, m.have, m.loading = id, scroller{}, false, false
	}
	if id == "" || m.have || m.loading {
		return nil
	}
	m.loading = true
	ctx, n := m.look.next(m.ctx)
	return func() tea.Msg {
		select { // the cursor may only be passing this session
		case <-time.After(m.pause):
		case <-ctx.Done():
			return nil
		}
		lines, err := read(ctx)
		if err != nil {
			lines = append(lines, Line{Text: err.Error(), Style: Bad})
		}
		return doneMsg{lane: &m.look, n: n, do: func() tea.Cmd {
			m.fill(lines)
			return nil
		}}
	}
}

// reread makes the next update read the right side again.
func (m *model) reread() { m.have, m.loading = false, false }

// fill shows a text that was read on the right side. If it replaces an older state of the same text, the position
// stays.
func (m *model) fill(lines []Line) {
	again := len(m.pane.text) > 0
	m.pane = scroller{text: lines, top: m.pane.top}
	m.have, m.loading = true, false
	m.layout()
	if !again && !m.inJournal && !m.pane.seek(1, m.bodyHeight()) && !m.changes {
		m.pane.top = len(m.pane.rows) // a conversation is first shown at its end
	}
}

// apply makes the change that the user confirmed.
func (m *model) apply() tea.Cmd {
	c := *m.asking
	m.asking = nil
	cmd := m.start("checking and writing", func(ctx context.Context) func() tea.Cmd {
		text, err := c.Apply(ctx)
		var about []string
		var sessions []Session
		for _, s := range c.About {
			about = append(about, s.key())
			if found, err := m.backend.Examine(m.ctx, s); err == nil {
				sessions = append(sessions, found)
			}
		}
		return func() tea.Cmd {
			m.addSessions(sessions)
			m.say(text, err, about...)
			return m.showResult()
		}
	})
	m.writing = cmd != nil
	return cmd
}

// showResult ends a change. If the change was about one session, the cursor moves there, because u and R act on the
// selected session.
func (m *model) showResult() tea.Cmd {
	m.writing = false
	if i := slices.IndexFunc(m.matchingSessions(), func(s Session) bool { return slices.Contains(m.about, s.key()) }); i >= 0 && len(m.about) == 1 {
		m.list.at = i
	}
	m.reread()
	switch {
	case m.closing:
		return tea.Quit
	case m.inJournal:
		return m.loadJournal
	}
	return nil
}

func (m *model) showJournal() tea.Cmd {
	return m.start("reading the journal", func(context.Context) func() tea.Cmd {
		entries, err := m.backend.Journal(m.ctx)
		return func() tea.Cmd {
			if !m.fail(err) {
				m.entries, m.inJournal, m.right, m.log = entries, true, false, cursor{}
			}
			return nil
		}
	})
}

// loadJournal reads the journal again. The cursor stays with its entry.
func (m *model) loadJournal() tea.Msg {
	entries, err := m.backend.Journal(m.ctx)
	return doneMsg{do: func() tea.Cmd {
		selected, ok := m.selectedEntry()
		if m.fail(err) {
			return nil
		}
		m.entries = entries
		if i := slices.IndexFunc(entries, func(e Entry) bool { return ok && e.ID == selected.ID }); i >= 0 && m.log.at > 0 {
			m.log.at = i
		}
		m.log.move(0, len(entries))
		return nil
	}}
}

// plan plans a change, and asks the user to confirm it.
func (m *model) plan(what string, plan func(context.Context) (Change, error)) tea.Cmd {
	return m.start(what, func(ctx context.Context) func() tea.Cmd {
		c, err := plan(ctx)
		return func() tea.Cmd {
			switch {
			case m.fail(err):
			case c.Apply == nil:
				m.say(c.Question, nil)
			default:
				m.asking, m.title, m.text = &c, "", scroller{text: c.Lines}
			}
			return nil
		}
	})
}
