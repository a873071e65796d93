package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"mend/internal/termjson"
)

// Protocol is the version of the protocol between mend and its plugin (docs/plugin-protocol.md). Incompatible changes
// increase it.
const Protocol = 2

// oldestProtocol is the oldest version that mend supports. A hello of a plugin names the oldest version that the plugin
// supports, and the newest one as max.
const oldestProtocol = 1

// Errors of a [Pipe].
var (
	errProtocol   = errors.New("the plugin uses another protocol")
	errAgentEnded = errors.New("the agent has ended")
)

// A Pipe is an agent that is reached through its plugin. Each side writes one JSON object per line.
type Pipe struct {
	timeout time.Duration // of one call

	out     io.Writer
	writing chan struct{} // holds a value while a line is written
	ended   chan struct{} // closed when the plugin has closed its side
	endOnce sync.Once

	mu      sync.Mutex
	lastID  int
	pending map[int]chan line
}

// NewPipe returns a pipe that writes its lines to out.
func NewPipe(out io.Writer) *Pipe {
	return &Pipe{
		timeout: defaultTimeout, out: out, writing: make(chan struct{}, 1),
		ended: make(chan struct{}), pending: map[int]chan line{},
	}
}

// defaultTimeout limits one call.
const defaultTimeout = 5 * time.Second

// end makes all current and later calls fail.
func (p *Pipe) end() { p.endOnce.Do(func() { close(p.ended) }) }

// A Hello is the first line of the plugin.
type Hello struct {
	Directory string    // the agent's working directory
	Plugin    string    // the version of mend that wrote the plugin
	Protocol  int       // the protocol of both sides
	Since     time.Time // when the plugin started to listen; it reports the errors of all messages created later
	Once      bool      // the agent ends with its turn
}

// Handshake reads the plugin's hello and answers with mend's version. If the hello has no Since, it is set to the
// current time. A plugin that has already closed its input is not an error, because its lines can still be read. If the
// plugin uses another protocol, Handshake sends bye, and the error wraps errProtocol.
func (p *Pipe) Handshake(ctx context.Context, in *LineReader, version string) (Hello, error) {
	l, err := in.next()
	if err != nil {
		return Hello{}, err
	}
	if l.Type != lineHello || l.Protocol < oldestProtocol || l.Protocol > Protocol {
		err = fmt.Errorf("%w: %.40s %d, want %s %d", errProtocol, l.Type, l.Protocol, lineHello, oldestProtocol)
		return Hello{}, errors.Join(err, p.Bye(ctx, err.Error()))
	}
	h := Hello{Directory: l.Directory, Plugin: l.Plugin, Since: time.Now(), Once: l.Once}
	h.Protocol = min(max(l.Protocol, l.Max), Protocol)
	if l.Since > 0 {
		h.Since = time.UnixMilli(l.Since)
	}
	err = p.send(ctx, line{Type: lineHello, Protocol: h.Protocol, Mend: version})
	if errors.Is(err, errAgentEnded) {
		err = nil
	}
	return h, err
}

// Bye tells the plugin that mend exits and must not be restarted. It returns when the line is written.
func (p *Pipe) Bye(ctx context.Context, reason string) error {
	return p.send(ctx, line{Type: lineBye, Reason: reason})
}

// An Offer lists the questions that mend answers, and the events it wants.
type Offer struct {
	Wait     time.Duration               // how long the plugin may wait before each prompt; 0: no question
	Hooks    map[HookPoint]time.Duration // the same for the other hook points
	Activity time.Duration               // the interval of the plugin's reports about a subagent; 0: no reports
	Parts    bool                        // the plugin also sends events of parts
}

// Ready makes the plugin an offer. Plugins of protocol 1 ignore it.
func (p *Pipe) Ready(ctx context.Context, o Offer) error {
	l := line{Type: lineReady, Wait: o.Wait.Milliseconds(), Activity: o.Activity.Milliseconds(), Parts: o.Parts}
	for h, wait := range o.Hooks {
		if l.Hooks == nil {
			l.Hooks = map[HookPoint]int64{}
		}
		l.Hooks[h] = wait.Milliseconds()
	}
	return p.send(ctx, l)
}

// An Answerer answers a question of the agent.
type Answerer func(context.Context, Question) (Reply, error)

