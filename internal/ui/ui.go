// Package ui is the screen of "mend ui": the sessions of all stores, what the provider will see of one, what
// a repair changes, and the journal. It knows sessions and repairs as texts alone: what they are and how they
// are changed is behind the [Backend]. Nothing is changed before the user has seen the change and answered
// yes.
//
// Work runs in the background; keys are always answered. While a change is written the screen stays: it ends
// by itself, and then the screen closes if the user asked for that.
package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A Session is a line of the list.
type Session struct {
	ID, Store string // together they name the session
	Severity  string // "broken", "at risk", "note" or "healthy"
	Class     string // what is wrong, in a few words
	Age       string
	Title     string
	Place     string // the folder, and the store if there are several
	Rank      int    // the worst first
}

// A Detail is what is known about one session.
type Detail struct {
	Findings []string
	Request  []string // the next request; a line with the mark "▲" is a violation
	Changes  []string // what a repair changes, as a diff
}

// An Entry is a line of the journal.
type Entry struct {
	ID, Text string
}

// A Change is one that the user is asked about.
type Change struct {
	Question string
	Lines    []string // what it changes
	// Apply makes the change and says in a sentence what was done.
	Apply func(ctx context.Context) (string, error)
	// Hint is a sentence about a key that reverts the change. It is shown after Apply, while the
	// session that was selected then still is.
	Hint string
}

// Progress is a step of a scan.
type Progress struct {
	Found       []Session // that were examined since the last step
	Done, Total int
}

// A Backend has the sessions, the repairs and the journal. Its methods are called in the background, and
// concurrently.
type Backend interface {
	// Scan examines all sessions and calls report now and then.
	Scan(ctx context.Context, report func(Progress)) error
	// Examine examines one session again.
	Examine(ctx context.Context, s Session) (Session, error)
	Detail(ctx context.Context, s Session) (Detail, error)
	// Repair plans the repair of a session. The change has no Apply if there is nothing to repair.
	Repair(ctx context.Context, s Session) (Change, error)
	// Newest returns the session's newest repair that can be undone, or with undone the newest that can be
	// applied again.
	Newest(ctx context.Context, s Session, undone bool) (id string, err error)
	Undo(ctx context.Context, id string) (Change, error)
	Redo(ctx context.Context, id string) (Change, error)
	// Journal lists the repairs, newest first.
	Journal(ctx context.Context) ([]Entry, error)
	Show(ctx context.Context, id string) ([]string, error)
	// Explain explains what is wrong with a session.
	Explain(ctx context.Context, s Session) ([]string, error)
	// Notes returns what the user should know, each text once.
	Notes() []string
}

// Run shows the screen until the user leaves it, or until ctx ends.
func Run(ctx context.Context, b Backend, options ...tea.ProgramOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := tea.NewProgram(newModel(ctx, b), append(options, tea.WithContext(ctx), tea.WithoutSignalHandler())...).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A place is what the screen shows.
type place int

const (
	atSessions place = iota
	atDetail
	atJournal
	atText // an explanation, the help, or a repair
)

// The panes of a session.
var panes = [...]string{"findings", "next request", "before → after"}

const paneRequest = 1

// A filter leaves the sessions that have every word of its text.
type filter struct {
	text   string
	typing bool
}

// A model is the state of the screen.
type model struct {
	ctx           context.Context
	backend       Backend
	width, height int

	at      place
	back    []place // where Esc leads
	job     int     // the number of the work in the background
	cancel  func()  // ends it
	running string  // what runs in the background, "" for nothing
	writing bool    // a change is written: the screen must not close
	closing bool    // the user wants to leave
	message string  // the last result
	failed  bool    // the message is an error
	next    string  // a sentence behind the message while nextFor is selected
	nextFor sessionKey

	sessions []Session // the worst first
	known    map[sessionKey]Session
	progress Progress
	scanning bool
	scans    chan tea.Msg
	filter   filter
	list     cursor

	session Session
	pane    int
	texts   [len(panes)]scroller

	entries     []Entry
	entryCursor cursor

	title  string // of atText
	text   scroller
	asking *Change // the change that the user is asked about
	diff   scroller
}

func newModel(ctx context.Context, b Backend) *model {
	return &model{ctx: ctx, backend: b, width: 80, height: 24, cancel: func() {}}
}

// The messages of work in the background.
type (
	doneMsg struct {
		job int
		msg tea.Msg // one of the others
	}
	progressMsg Progress
	scanDone    struct{ err error }
	detailDone  struct {
		session Session
		detail  Detail
		err     error
	}
	changeDone struct {
		change Change
		err    error
	}
	appliedMsg struct {
		text, hint string
		err        error
	}
	examinedMsg struct {
		session Session
		err     error
	}
	journalDone struct {
		entries []Entry
		err     error
	}
	textDone struct {
		title string
		lines []string
		err   error
	}
)

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.scan() }

