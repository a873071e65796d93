package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mend/change"
	"mend/internal/fail"
)

// Errors of a [Server] that a retry does not fix.
var (
	ErrUnauthorized error = fail.New(fail.Refused, "set $OPENCODE_SERVER_PASSWORD", "the server asked for a password, or rejected this one")
	ErrNotOpenCode  error = fail.New(fail.Usage, "", "this is not an OpenCode server")
	ErrServerGone         = errors.New("the server is gone")            // see [Server.EndWithServer]
	ErrGuarded            = errors.New("the connection is not allowed") // see [Server.Guard]
)

// A Server is a running OpenCode server, reached over its HTTP API. It is safe for
// concurrent use.
type Server struct {
	url            *url.URL
	user, password string
	client         *http.Client
	timeout        time.Duration // of each step of a request, and of a whole call
	guard          func(net.Addr) error
	ends           bool // see [Server.EndWithServer]
	log            *slog.Logger

	// For the event stream: see [Server.Follow].
	maxSilence, minWait, maxWait time.Duration
	maxEvent                     int
}

// defaultUser is the user name if only a password is given.
const defaultUser = "opencode"

// serverTimeout limits connecting, the TLS handshake and the wait for a response, each
// separately. It also limits a whole call whose context has no deadline.
const serverTimeout = 5 * time.Second

// NewServer returns the server at an address such as http://127.0.0.1:4096. It does
// not connect. A password, if not "", is sent as basic authentication; one in the
// address takes precedence. Proxies of the environment are not used, because only the
// server may see the password, and redirects are not followed. A nil log discards.
func NewServer(address, user, password string, log *slog.Logger) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("address %q: want an address such as http://127.0.0.1:4096", redactAddress(u, address))
	}
	s := &Server{
		url: u, user: cmp.Or(user, defaultUser), password: password, log: log,
		maxSilence: time.Minute, minWait: 250 * time.Millisecond, maxWait: 5 * time.Second, maxEvent: maxEvent,
	}
	if p, ok := u.User.Password(); ok {
		s.user, s.password = u.User.Username(), p
	}
	u.User = nil
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.setTimeout(serverTimeout)
	return s, nil
}

// setTimeout creates the HTTP client with this timeout.
func (s *Server) setTimeout(d time.Duration) {
	s.timeout = d
	dialer := &net.Dialer{Timeout: d}
	s.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, address)
				if err != nil || s.guard == nil {
					return conn, err
				}
				if err := s.guard(conn.RemoteAddr()); err != nil {
					return nil, errors.Join(fmt.Errorf("%w: %w", ErrGuarded, err), conn.Close())
				}
				return conn, nil
			},
			ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20,
			TLSHandshakeTimeout: d, ResponseHeaderTimeout: d,
		},
	}
}

// Guard sets a check of the remote address of each new connection. Nothing is sent
// over a connection for which check returns an error. Call Guard before the first
// request. The error of a request then wraps [ErrGuarded].
func (s *Server) Guard(check func(net.Addr) error) { s.guard = check }

// EndWithServer makes [Server.Follow] return when no connection to the server can be made,
// instead of waiting for another server at the address.
func (s *Server) EndWithServer() { s.ends = true }

// String returns the address without user and password.
func (s *Server) String() string { return s.url.String() }

// Close closes idle connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

func redactAddress(u *url.URL, address string) string {
	if u == nil { // not an address, but it may contain a password
		return address[strings.LastIndexByte(address, '@')+1:]
	}
	return u.Redacted()
}

// Version returns the version of the server. The error may wrap [ErrUnauthorized] or
// [ErrNotOpenCode].
func (s *Server) Version(ctx context.Context) (string, error) {
	var health struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"version"`
	}
	if err := s.call(ctx, http.MethodGet, "/global/health", nil, nil, &health); err != nil {
		return "", err
	}
	if health.Version == "" {
		return "", fmt.Errorf("asking %s for its version: %w", s.url, ErrNotOpenCode)
	}
	return health.Version, nil
}

// Messages implements [Agent].
func (s *Server) Messages(ctx context.Context, p SessionRef, limit int) ([]Message, error) {
	query := directoryQuery(p.Directory)
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var ms []Message
	err := s.callSession(ctx, http.MethodGet, p, "message", query, nil, &ms)
	sortMessages(ms)
	return ms, err
}

// sortMessages sorts messages into the order in which the agent reads them.
func sortMessages(ms []Message) {
	slices.SortStableFunc(ms, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Info.Time.Created, b.Info.Time.Created), cmp.Compare(a.Info.ID, b.Info.ID))
	})
}

// Busy implements [Agent].
func (s *Server) Busy(ctx context.Context, p SessionRef) (bool, error) {
	var all map[string]struct {
		Type string `json:"type"`
	}
	err := s.call(ctx, http.MethodGet, "/session/status", directoryQuery(p.Directory), nil, &all)
	status, ok := all[p.ID]
	return ok && status.Type != "idle", err
}

// Abort implements [Agent].
func (s *Server) Abort(ctx context.Context, p SessionRef) error {
	return s.callSession(ctx, http.MethodPost, p, "abort", directoryQuery(p.Directory), nil, nil)
}

// Toast implements [Agent].
func (s *Server) Toast(ctx context.Context, dir string, t Toast) error {
	return s.call(ctx, http.MethodPost, "/tui/show-toast", directoryQuery(dir), t, nil)
}

// Prompt implements [Agent].
func (s *Server) Prompt(ctx context.Context, p SessionRef, prompt Prompt) error {
	return s.callSession(ctx, http.MethodPost, p, "prompt_async", directoryQuery(p.Directory), prompt, nil)
}

// Publish implements [Agent].
func (s *Server) Publish(ctx context.Context, dir, event string) error {
	return s.call(ctx, http.MethodPost, "/tui/publish", directoryQuery(dir), published(event), nil)
}

// callSession calls an action of a session. Invalid ids such as ".." are refused,
// because they would change the path.
func (s *Server) callSession(ctx context.Context, method string, p SessionRef, action string, query url.Values, body, result any) error {
	if err := change.ValidateID(p.ID); err != nil {
		return fmt.Errorf("%s %s of a session: %w", method, cmp.Or(action, "head"), err)
	}
	return s.call(ctx, method, strings.TrimSuffix("/session/"+url.PathEscape(p.ID)+"/"+action, "/"), query, body, result)
}

func directoryQuery(dir string) url.Values {
	v := url.Values{}
	if dir != "" {
		v.Set("directory", dir)
	}
	return v
}

// maxResponse is the maximum length of a response, in bytes. A longer session is read
// from the store.
const maxResponse = 64 << 20

// call makes one request and decodes the response into result, if that is not nil.
func (s *Server) call(ctx context.Context, method, path string, query url.Values, body, result any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	resp, err := s.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if result == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxResponse)) // lets the connection be reused
		return err
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxResponse)).Decode(result); err != nil {
		if !strings.Contains(resp.Header.Get("Content-Type"), "json") {
			err = ErrNotOpenCode
		}
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// request sends a request. It returns only responses with a 2xx status.
func (s *Server) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var data io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		data = bytes.NewReader(b)
	}
	u := s.url.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), data)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.password != "" {
		req.SetBasicAuth(s.user, s.password)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, statusError(method, path, resp)
}

// statusError returns the error for a response without a 2xx status, with the start of
// its body.
func statusError(method, path string, resp *http.Response) error {
	if resp.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%s %s: %w", method, path, ErrUnauthorized)
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(text))
}
