package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/change"
)

// newServer returns a Server of a handler, with short reconnection delays.
func newServer(t *testing.T, handler http.HandlerFunc) *Server {
	t.Helper()
	web := httptest.NewServer(handler)
	s, err := NewServer(web.URL, "", "", logTo(t))
	if err != nil {
		t.Fatal(err)
	}
	s.minWait, s.maxWait, s.maxSilence = time.Millisecond, 5*time.Millisecond, 5*time.Second
	t.Cleanup(func() {
		s.Close()
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// TestRequests checks the HTTP request of each call.
func TestRequests(t *testing.T) {
	var got []string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/session/ses_1/message":
			fmt.Fprint(w, `[{"info":{"id":"msg_b","role":"assistant","time":{"created":2},"finish":"stop"},"parts":[]},
				{"info":{"id":"msg_a","role":"user","time":{"created":1},"model":{"providerID":"p","modelID":"m"}},"parts":[{"id":"prt_1","type":"text","text":"x"}]},
				{"info":{"id":"msg_c","role":"user","time":{}}}]`)
		case "/session/status":
			fmt.Fprint(w, `{"ses_1":{"type":"busy"},"ses_3":{"type":"idle"},"ses_4":{"type":"retry"}}`)
		case "/global/health":
			fmt.Fprint(w, `{"healthy":true,"version":"1.18.33"}`)
		default:
			fmt.Fprint(w, "true")
		}
	})
	ctx, at := t.Context(), SessionRef{"ses_1", "/a b"}
	ms, err := s.Messages(ctx, at, 2)
	if err != nil || len(ms) != 3 || ms[0].Info.ID != "msg_c" || ms[1].Info.ID != "msg_a" || ms[2].Info.Finish != "stop" {
		t.Errorf("Messages = %v, %v", ms, err)
	}
	for id, want := range map[string]bool{"ses_1": true, "ses_2": false, "ses_3": false, "ses_4": true} {
		if busy, err := s.Busy(ctx, SessionRef{ID: id}); busy != want || err != nil {
			t.Errorf("Busy(%s) = %t, %v, want %t", id, busy, err, want)
		}
	}
	got = got[:1]
	version, err := s.Version(ctx)
	err = errors.Join(
		err,
		s.Abort(ctx, at),
		s.Toast(ctx, "", Toast{"T", "m", VariantWarning, 3000}),
		s.Prompt(ctx, at, resumePrompt(&Message{Info: prompt("msg_1", "").Info})))
	if err != nil || version != "1.18.33" {
		t.Errorf("version %s, %v", version, err)
	}
	want := []string{
		"GET /session/ses_1/message?directory=%2Fa+b&limit=2",
		"GET /global/health",
		"POST /session/ses_1/abort?directory=%2Fa+b",
		`POST /tui/show-toast {"title":"T","message":"m","variant":"warning","duration":3000}`,
		`POST /session/ses_1/prompt_async?directory=%2Fa+b {"parts":[{"type":"text","text":"[session recovered - continuing previous task]","synthetic":true}],` +
			`"agent":"build","model":{"providerID":"anthropic","modelID":"claude"},"variant":"max","tools":{"bash":true}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestWrongAnswers checks the errors for invalid responses.
func TestWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, body string
		want       string
		is         error
	}{
		{200, "text/html", "<html>", "not an OpenCode server", ErrNotOpenCode},
		{200, "application/json", `{"info":1}`, "reading the answer to GET /session/ses_1/message", nil},
		{200, "application/json", `[{"info":`, "unexpected EOF", nil},
		{200, "application/json", `[{"info":{"time":{"created":"x"}}}]`, "cannot unmarshal", nil},
		{401, "", "", "asked for a password", ErrUnauthorized},
		{404, "application/json", `{"name":"NotFoundError"}`, `404 Not Found: {"name":"NotFoundError"}`, nil},
		{500, "text/plain", strings.Repeat("x", 10_000), "500 Internal Server Error", nil},
		{302, "", "", "302 Found", nil},
	} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.Header().Set("Location", "http://127.0.0.1:9/")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		_, err := s.Messages(t.Context(), SessionRef{ID: "ses_1"}, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%d %s: error %v, want %s", c.status, c.body[:min(20, len(c.body))], err, c.want)
		}
	}
	for _, body := range []string{`{}`, `[]`, ``} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		if v, err := s.Version(t.Context()); err == nil {
			t.Errorf("Version of %q = %q", body, v)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:4096": true, "https://host/path": true, "http://me:pw@host": true,
		"127.0.0.1:4096": false, "ftp://x": false, "http://": false, "": false, "http://a b": false, "::": false,
	} {
		if _, err := NewServer(address, "", "", nil); (err == nil) != ok {
			t.Errorf("NewServer(%q): %v", address, err)
		}
	}
	if _, err := NewServer("ftp://me:secret@host", "", "", nil); strings.Contains(err.Error(), "secret") {
		t.Errorf("the error contains the password: %v", err)
	}
	if _, err := NewServer("http://me:secret@host:port x", "", "", nil); strings.Contains(err.Error(), "secret") {
		t.Errorf("the error contains the password: %v", err)
	}
	if s, err := NewServer("http://me:secret@host", "", "", nil); err != nil || s.String() != "http://host" {
		t.Errorf("String = %s, %v", s, err)
	}
}

// TestPassword checks that the password is sent, and that one in the address takes
// precedence.
func TestPassword(t *testing.T) {
	var user, password string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		fmt.Fprint(w, "true")
	})
	for _, c := range []struct{ inURL, user, password, want string }{
		{"", "", "", "/"},
		{"", "", "pw", "opencode/pw"},
		{"", "me", "pw", "me/pw"},
		{"you:other@", "me", "pw", "you/other"},
	} {
		with, err := NewServer("http://"+c.inURL+s.url.Host, c.user, c.password, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := with.Abort(t.Context(), SessionRef{ID: "ses_1"}); err != nil || user+"/"+password != c.want {
			t.Errorf("%+v: sent %s/%s, %v", c, user, password, err)
		}
		with.Close()
	}
}

// TestBadIDs checks that an invalid id of an event or a caller is never part of a path
// (found fault 13.1).
func TestBadIDs(t *testing.T) {
	requests := make(chan string, 100)
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method + " " + r.URL.String()
		fmt.Fprint(w, "[]")
	})
	f, _ := failedSession(emptyText)
	w := NewWatch(f.hook(Options{}))
	for _, id := range []string{"", ".", "..", "../x", "a/b", "a%2fb", "x?y=1", "x#y", "ses 1", ".ses", "ses_\n", strings.Repeat("s", change.MaxID+1)} {
		at := SessionRef{ID: id}
		_, err := s.Messages(t.Context(), at, 0)
		for _, err := range []error{err, s.Abort(t.Context(), at), s.Prompt(t.Context(), at, Prompt{})} {
			if !errors.Is(err, change.ErrBadID) {
				t.Errorf("a call for session %q = %v, want an error", id, err)
			}
		}
		for kind, properties := range map[string]object{
			EventError:   {"sessionID": id, "error": errorJSON(emptyText)},
			EventIdle:    {"sessionID": id},
			EventMessage: {"info": object{"id": "msg_2", "sessionID": id, "role": "assistant", "error": errorJSON(emptyText)}},
		} {
			raw, err := json.Marshal(properties)
			if err != nil {
				t.Fatal(err)
			}
			w.Accept(Event{Type: kind, Properties: raw})
		}
	}
	w.Close()
	w.Run(t.Context())
	if close(requests); len(requests) > 0 || len(f.recorded()) > 0 {
		t.Errorf("the server got %s and %d more requests, the agent %v", <-requests, len(requests), f.recorded())
	}
}

// TestNothingElsewhere checks that only the server gets requests: redirects and proxies
// are not used, and nothing is sent if the guard refuses a connection (found fault 13.1).
func TestNothingElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s of %s, password %q", r.Method, r.URL, r.Host, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		web := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		defer web.Close()
		s, err := NewServer(web.URL, "", "secret", logTo(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Version(t.Context()); err == nil {
			t.Errorf("Version after a redirect %d: no error", status)
		}
		if err := s.Abort(t.Context(), SessionRef{ID: "ses_1"}); err == nil {
			t.Errorf("Abort after a redirect %d: no error", status)
		}
	}
	guarded, err := NewServer(elsewhere.URL, "", "secret", logTo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer guarded.Close()
	guarded.Guard(func(addr net.Addr) error {
		if addr.String() != strings.TrimPrefix(elsewhere.URL, "http://") {
			t.Errorf("the guard got %s", addr)
		}
		return errTest
	})
	if _, err := guarded.Version(t.Context()); !errors.Is(err, errTest) {
		t.Errorf("Version with a guard = %v", err)
	}
	if guarded.client.Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy may get requests")
	}
}

// TestStalled checks the timeouts for a server that accepts a connection and sends
// nothing, or stops within a response (found fault 13.1).
func TestStalled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it never accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	half := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"healthy":`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer half.Close()
	for _, address := range []string{"http://" + l.Addr().String(), "https://" + l.Addr().String(), half.URL} {
		s, err := NewServer(address, "", "secret", logTo(t))
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if s.timeout > 10*time.Second {
			t.Errorf("the timeout is %s", s.timeout)
		}
		s.setTimeout(50 * time.Millisecond)
		if version, err := s.Version(t.Context()); err == nil {
			t.Errorf("Version of %s = %q, want an error", address, version)
		}
		if address != half.URL { // the timeout of a stream is longer
			if err := s.stream(t.Context(), func() {}, nil); err == nil || errors.Is(err, errSilent) {
				t.Errorf("stream of %s = %v, want a timeout", address, err)
			}
		}
		s.Close()
	}
}

// streamHandler serves each script as one event stream. After the last script it keeps
// connections open.
func streamHandler(scripts ...string) http.HandlerFunc {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		w.Header().Set("Content-Type", "text/event-stream")
		if i < len(scripts) {
			fmt.Fprint(w, scripts[i])
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// eventData returns an event in its envelope, as the server sends it.
func eventData(kind, directory string, properties any) string {
	b, _ := json.Marshal(object{"directory": directory, "payload": object{"type": kind, "properties": properties}})
	return "data: " + string(b) + "\n\n"
}

// followEvents collects n events.
func followEvents(t *testing.T, s *Server, n int) (events []Event, connections int, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = s.Follow(ctx, func() { connections++ }, func(e Event) {
		if events = append(events, e); len(events) == n {
			cancel()
		}
	})
	return events, connections, err
}

// TestFollow checks that events of all directories are delivered, across reconnections,
// invalid events and an event longer than any buffer.
func TestFollow(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	s := newServer(t, streamHandler(
		": hello\n\n"+eventData("server.connected", "", object{})+eventData("session.diff", "/a", object{})+eventData(EventIdle, "/a", object{"sessionID": "ses_1"}),
		"",
		"data: {not json\n\ndata: []\n\nevent: x\ndata: 1\n\n"+eventData("sync", "/a", object{})+eventData(EventError, "/b", object{"long": long}),
		"retry: 1\nid: 7\n"+eventData(EventStatus, "", nil)+eventData(EventIdle, "/c", nil)[:20],
		eventData(EventDeleted, "/d", nil),
	))
	events, connections, err := followEvents(t, s, 4)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Follow = %v", err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Type+" "+e.Directory)
	}
	if diff := cmp.Diff([]string{"session.idle /a", "session.error /b", "session.status ", "session.deleted /d"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if connections != 5 || !strings.Contains(string(events[1].Properties), long) {
		t.Errorf("%d connections, want 5", connections)
	}
}

// TestFollowFatal checks that Follow does not retry a wrong password or another server.
func TestFollowFatal(t *testing.T) {
	for _, c := range []struct {
		status int
		kind   string
		want   error
	}{
		{401, "application/json", ErrUnauthorized},
		{200, "text/html", ErrNotOpenCode},
		{200, "", ErrNotOpenCode},
	} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			fmt.Fprint(w, "<html>")
		})
		if _, _, err := followEvents(t, s, 1); !errors.Is(err, c.want) {
			t.Errorf("%d %q: Follow = %v, want %v", c.status, c.kind, err, c.want)
		}
	}
}

// TestReconnect checks that Follow reconnects after errors and silence, and if the headers of
// the answer never come, as with OpenCode 1.18.33 in the moment in which it begins to listen.
func TestReconnect(t *testing.T) {
	var n atomic.Int32
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) - 1 {
		case 0:
			<-r.Context().Done()
		case 1:
			http.Error(w, "starting", http.StatusServiceUnavailable)
		case 2: // the connection breaks
			panic(http.ErrAbortHandler)
		case 3: // and hangs
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, eventData(EventIdle, "", nil))
		}
	})
	s.setTimeout(200 * time.Millisecond)
	s.maxSilence = 200 * time.Millisecond
	if events, _, _ := followEvents(t, s, 1); len(events) != 1 || n.Load() != 5 {
		t.Errorf("%d events after %d connections, want 1 after 5", len(events), n.Load())
	}
}