// Serve reads lines of the plugin until the end of the input, and then returns nil. It calls handle for each
// event. For each question it calls answer in a new goroutine, and sends the result. Lines of unknown types
// are ignored. Serve returns when all questions are answered.
func (p *Pipe) Serve(ctx context.Context, in *LineReader, handle func(Event), answer Answerer) error {
	var questions sync.WaitGroup
	defer questions.Wait()
	defer p.end()
	for {
		l, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch l.Type {
		case lineEvent:
			if l.Event != nil {
				handle(*l.Event)
			}
		case lineAnswer:
			p.deliver(l)
		case lineQuestion:
			questions.Go(func() { p.reply(ctx, l, answer) })
		}
	}
}

func (p *Pipe) reply(ctx context.Context, l line, answer Answerer) {
	got, err := answer(ctx, Question{
		Hook: l.Hook, Call: l.Call, Failed: l.Failed,
		Session: l.Session, Directory: l.Directory, Version: l.Version, Deadline: time.Duration(l.Wait) * time.Millisecond,
		Model: l.Model, Named: l.Named, Agent: l.Agent,
		Begin: func(ctx context.Context) (waits bool, err error) {
			err = p.call(ctx, line{Method: "begin", Question: l.ID}, &waits)
			return waits, err
		},
	})
	r := line{Type: lineReply, ID: l.ID}
	r.Repair, r.Model, r.Refuse, r.Append = got.Repair, got.Model, got.Refuse, got.Append
	if err != nil {
		r.Error = err.Error()
	}
	_ = p.send(ctx, r) // the error is ignored: an agent that has ended needs no answer
}

// deliver passes an answer to the call that waits for it.
func (p *Pipe) deliver(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to, ok := p.pending[l.ID]; ok {
		delete(p.pending, l.ID)
		to <- l // this never blocks: the channel is buffered
	}
}

// send sends a line and returns when it is written. A write that blocks continues in the background. A line that still
// waits for it when the context ends is not sent: the caller may have given up what it asks for.
func (p *Pipe) send(ctx context.Context, l line) error {
	b, err := termjson.Marshal(l)
	if err != nil {
		return err
	}
	select {
	case p.writing <- struct{}{}:
	case <-p.ended:
		return errAgentEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	written := make(chan struct{})
	go func() {
		defer func() { <-p.writing }()
		if _, err := p.out.Write(append(b, '\n')); err != nil {
			p.end()
			return
		}
		close(written)
	}()
	select {
	case <-written:
		return nil
	case <-p.ended:
		return errAgentEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call makes a call and decodes the answer into result, if that is not nil.
func (p *Pipe) call(ctx context.Context, l line, result any) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	to := make(chan line, 1)
	p.mu.Lock()
	p.lastID++
	l.Type, l.ID = lineCall, p.lastID
	p.pending[l.ID] = to
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pending, l.ID)
	}()
	if err := p.send(ctx, l); err != nil {
		return fmt.Errorf("calling %s: %w", l.Method, err)
	}
	select {
	case l := <-to:
		return decodeAnswer(l, result)
	case <-p.ended:
		return fmt.Errorf("calling %s: %w", l.Method, errAgentEnded)
	case <-ctx.Done():
		return fmt.Errorf("calling %s: %w", l.Method, ctx.Err())
	}
}

