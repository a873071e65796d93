package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tmaxmax/go-sse"
)

// maxEvent is the longest event that is read, in bytes: a part can hold a picture.
// The stream is begun anew behind a longer one.
const maxEvent = 32 << 20

// Follow hands the events of all directories to take until the context ends. When
// the stream breaks off, or is silent for longer than its heartbeat allows, it
// connects again, waiting longer each time up to a quarter of a minute; connected,
// if it is not nil, is called each time the stream stands. The error is the
// context's, or wraps [ErrUnauthorized] or [ErrNotOpenCode].
func (s *Server) Follow(ctx context.Context, connected func(), take func(Event)) error {
	wait := &backoff.ExponentialBackOff{
		InitialInterval: s.minWait, MaxInterval: s.maxWait,
		Multiplier: backoff.DefaultMultiplier, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	wait.Reset()
	for {
		err := s.stream(ctx, func() {
			wait.Reset()
			if connected != nil {
				connected()
			}
		}, take)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrNotOpenCode):
			return fmt.Errorf("following the events of %s: %w", s.url, err)
		}
		d := wait.NextBackOff()
		s.log.Warn("the event stream ended; connecting again", "server", s.url.String(), "error", err, "wait", d.Round(time.Millisecond))
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

var (
	errSilent = errors.New("the server is silent")
	errEnded  = errors.New("the server ended the stream")
)

// stream reads one connection to its end; there always is an error.
func (s *Server) stream(ctx context.Context, connected func(), take func(Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(s.silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	resp, err := s.request(ctx, http.MethodGet, "/global/event", nil, nil)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return fmt.Errorf("%w: it answers with %q", ErrNotOpenCode, kind)
	}
	connected()
	body := &watched{resp.Body, func() { alarm.Reset(s.silence) }}
	for e, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: s.maxEvent}) {
		if err != nil {
			return because(ctx, err)
		}
		s.hand(e.Data, take)
	}
	return because(ctx, errEnded)
}

// because is the reason for which the context ended, if it did, or the error.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// hand takes an event out of its envelope.
func (s *Server) hand(data string, take func(Event)) {
	var envelope struct {
		Directory string `json:"directory"`
		Payload   Event  `json:"payload"`
	}
	if err := json.Unmarshal([]byte(data), &envelope); err != nil {
		s.log.Warn("an event that cannot be read", "error", err)
		return
	}
	if Wanted(envelope.Payload.Type) {
		envelope.Payload.Directory = envelope.Directory
		take(envelope.Payload)
	}
}

// A watched reader calls seen for all that comes through it.
type watched struct {
	io.Reader
	seen func()
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if n > 0 {
		w.seen()
	}
	return n, err
}
