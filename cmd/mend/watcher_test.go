package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/internal/live"
	"mend/internal/test/damage"
	"mend/journal"
	"mend/testdata"
)

// A fakeOpenCode is an OpenCode server whose only session was refused.
type fakeOpenCode struct {
	version, session, message string
	created                   time.Time
	address                   string // to listen at; "" for a free port

	mu       sync.Mutex
	toasts   []string
	password string
	noEvents bool // it answers for its events with a page
	web      *httptest.Server
}

// start starts the server until the test ends.
func (f *fakeOpenCode) start(t *testing.T) {
	t.Helper()
	f.web = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	if f.address != "" {
		l, err := net.Listen("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.web.Listener.Close()
		f.web.Listener = l
	}
	f.web.Start()
	f.address = f.web.Listener.Addr().String()
	t.Cleanup(f.end)
}

func (f *fakeOpenCode) end() {
	f.web.CloseClientConnections()
	f.web.Close()
}

func (f *fakeOpenCode) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if _, password, _ := r.BasicAuth(); f.password != "" && password != f.password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch path := r.URL.Path; {
	case path == "/global/health":
		fmt.Fprintf(w, `{"healthy":true,"version":%q}`, f.version)
	case path == "/session/"+f.session+"/message":
		fmt.Fprintf(w, `[{"info":{"id":%q,"role":"assistant","time":{"created":%d},"error":{"name":"APIError","data":{"message":%q}}},"parts":[]}]`,
			f.message, f.created.UnixMilli(), refusal)
	case strings.HasSuffix(path, "/message"):
		w.WriteHeader(http.StatusNotFound)
	case path == "/tui/show-toast":
		var body live.Toast
		_ = json.NewDecoder(r.Body).Decode(&body)
		f.mu.Lock()
		f.toasts = append(f.toasts, body.Message)
		f.mu.Unlock()
		fmt.Fprint(w, "true")
	case path == "/global/event" && f.noEvents:
		w.Header().Set("Content-Type", "text/html")
	case path == "/global/event":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"directory\":\"/p\",\"payload\":{\"type\":\"session.error\",\"properties\":{\"sessionID\":%q,\"error\":{\"data\":{\"message\":%q}}}}}\n\n", f.session, refusal)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		fmt.Fprint(w, "true")
	}
}

// addRefused damages the session of an unpacked fixture and adds an answer that was refused.
// It returns the server that reports it.
func addRefused(t *testing.T, data, version string) *fakeOpenCode {
	t.Helper()
	f := &fakeOpenCode{version: version, message: "msg_zzzzzzzzzzzzzzzzzzzzzzzzzz", created: time.Now().Add(time.Hour)} // no session is late
	dir := filepath.Dir(data)
	var err error
	if version == "1.1.53" {
		if f.session, err = testdata.Unpack(testdata.OpenCode1153, dir); err != nil {
			t.Fatal(err)
		}
		storage := filepath.Join(data, "storage")
		damage.Text(damage.Hello, " \n")(damage.Tree{T: t, Root: storage, Session: f.session})
		addFailedMessage(t, storage, f.session, f.created)
		return f
	}
	if f.session, err = testdata.Unpack(testdata.OpenCode11833, dir); err != nil {
		t.Fatal(err)
	}
	sql := damage.SQL(t, filepath.Join(data, "opencode.db"))
	damage.Text(damage.Hello, " \n")(damage.Database{SQL: sql})
	info := fmt.Sprintf(`{"role":"assistant","time":{"created":%d},"error":{"name":"APIError","data":{"message":%q}}}`, f.created.UnixMilli(), refusal)
	sql("insert into message (id, session_id, time_created, time_updated, data) values (?, ?, ?, ?, ?)", f.message, f.session, f.created.UnixMilli(), f.created.UnixMilli(), info)
	return f
}

// A foundServers is what a search for servers finds.
type foundServers struct {
	mu    sync.Mutex
	found probed
}

func (s *foundServers) set(servers ...*fakeOpenCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.servers = nil
	for _, f := range servers {
		s.found.servers = append(s.found.servers, "http://"+f.address)
	}
}