// TestServerGone checks that Follow returns when the server has ended, or is not allowed any
// more, if that is asked for, and waits for the server otherwise.
func TestServerGone(t *testing.T) {
	for name, end := range map[string]func(s *Server, web *httptest.Server){
		"ended": func(_ *Server, web *httptest.Server) { go web.CloseClientConnections(); go web.Close() },
		"another one": func(s *Server, _ *httptest.Server) {
			s.Guard(func(net.Addr) error { return errors.New("of another user") })
		},
	} {
		web := httptest.NewServer(streamHandler(eventData(EventIdle, "", nil)))
		s, err := NewServer(web.URL, "", "", logTo(t))
		if err != nil {
			t.Fatal(err)
		}
		s.minWait, s.maxWait = time.Millisecond, time.Millisecond
		s.EndWithServer()
		events := 0
		err = s.Follow(t.Context(), nil, func(Event) {
			events++
			s.Close()
			end(s, web)
		})
		if !errors.Is(err, ErrServerGone) || events != 1 {
			t.Errorf("%s: Follow = %v after %d events, want %v after 1", name, err, events, ErrServerGone)
		}
		web.CloseClientConnections()
		web.Close()
	}
}

// TestHeartbeat checks that heartbeats prevent a reconnection.
func TestHeartbeat(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 10 {
			fmt.Fprint(w, eventData("server.heartbeat", "", nil))
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
		}
		fmt.Fprint(w, eventData(EventIdle, "", nil))
	})
	s.maxSilence = 300 * time.Millisecond
	if events, connections, _ := followEvents(t, s, 1); len(events) != 1 || connections != 1 {
		t.Errorf("%d events over %d connections, want 1 over 1", len(events), connections)
	}
}