func decodeAnswer(l line, result any) error {
	if l.Error != "" {
		return fmt.Errorf("%.512s", l.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(l.Data, result)
}

// Messages implements [Agent].
func (p *Pipe) Messages(ctx context.Context, session string, limit int) ([]Message, error) {
	var ms []Message
	err := p.call(ctx, line{Method: "messages", Session: session, Limit: limit}, &ms)
	sortMessages(ms)
	return ms, err
}

// Busy implements [Agent].
func (p *Pipe) Busy(ctx context.Context, session string) (busy bool, err error) {
	err = p.call(ctx, line{Method: "busy", Session: session}, &busy)
	return busy, err
}

// Abort implements [Agent].
func (p *Pipe) Abort(ctx context.Context, session string) error {
	return p.call(ctx, line{Method: "abort", Session: session}, nil)
}

// Toast implements [Agent].
func (p *Pipe) Toast(ctx context.Context, t Toast) error {
	return p.call(ctx, line{Method: "toast", Body: t}, nil)
}

// Prompt implements [Agent].
func (p *Pipe) Prompt(ctx context.Context, session string, prompt Prompt) error {
	return p.call(ctx, line{Method: "prompt", Session: session, Body: prompt}, nil)
}

// Publish implements [Agent].
func (p *Pipe) Publish(ctx context.Context, event string) error {
	return p.call(ctx, line{Method: "publish", Body: pluginEvent(event)}, nil)
}

// pluginEvent returns the event of OpenCode that carries an event to other plugins. Plugins cannot add event types to
// OpenCode, but it accepts any command, and an unknown command has no effect on the screen.
func pluginEvent(event string) any {
	return map[string]any{"type": "tui.command.execute", "properties": map[string]string{"command": event}}
}

// Models returns the models that the agent can use.
func (p *Pipe) Models(ctx context.Context) (all []Model, err error) {
	err = p.call(ctx, line{Method: "models"}, &all)
	return all, err
}

// Parent returns the id of the session that waits for this one, or "".
func (p *Pipe) Parent(ctx context.Context, session string) (id string, err error) {
	err = p.call(ctx, line{Method: "parent", Session: session}, &id)
	return id, err
}

// A line is one line of the protocol, in either direction.
type line struct {
	Type      string          `json:"type"`
	Protocol  int             `json:"protocol,omitempty"`
	Max       int             `json:"max,omitempty"`
	Mend      string          `json:"mend,omitempty"`
	Plugin    string          `json:"plugin,omitempty"`
	Directory string          `json:"directory,omitempty"`
	Since     int64           `json:"since,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Event     *Event          `json:"event,omitempty"`
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Session   string          `json:"session,omitempty"`
	Limit     int             `json:"limit,omitempty"`
	Body      any             `json:"body,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Error     string          `json:"error,omitempty"`
	Version   string          `json:"version,omitempty"`  // of the agent
	Wait      int64           `json:"wait,omitempty"`     // in milliseconds
	Question  int             `json:"question,omitempty"` // the id of a question
	Repair    string          `json:"repair,omitempty"`
	Model     *Model          `json:"model,omitempty"`
	Named     bool            `json:"named,omitempty"` // the prompt names the model
	Agent     string          `json:"agent,omitempty"`
	Parts     bool            `json:"parts,omitempty"`
	Once      bool            `json:"once,omitempty"`

	Hooks    map[HookPoint]int64 `json:"hooks,omitempty"`    // how long to wait there, in milliseconds
	Activity int64               `json:"activity,omitempty"` // in milliseconds
	Hook     HookPoint           `json:"hook,omitempty"`     // of a question
	Call     *ToolCall           `json:"call,omitempty"`
	Failed   []FailedCall        `json:"failed,omitempty"`
	Refuse   string              `json:"refuse,omitempty"`
	Append   []Appended          `json:"append,omitempty"`
}

// The types of lines.
const (
	lineHello  = "hello"  // first line, both directions
	lineBye    = "bye"    // from mend: it exits and must not be restarted
	lineEvent  = "event"  // from the plugin
	lineCall   = "call"   // from mend
	lineAnswer = "answer" // from the plugin, to a call

	lineReady    = "ready"    // from mend: questions are answered
	lineQuestion = "question" // from the plugin
	lineReply    = "reply"    // from mend, to a question
)

// maxLine is the maximum length of a line, in bytes.
const maxLine = 16 << 20

// A LineReader reads lines of the protocol.
type LineReader struct{ scanner *bufio.Scanner }

// NewLineReader returns a LineReader of in. A line has at most 16 MiB.
func NewLineReader(in io.Reader) *LineReader {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	return &LineReader{s}
}

// next returns the next line, or [io.EOF] after the last. A member of an unexpected type, such as the model
// of a damaged prompt, is left out.
func (r *LineReader) next() (l line, err error) {
	if !r.scanner.Scan() {
		if err := r.scanner.Err(); err != nil {
			return l, fmt.Errorf("reading from the plugin: %w", err)
		}
		return l, io.EOF
	}
	text := strings.TrimSpace(r.scanner.Text())
	var other *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(text), &l); err != nil && (!errors.As(err, &other) || other.Field == "") {
		return l, fmt.Errorf("reading from the plugin: %w", err)
	}
	if l.Model != nil && l.Model.ProviderID == "" {
		l.Model = nil
	}
	return l, nil
}
