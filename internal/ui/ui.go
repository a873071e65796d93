// Package ui is the screen of "mend ui": on the left the sessions of all agents, on the right the conversation of the
// selected session. A [Backend] provides both as texts, and makes the changes. The user sees each change and agrees to
// it first.
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
	// Conversation returns the conversation.
	Conversation(ctx context.Context, s Session) ([]Line, error)
	// Continue returns a sentence about how to continue the session.
	Continue(ctx context.Context, s Session) (string, error)

	// Repair plans to repair or restore sessions, as one operation.
	Repair(ctx context.Context, all []Session) (Change, error)
	// Revert plans to undo the newest change of a session, or with redo to apply it again. If it has none, and for the
	// zero Session, that is the newest change of all sessions.
	Revert(ctx context.Context, s Session, redo bool) (Change, error)

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

	work    lane   // started by the user
	running string // a description of that work, "" for none
	writing bool   // a change is being written: the screen must not close
	closing bool   // the user wants to quit
	message string // the last result
	failed  bool   // the message is an error
	noted   int    // number of notes shown

	sessions []Session          // in list order
	known    map[string]Session // the same, by their keys
	scans    lane
	scanning bool
	scanned  bool // a scan has ended
	progress Progress
	filter   struct {
		text   string // only sessions with every word of it are listed
		typing bool
	}
	list cursor

	right    bool // the right side, with the conversation, has the focus
	look     lane
	shownKey string // the key of the session of that conversation, "" for none
	pane     scroller
	have     bool // the conversation was read
	loading  bool
	whole    bool // texts are shown in full

	asking  *Change  // the change to confirm
	helping bool     // the help covers the screen
	text    scroller // of the change or the help
}

func newModel(ctx context.Context, b Backend) *model {
	return &model{ctx: ctx, backend: b, width: 80, height: 24, now: time.Now, known: map[string]Session{}}
}

// A doneMsg is the result of background work. do changes the screen's state, unless newer work of its lane has replaced
// this work.
type doneMsg struct {
	lane *lane
	n    int
	do   func() tea.Cmd
	more tea.Cmd // the rest of the work
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.scan() }

// scan examines all sessions. Those listed before stay until the scan has ended.
func (m *model) scan() tea.Cmd {
	ctx, n := m.scans.next(m.ctx)
	m.scanning, m.progress = true, Progress{}
	found := map[string]Session{}
	steps := make(chan func())
	go func() {
		defer close(steps)
		send := func(do func()) {
			select {
			case steps <- do:
			case <-m.ctx.Done():
			}
		}
		err := m.backend.Scan(ctx, func(p Progress) {
			send(func() {
				m.progress = p
				for _, s := range p.Found {
					found[s.key()], m.known[s.key()] = s, s
				}
				m.sortSessions()
			})
		})
		send(func() {
			again := m.scanned
			m.scanning, m.scanned, m.known = false, true, found
			m.sortSessions()
			m.reread()
			if !again || m.message == "" { // otherwise the result of the change before this scan stays
				m.fail(err)
			}
		})
	}()
	var next tea.Cmd
	next = func() tea.Msg {
		do, ok := <-steps
		if !ok {
			return nil
		}
		return doneMsg{&m.scans, n, func() tea.Cmd {
			do()
			return nil
		}, next}
	}
	return next
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

// say shows a text or an error.
func (m *model) say(text string, err error) {
	if err != nil {
		text = strings.TrimSpace(text + " " + err.Error())
	}
	m.message, m.failed = text, err != nil
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
		if msg.n == msg.lane.n {
			return tea.Batch(msg.do(), msg.more)
		}
		return msg.more
	}
	return nil
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

// sortSessions brings the known sessions into the order of the list. The cursor stays with its session.
func (m *model) sortSessions() {
	selected, ok := m.selectedSession()
	m.sessions = slices.SortedFunc(maps.Values(m.known), func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.group(), b.group()), b.Time.Compare(a.Time), cmp.Compare(a.Store, b.Store), cmp.Compare(a.ID, b.ID))
	})
	if moved := m.list.at > 0 || m.right || m.scanned; ok && moved { // otherwise the worst session is selected as soon as it is found
		m.selectSession(selected.key())
	}
	m.list.move(0, len(m.matchingSessions()))
}

// selectSession moves the cursor to a session, if it is listed.
func (m *model) selectSession(key string) {
	if i := slices.IndexFunc(m.matchingSessions(), func(s Session) bool { return s.key() == key }); i >= 0 {
		m.list.at = i
	}
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

// read reads the conversation of the selected session, unless it was read or is being read.
func (m *model) read() tea.Cmd {
	s, ok := m.selectedSession()
	key := ""
	if ok {
		key = s.key()
	}
	if key != m.shownKey {
		m.look.next(m.ctx)
		m.shownKey, m.pane, m.have, m.loading = key, scroller{}, false, false
	}
	if !ok || m.have || m.loading {
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
		lines, err := m.backend.Conversation(ctx, s)
		if err != nil {
			lines = append(lines, Line{Text: err.Error(), Style: Bad})
		}
		return doneMsg{lane: &m.look, n: n, do: func() tea.Cmd {
			m.fill(lines)
			return nil
		}}
	}
}

// reread makes the next update read the conversation again.
func (m *model) reread() { m.have, m.loading = false, false }

// fill shows a conversation on the right side. If it replaces an older state of the conversation, the position stays.
func (m *model) fill(lines []Line) {
	again := len(m.pane.text) > 0
	m.pane = scroller{text: lines, top: m.pane.top}
	m.have, m.loading = true, false
	m.layout()
	if !again && !m.pane.seek(1, m.bodyHeight()) {
		m.pane.top = len(m.pane.rows) // a conversation without damage is first shown at its end
	}
}

// apply makes the change that the user confirmed, and then scans again. If the change was about one session, the cursor
// moves there, because u and R act on the selected session.
func (m *model) apply() tea.Cmd {
	c := *m.asking
	m.asking = nil
	cmd := m.start("checking and writing", func(ctx context.Context) func() tea.Cmd {
		text, err := c.Apply(ctx)
		return func() tea.Cmd {
			if m.writing = false; m.closing {
				return tea.Quit
			}
			if len(c.About) == 1 {
				m.selectSession(c.About[0].key())
			}
			m.reread()
			m.say(text, err)
			return m.scan()
		}
	})
	m.writing = cmd != nil
	return cmd
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
				m.asking, m.helping, m.text = &c, false, scroller{text: c.Lines}
			}
			return nil
		}
	})
}
