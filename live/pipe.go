package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mend/internal/termjson"
)

// Protocol is the version of the protocol between mend and its plugin. It is
// described in docs/plugin-protocol.md, and changes with every change that the
// other side could not ignore.
const Protocol = 1

// Errors of a [Pipe].
var (
	ErrProtocol = errors.New("the plugin speaks another protocol")
	ErrGone     = errors.New("the agent is gone")
)

// A Pipe is an agent that is reached through the plugin inside it: one JSON
// object a line, over the plugin's pipes to mend.
type Pipe struct {
	out  chan queued
	gone chan struct{} // closed when the plugin's side has ended
	once sync.Once

	mu      sync.Mutex
	last    int
	waiting map[int]chan line
}

// A queued line waits to be written; done, if it is not nil, is closed then.
type queued struct {
	text []byte
	done chan struct{}
}

// NewPipe returns a pipe that writes its lines to out. They are written one after
// the other by a goroutine that ends with the plugin's side.
func NewPipe(out io.Writer) *Pipe {
	p := &Pipe{out: make(chan queued, 16), gone: make(chan struct{}), waiting: map[int]chan line{}}
	go func() {
		for {
			select {
			case q := <-p.out:
				if _, err := out.Write(q.text); err != nil {
					p.end()
				}
				if q.done != nil {
					close(q.done)
				}
			case <-p.gone:
				return
			}
		}
	}()
	return p
}

// end lets every call fail from now on.
func (p *Pipe) end() { p.once.Do(func() { close(p.gone) }) }

// A Hello is what the plugin says first.
type Hello struct {
	Directory string    // that the agent works in
	Plugin    string    // the version of mend that wrote the plugin
	Since     time.Time // when the plugin began to listen; every error of an answer begun later is told
}

// Greet reads the plugin's hello and answers it with mend's version. Where the
// plugin does not say since when it listens, it is since now. A plugin that is gone
// by then may have told something before, which can still be read: that is no
// error. The error wraps [ErrProtocol] if the plugin speaks another protocol; it
// was told so.
func (p *Pipe) Greet(ctx context.Context, in *Lines, version string) (Hello, error) {
	l, err := in.next()
	if err != nil {
		return Hello{}, err
	}
	if l.Type != lineHello || l.Protocol != Protocol {
		err = fmt.Errorf("%w: %s %d, want %s %d", ErrProtocol, l.Type, l.Protocol, lineHello, Protocol)
		return Hello{}, errors.Join(err, p.Bye(ctx, err.Error()))
	}
	h := Hello{Directory: l.Directory, Plugin: l.Plugin, Since: time.Now()}
	if l.Since > 0 {
		h.Since = time.UnixMilli(l.Since)
	}
	if err := p.write(ctx, line{Type: lineHello, Protocol: Protocol, Mend: version}); !errors.Is(err, ErrGone) {
		return h, err
	}
	return h, nil
}

// Bye tells the plugin that mend ends, and is not to be started again. It returns
// when that is written.
func (p *Pipe) Bye(ctx context.Context, reason string) error {
	return p.write(ctx, line{Type: lineBye, Reason: reason})
}

// write returns when the line is written.
func (p *Pipe) write(ctx context.Context, l line) error {
	done := make(chan struct{})
	if err := p.queue(ctx, l, done); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-p.gone:
		return ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Serve reads what the plugin sends until it ends, and hands the events to take.
// The error is nil at the end of the input. Lines of unknown types are ignored.
func (p *Pipe) Serve(in *Lines, take func(Event)) error {
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
				take(*l.Event)
			}
		case lineAnswer:
			p.answer(l)
		}
	}
}

// answer hands an answer to the call that waits for it.
func (p *Pipe) answer(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to, ok := p.waiting[l.ID]; ok {
		delete(p.waiting, l.ID)
		to <- l // there is room for it
	}
}

// queue lets a line be written.
func (p *Pipe) queue(ctx context.Context, l line, done chan struct{}) error {
	b, err := termjson.Marshal(l)
	if err != nil {
		return err
	}
	select {
	case p.out <- queued{append(b, '\n'), done}:
		return nil
	case <-p.gone:
		return ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call makes a call and decodes the answer, if it is wanted.
func (p *Pipe) call(ctx context.Context, l line, answer any) error {
	to := make(chan line, 1)
	p.mu.Lock()
	p.last++
	l.Type, l.ID = lineCall, p.last
	p.waiting[l.ID] = to
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, l.ID)
	}()
	if err := p.queue(ctx, l, nil); err != nil {
		return fmt.Errorf("calling %s: %w", l.Method, err)
	}
	select {
	case l := <-to:
		return decodeAnswer(l, answer)
	case <-p.gone:
		return fmt.Errorf("calling %s: %w", l.Method, ErrGone)
	case <-ctx.Done():
		return fmt.Errorf("calling %s: %w", l.Method, ctx.Err())
	}
}

func decodeAnswer(l line, answer any) error {
	if l.Error != "" {
		return errors.New(l.Error)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(l.Data, answer)
}

// Messages implements [Agent].
func (p *Pipe) Messages(ctx context.Context, s Place, limit int) ([]Message, error) {
	var ms []Message
	err := p.call(ctx, line{Method: "messages", Session: s.Session, Limit: limit}, &ms)
	sortMessages(ms)
	return ms, err
}

// Busy implements [Agent].
func (p *Pipe) Busy(ctx context.Context, s Place) (busy bool, err error) {
	err = p.call(ctx, line{Method: "busy", Session: s.Session}, &busy)
	return busy, err
}

// Abort implements [Agent].
func (p *Pipe) Abort(ctx context.Context, s Place) error {
	return p.call(ctx, line{Method: "abort", Session: s.Session}, nil)
}

// Toast implements [Agent].
func (p *Pipe) Toast(ctx context.Context, _ string, t Toast) error {
	return p.call(ctx, line{Method: "toast", Body: t}, nil)
}

// Prompt implements [Agent].
func (p *Pipe) Prompt(ctx context.Context, s Place, prompt Prompt) error {
	return p.call(ctx, line{Method: "prompt", Session: s.Session, Body: prompt}, nil)
}
