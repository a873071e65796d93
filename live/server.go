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

	"mend/session"
)

// Errors of a [Server] that trying again does not help.
var (
	ErrUnauthorized = errors.New("the server wants a password, or another one")
	ErrNotOpenCode  = errors.New("this is not an OpenCode server")
)

// A Server is a running OpenCode server, reached over its HTTP API. It may be
// used from several goroutines.
type Server struct {
	url            *url.URL
	user, password string
	client         *http.Client
	patience       time.Duration // of each step of a request, and of a whole call
	guard          func(net.Addr) error
	log            *slog.Logger

	// Of the event stream: see [Server.Follow].
	silence, minWait, maxWait time.Duration
	maxEvent                  int
}

// DefaultUser is the user's name where only a password is given.
const DefaultUser = "opencode"

// patience is how long connecting, a TLS handshake and the start of an answer may
// each take, and a whole call if its context has no deadline.
const patience = 5 * time.Second

// NewServer returns the server at an address such as http://127.0.0.1:4096. It
// does not connect. A password, if it is not "", is sent as basic authentication;
// one in the address goes before it. No proxy of the environment is used, since
// nothing but the server may see the password, and no redirect is followed. A nil
// log is none.
func NewServer(address, user, password string, log *slog.Logger) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("address %q: want one such as http://127.0.0.1:4096", redacted(u, address))
	}
	s := &Server{
		url: u, user: cmp.Or(user, DefaultUser), password: password, log: log,
		silence: time.Minute, minWait: 250 * time.Millisecond, maxWait: 15 * time.Second, maxEvent: maxEvent,
	}
	if p, ok := u.User.Password(); ok {
		s.user, s.password = u.User.Username(), p
	}
	u.User = nil
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.limit(patience)
	return s, nil
}

// limit makes the HTTP client, with that patience.
func (s *Server) limit(d time.Duration) {
	s.patience = d
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
					return nil, errors.Join(err, conn.Close())
				}
				return conn, nil
			},
			ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20,
			TLSHandshakeTimeout: d, ResponseHeaderTimeout: d,
		},
	}
}

// Guard sets a check of the address at the other end of each new connection.
// Nothing is sent over a connection for which it returns an error. It is called
// before the first request.
func (s *Server) Guard(check func(net.Addr) error) { s.guard = check }

// String returns the address, without a user and a password.
func (s *Server) String() string { return s.url.String() }

// Close drops the connections that are not in use.
func (s *Server) Close() { s.client.CloseIdleConnections() }

func redacted(u *url.URL, address string) string {
	if u == nil { // not even an address, but a password may be in it
		return address[strings.LastIndexByte(address, '@')+1:]
	}
	return u.Redacted()
}

// Version asks the server for its version. The error wraps [ErrUnauthorized] or
// [ErrNotOpenCode] if it is that.
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
func (s *Server) Messages(ctx context.Context, p Place, limit int) ([]Message, error) {
	query := directory(p.Directory)
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var ms []Message
	err := s.callSession(ctx, http.MethodGet, p, "message", query, nil, &ms)
	sortMessages(ms)
	return ms, err
}

// sortMessages puts messages in the order in which the agent reads them.
func sortMessages(ms []Message) {
	slices.SortStableFunc(ms, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Info.Time.Created, b.Info.Time.Created), cmp.Compare(a.Info.ID, b.Info.ID))
	})
}

// Busy implements [Agent].
func (s *Server) Busy(ctx context.Context, p Place) (bool, error) {
	var all map[string]struct {
		Type string `json:"type"`
	}
	err := s.call(ctx, http.MethodGet, "/session/status", directory(p.Directory), nil, &all)
	status, ok := all[p.Session]
	return ok && status.Type != "idle", err
}

// Abort implements [Agent].
func (s *Server) Abort(ctx context.Context, p Place) error {
	return s.callSession(ctx, http.MethodPost, p, "abort", directory(p.Directory), nil, nil)
}

// Toast implements [Agent].
func (s *Server) Toast(ctx context.Context, dir string, t Toast) error {
	return s.call(ctx, http.MethodPost, "/tui/show-toast", directory(dir), t, nil)
}

// Prompt implements [Agent].
func (s *Server) Prompt(ctx context.Context, p Place, prompt Prompt) error {
	return s.callSession(ctx, http.MethodPost, p, "prompt_async", directory(p.Directory), prompt, nil)
}

// callSession calls a verb of a session. An id that is none never becomes part of
// a path: ".." would name something else.
func (s *Server) callSession(ctx context.Context, method string, p Place, verb string, query url.Values, body, answer any) error {
	if err := session.ValidateID(p.Session); err != nil {
		return fmt.Errorf("%s %s of a session: %w", method, verb, err)
	}
	return s.call(ctx, method, "/session/"+url.PathEscape(p.Session)+"/"+verb, query, body, answer)
}

func directory(dir string) url.Values {
	v := url.Values{}
	if dir != "" {
		v.Set("directory", dir)
	}
	return v
}

// maxAnswer is how much of an answer is read. A session that is longer is read
// from the store.
const maxAnswer = 64 << 20

// call makes one request and decodes the answer, if it is wanted.
func (s *Server) call(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.patience)
		defer cancel()
	}
	resp, err := s.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if answer == nil {
		_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection is used again
		return err
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
		if !strings.Contains(resp.Header.Get("Content-Type"), "json") {
			err = ErrNotOpenCode
		}
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// request sends a request; an answer that comes back has a good status.
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

// statusError is the error of an answer with a bad status, in the server's words
// if it has some.
func statusError(method, path string, resp *http.Response) error {
	if resp.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%s %s: %w", method, path, ErrUnauthorized)
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(text))
}