// A roundTripper answers requests without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBackoff checks that delays grow, also for a server that accepts each connection and soon
// breaks it, and are short again after a connection that lasted.
func TestBackoff(t *testing.T) {
	idle := eventData(EventIdle, "", nil)
	for name, c := range map[string]struct {
		status int
		body   string
		lasts  time.Duration
	}{
		"no stream":                {status: 502},
		"closes at once":           {status: 200},
		"comments alone":           {200, ": x\n\n", 0},
		"heartbeats alone":         {200, eventData("server.heartbeat", "", nil), 0},
		"garbage":                  {200, "\x00\xff\n\ndata: {\n\n", 0},
		"an event":                 {200, idle, time.Second},
		"a line that is too long":  {200, "data: " + strings.Repeat("x", 4<<10), 0},
		"a long line after events": {200, idle + idle + "data: " + strings.Repeat("x", 4<<10) + "\n\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := &waitLog{}
				s, err := NewServer("http://127.0.0.1:4096", "", "", slog.New(waits))
				if err != nil {
					t.Fatal(err)
				}
				s.maxEvent = 1 << 10
				begin := time.Now()
				s.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					status, body, lasts := c.status, c.body, c.lasts
					if time.Since(begin) > time.Hour {
						status, body, lasts = 200, "", 6*time.Second
					}
					read, write := io.Pipe()
					go func() {
						_, _ = io.WriteString(write, body)
						time.Sleep(lasts)
						_ = write.Close()
					}()
					return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: read, Request: r}, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				if err := s.Follow(ctx, func() { time.Sleep(10 * time.Second) }, func(Event) {}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Follow = %v", err)
				}
				w := waits.all
				if len(w) < 200 {
					t.Fatalf("%d waits in two hours, want more", len(w))
				}
				// Each delay is random within half of its value.
				first, grown, last := w[0], w[10:100], w[len(w)-10:]
				if first > 375*time.Millisecond || slices.Min(grown) < 2500*time.Millisecond || slices.Max(grown) > 7500*time.Millisecond {
					t.Errorf("waits %v, then %v: want them to grow from 250 ms to 5 s", first, grown)
				}
				if slices.Max(last) > 375*time.Millisecond {
					t.Errorf("after connections that lasted: waits %v, want 250 ms", last)
				}
			})
		})
	}
}

// A waitLog records the delays that a Server logs.
type waitLog struct{ all []time.Duration }

func (l *waitLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *waitLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *waitLog) WithGroup(string) slog.Handler            { return l }

func (l *waitLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "wait" {
			l.all = append(l.all, a.Value.Duration())
		}
		return true
	})
	return nil
}

// TestEndlessEvent checks that an endless event is dropped with bounded memory.
func TestEndlessEvent(t *testing.T) {
	var n atomic.Int32
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if n.Add(1) == 2 {
			fmt.Fprint(w, eventData(EventIdle, "", nil))
			return
		}
		fmt.Fprint(w, "data: ")
		for chunk := strings.Repeat("x", 1<<20); r.Context().Err() == nil; {
			if _, err := fmt.Fprint(w, chunk); err != nil {
				return
			}
		}
	})
	s.maxEvent = 8 << 20
	if events, _, _ := followEvents(t, s, 1); len(events) != 1 {
		t.Errorf("%d events, want 1", len(events))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 16<<20 {
		t.Errorf("%d MiB are in use after it", m.HeapInuse>>20)
	}
}