// scan examines all sessions in the background. Its steps arrive one after the other.
func (m *model) scan() tea.Cmd {
	m.scanning, m.sessions, m.known, m.progress = true, nil, map[sessionKey]Session{}, Progress{}
	steps := make(chan tea.Msg)
	m.scans = steps
	go func() {
		send := func(msg tea.Msg) {
			select {
			case steps <- msg:
			case <-m.ctx.Done():
			}
		}
		err := m.backend.Scan(m.ctx, func(p Progress) { send(progressMsg(p)) })
		send(scanDone{err})
	}()
	return m.nextStep()
}

// nextStep waits for the next step of the scan.
func (m *model) nextStep() tea.Cmd {
	steps := m.scans
	return func() tea.Msg {
		select {
		case msg := <-steps:
			return msg
		case <-m.ctx.Done():
			return nil
		}
	}
}

// start runs work in the background. It takes the place of other work, but not of a change that is written.
func (m *model) start(what string, work func(context.Context) tea.Msg) tea.Cmd {
	if m.writing {
		m.say("Wait: the change is written.")
		return nil
	}
	m.cancel()
	ctx, cancel := context.WithCancel(m.ctx)
	m.cancel = cancel
	m.job++
	m.running, m.message = what, ""
	job := m.job
	return func() tea.Msg {
		defer cancel()
		return doneMsg{job, work(ctx)}
	}
}

func (m *model) say(text string) { m.message, m.failed, m.next = text, false, "" }

// hint returns the hint of the change that was made, while its key would revert that.
func (m *model) hint() string {
	if s, ok := m.selected(); !ok || m.next == "" || m.failed || s.key() != m.nextFor || m.at != atSessions && m.at != atDetail {
		return ""
	}
	return " " + m.next
}

// finish reports whether work was done, and shows the error if not.
func (m *model) finish(err error) bool {
	if err != nil {
		m.message, m.failed = err.Error(), true
	}
	return err == nil
}

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.layout()
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.filter.typing {
			m.setFilter(m.filter.text + strings.Join(strings.Fields(msg.Content), " "))
		}
	case progressMsg:
		m.progress = Progress(msg)
		m.addSessions(msg.Found)
		return m, m.nextStep()
	case scanDone:
		m.scanning = false
		if msg.err != nil {
			m.message, m.failed = msg.err.Error(), true
		}
	case doneMsg:
		if msg.job == m.job {
			m.running = ""
			return m.Update(msg.msg)
		}
	case detailDone:
		if m.finish(msg.err) {
			m.addSessions([]Session{msg.session})
			m.showDetail(msg.session, msg.detail)
		}
	case changeDone:
		if m.finish(msg.err) {
			m.ask(msg.change)
		}
	case appliedMsg:
		return m, m.applied(msg)
	case examinedMsg:
		if m.finish(msg.err) {
			m.addSessions([]Session{msg.session})
			if m.hint() == "" && m.message != "" && m.next != "" { // it has moved in the list: stay with it
				if i := slices.IndexFunc(m.fitting(), func(s Session) bool { return s.key() == m.nextFor }); i >= 0 {
					m.list.at = i
				}
			}
		}
	case journalDone:
		if m.finish(msg.err) {
			m.entries = msg.entries
			m.goTo(atJournal)
		}
	case textDone:
		if m.finish(msg.err) {
			m.showText(msg.title, msg.lines)
		}
	}
	return m, nil
}

// goTo shows another place. Esc leads back.
func (m *model) goTo(p place) {
	if m.at != p {
		m.back = append(m.back, m.at)
		m.at = p
	}
}

// goBack shows the place before this one.
func (m *model) goBack() {
	if n := len(m.back); n > 0 {
		m.at, m.back = m.back[n-1], m.back[:n-1]
	}
}

// addSessions adds sessions to the list, or replaces them, and keeps the selected one.
func (m *model) addSessions(found []Session) {
	selected, ok := m.selected()
	for _, s := range found {
		m.known[s.key()] = s
	}
	m.sessions = slices.SortedFunc(maps.Values(m.known), func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Store, b.Store), cmp.Compare(a.ID, b.ID))
	})
	if i := slices.IndexFunc(m.fitting(), func(o Session) bool { return ok && m.list.at > 0 && o.key() == selected.key() }); i >= 0 {
		m.list.at = i
	}
	m.list.keepIn(len(m.fitting()))
}

// A sessionKey names a session.
type sessionKey struct{ id, store string }

func (s Session) key() sessionKey { return sessionKey{s.ID, s.Store} }

