package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tmaxmax/go-sse"
)

// maxEvent is the maximum length of an event, in bytes; a part can hold an image. A
// longer event ends the connection.
const maxEvent = 32 << 20

// Follow calls handle for the events of all directories until the context ends. If the
// stream ends, or is silent for longer than its heartbeat allows, Follow connects
// again, with delays that grow to 5 seconds until a connection lasts longer than that:
// then a server that breaks each connection costs little, whatever it sends. connected,
// if not nil, is called after each successful connection, and no event is read before it
// returns. The error is the context's, or wraps [ErrUnauthorized], [ErrNotOpenCode] or,
// after [Server.EndWithServer], [ErrServerGone].
func (s *Server) Follow(ctx context.Context, connected func(), handle func(Event)) error {
	wait := &backoff.ExponentialBackOff{
		InitialInterval: s.minWait, MaxInterval: s.maxWait,
		Multiplier: backoff.DefaultMultiplier, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	wait.Reset()
	level := slog.LevelWarn // of the first failure in a row; the others are noise
	for {
		var begin time.Time // of the stream, when connected has returned
		err := s.stream(ctx, func() {
			if connected != nil {
				connected()
			}
			begin = time.Now()
		}, handle)
		if !begin.IsZero() && time.Since(begin) > s.maxWait {
			wait.Reset()
			level = slog.LevelWarn
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrNotOpenCode):
			return fmt.Errorf("following the events of %s: %w", s.url, err)
		case s.ends && isRefused(err):
			return fmt.Errorf("following the events of %s: %w: %w", s.url, ErrServerGone, err)
		}
		d := wait.NextBackOff()
		s.log.Log(ctx, level, "no connection to the server; waiting for it", "server", s.url.String(), "error", err, "wait", d.Round(time.Millisecond))
		level = slog.LevelDebug
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// isRefused reports whether nothing, or something that the guard refuses, listens at the
// address.
func isRefused(err error) bool {
	var dial *net.OpError
	return errors.Is(err, ErrGuarded) || errors.As(err, &dial) && dial.Op == "dial"
}

var (
	errSilent = errors.New("the server is silent")
	errEnded  = errors.New("the server ended the stream")
)

// stream reads one connection to its end. The error is never nil.
func (s *Server) stream(ctx context.Context, connected func(), handle func(Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(s.maxSilence, func() { cancel(errSilent) })
	defer alarm.Stop()
	resp, err := s.request(ctx, http.MethodGet, "/global/event", nil, nil)
	if err != nil {
		return causeOr(ctx, err)
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return fmt.Errorf("%w: it answers with %q", ErrNotOpenCode, kind)
	}
	connected()
	body := &readNotifier{resp.Body, func() { alarm.Reset(s.maxSilence) }}
	level := slog.LevelWarn // of the first event that cannot be read; the others are noise
	for e, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: s.maxEvent}) {
		if err != nil {
			return causeOr(ctx, err)
		}
		if err := dispatch(e.Data, handle); err != nil {
			s.log.Log(ctx, level, "an event that cannot be read", "error", err)
			level = slog.LevelDebug
		}
	}
	return causeOr(ctx, errEnded)
}

// causeOr returns the cause of the end of the context, or err if it has not ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// dispatch unpacks an event and passes it to handle if it is relevant.
func dispatch(data string, handle func(Event)) error {
	var envelope struct {
		Directory string `json:"directory"`
		Payload   Event  `json:"payload"`
	}
	if err := json.Unmarshal([]byte(data), &envelope); err != nil {
		return err
	}
	if kind := envelope.Payload.Type; relevant(kind) {
		envelope.Payload.Directory = envelope.Directory
		handle(envelope.Payload)
	}
	return nil
}

// A readNotifier calls onRead after each read that returns data.
type readNotifier struct {
	io.Reader
	onRead func()
}

func (w *readNotifier) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if n > 0 {
		w.onRead()
	}
	return n, err
}