func (s *foundServers) find(_ context.Context, _ []string, skip func(string) bool) probed {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := probed{again: true}
	found.servers = slices.DeleteFunc(slices.Clone(s.found.servers), skip)
	return found
}

// startWatching starts "mend watch" without a store, which finds these servers.
func startWatching(t *testing.T, found *foundServers, data string, args ...string) *runningMend {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the owner of a socket of a test is known on Linux alone")
	}
	t.Setenv("XDG_DATA_HOME", filepath.Dir(data))
	return startMendWith(t, func(a *app) { a.findServers = found.find }, append([]string{"watch"}, args...)...)
}

// end stops mend.
func (r *runningMend) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		t.Errorf("mend = %v", err)
	}
}

// awaitRepairs waits until the journal has n entries.
func (r *runningMend) awaitRepairs(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		es, err := r.opt.Journal.Log(journal.Query{})
		if err == nil && len(es) == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d entries, %v, want %d; log:\n%s", len(es), err, n, r.err.text())
		}
	}
}

// TestWatchServers checks that watch waits for a server, follows several, and follows another
// version at the same address, which reads the sessions from another store.
func TestWatchServers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "opencode")
	found := &foundServers{}
	r := startWatching(t, found, data)
	r.err.await(t, "waiting for one to start")

	tree := addRefused(t, data, "1.1.53")
	tree.start(t)
	other := &fakeOpenCode{version: "1.1.53", session: "ses_other", message: "msg_other", created: tree.created}
	other.start(t)
	found.set(tree, other)
	r.awaitRepairs(t, 1)
	r.err.await(t, "errors are only reported until")
	if len(other.toasts) > 0 {
		t.Errorf("toasts on a server of another store: %q", other.toasts)
	}

	found.set(other)
	tree.end()
	r.err.await(t, "the server has ended")
	database := addRefused(t, data, "1.18.33")
	database.address = tree.address
	database.start(t)
	found.set(other, database)
	r.awaitRepairs(t, 2)
	es, err := r.opt.Journal.Log(journal.Query{})
	if err != nil || es[0].Store.Kind != "sqlite" || es[1].Store.Kind != "json" {
		t.Errorf("entries %+v, %v; want one of the database, and before it one of the tree", es, err)
	}
	r.end(t)
}

// TestWatchNamedServer checks that watch waits for a server that is named, and follows the one
// that comes back at its address.
func TestWatchNamedServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "opencode")
	first := addRefused(t, data, "1.1.53")
	first.start(t)
	first.end()
	r := startWatching(t, &foundServers{}, data, "--server", "http://"+first.address)
	r.err.await(t, "waiting for it")
	first.start(t)
	r.awaitRepairs(t, 1)
	first.end()
	second := addRefused(t, data, "1.18.33")
	second.address = first.address
	second.start(t)
	r.awaitRepairs(t, 2)
	r.end(t)
}

// TestWatchRejected checks that watch follows another server while one rejects the password or
// sends no events, and that this one is asked once.
func TestWatchRejected(t *testing.T) {
	for want, server := range map[string]*fakeOpenCode{
		"asked for a password":   {version: "1.1.53", session: "ses_other", password: "secret"},
		"not an OpenCode server": {version: "1.1.53", session: "ses_other", noEvents: true},
	} {
		t.Run(want, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "opencode")
			server.start(t)
			found := &foundServers{}
			found.set(server)
			r := startWatching(t, found, data)
			r.err.await(t, want)
			good := addRefused(t, data, "1.1.53")
			good.start(t)
			found.set(server, good)
			r.awaitRepairs(t, 1)
			r.end(t)
			if n := strings.Count(r.err.text(), want); n > 1 {
				t.Errorf("asked %d times; log:\n%s", n, r.err.text())
			}
		})
	}
}

// TestWatchNoWait checks that --no-wait ends watch where no server runs.
func TestWatchNoWait(t *testing.T) {
	r := startWatching(t, &foundServers{}, filepath.Join(t.TempDir(), "opencode"), "--no-wait")
	if err := <-r.done; exitCode(err) != exitUsage {
		t.Errorf("watch --no-wait = %v, want %v", err, errNoServer)
	}
}