// fitting returns the sessions that have every word of the filter.
func (m *model) fitting() []Session {
	words := strings.Fields(strings.ToLower(m.filter.text))
	if len(words) == 0 {
		return m.sessions
	}
	var fit []Session
	for _, s := range m.sessions {
		text := strings.ToLower(strings.Join([]string{s.ID, s.Severity, s.Class, s.Title, s.Place}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			fit = append(fit, s)
		}
	}
	return fit
}

func (m *model) setFilter(text string) {
	m.filter.text, m.list = text, cursor{}
}

// selected returns the session under the cursor, or the one that is shown.
func (m *model) selected() (Session, bool) {
	if m.at == atDetail {
		return m.session, true
	}
	if fit := m.fitting(); m.list.at < len(fit) {
		return fit[m.list.at], true
	}
	return Session{}, false
}

func (m *model) showDetail(s Session, d Detail) {
	m.session = s
	for i, lines := range [len(panes)][]string{d.Findings, d.Request, d.Changes} {
		m.texts[i] = newScroller(lines, m.width, wrapsIn(i))
	}
	if m.at != atDetail {
		m.pane = paneRequest
	}
	m.texts[paneRequest].seek(isViolation, m.bodyHeight())
	m.goTo(atDetail)
}

// layout fits the texts to the width of the screen.
func (m *model) layout() {
	for i := range m.texts {
		m.texts[i].layout(m.width, wrapsIn(i))
	}
	m.text.layout(m.width, anyLine)
	m.diff.layout(m.width, anyLine)
}

// wrapsIn returns which lines of a pane are wrapped: in the request a block is one line.
func wrapsIn(pane int) func(string) bool {
	if pane == paneRequest {
		return markedLine
	}
	return anyLine
}

func isViolation(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "▲") }

func (m *model) showText(title string, lines []string) {
	m.title, m.text = title, newScroller(lines, m.width, anyLine)
	m.goTo(atText)
}

// ask shows a change and asks whether to make it.
func (m *model) ask(c Change) {
	if c.Apply == nil {
		m.say(c.Question)
		return
	}
	m.asking, m.diff = &c, newScroller(c.Lines, m.width, anyLine)
}

// apply makes the change that the user agreed to.
func (m *model) apply() tea.Cmd {
	c := *m.asking
	m.asking = nil
	cmd := m.start("checking and writing", func(ctx context.Context) tea.Msg {
		text, err := c.Apply(ctx)
		return appliedMsg{text, c.Hint, err}
	})
	m.writing = cmd != nil
	return cmd
}

// applied shows what became of a change, and examines the session again.
func (m *model) applied(msg appliedMsg) tea.Cmd {
	m.writing = false
	s, ok := m.selected()
	if m.finish(msg.err); msg.err == nil {
		m.say(msg.text)
		m.next, m.nextFor = msg.hint, s.key()
	}
	examine := func() tea.Msg { // also if Esc ends what is read for the screen
		found, err := m.backend.Examine(m.ctx, s)
		return examinedMsg{found, err}
	}
	switch {
	case m.closing:
		return tea.Quit
	case m.at == atJournal && !m.scanning:
		return tea.Batch(m.read("reading the journal", m.loadJournal()), m.scan())
	case m.at == atJournal:
		return m.read("reading the journal", m.loadJournal())
	case !ok:
		return nil
	case m.at == atDetail:
		return tea.Batch(m.read("reading the session", m.loadDetail(s)), examine)
	}
	return examine
}

// read starts work and keeps the message of the work before it.
func (m *model) read(what string, work func(context.Context) tea.Msg) tea.Cmd {
	message, failed := m.message, m.failed
	cmd := m.start(what, work)
	m.message, m.failed = message, failed
	return cmd
}

func (m *model) loadDetail(s Session) func(context.Context) tea.Msg {
	return func(ctx context.Context) tea.Msg {
		found, err := m.backend.Examine(ctx, s)
		if err != nil {
			return detailDone{err: err}
		}
		d, err := m.backend.Detail(ctx, s)
		return detailDone{found, d, err}
	}
}

func (m *model) loadJournal() func(context.Context) tea.Msg {
	return func(ctx context.Context) tea.Msg {
		entries, err := m.backend.Journal(ctx)
		return journalDone{entries, err}
	}
}

// planUndo plans the undo of the selected repair, or of the newest one of the selected session; with
// redo, that it is applied again.
func (m *model) planUndo(redo bool) tea.Cmd {
	plan, what := m.backend.Undo, "planning the undo"
	if redo {
		plan, what = m.backend.Redo, "planning the redo"
	}
	id := ""
	s, ok := m.selected()
	if m.at == atText {
		return nil // it may be about something else than the selected session
	}
	if m.at == atJournal {
		if m.entryCursor.at >= len(m.entries) {
			return nil
		}
		id = m.entries[m.entryCursor.at].ID
	} else if !ok {
		return nil
	}
	return m.start(what, func(ctx context.Context) tea.Msg {
		id, err := id, error(nil)
		if id == "" {
			id, err = m.backend.Newest(ctx, s, redo)
		}
		if err != nil {
			return changeDone{err: err}
		}
		c, err := plan(ctx, id)
		return changeDone{c, err}
	})
}

// counts says how many sessions there are of each severity.
func (m *model) counts() string {
	n := map[string]int{}
	for _, s := range m.sessions {
		n[s.Severity]++
	}
	text := fmt.Sprintf("%d broken, %d at risk, %d healthy", n["broken"], n["at risk"], n["healthy"]+n["note"])
	return text
}
