package opencode

import (
	"bytes"
	_ "embed" // the archive
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/testdata"
)

// archiveVersion is the version of OpenCode that wrote providersArchive.
const archiveVersion = "1.18.33"

// providersArchive has one database of that version with two sessions for each setting
// of damage.ProviderColumns: a healthy one, and a fork of it that was killed
// while its tool ran.
//
//go:embed testdata/providers-1.18.33.tar.gz
var providersArchive []byte

// providersDir is the directory of the sessions in the archive.
const providersDir = "/home/user/src/oc/work"

// A ProviderStore is the unpacked archive.
type ProviderStore struct {
	Known        endpoint.Known    // content issued by the providers
	Base, Killed map[string]string // ids of sessions by setting

	path string // of the database
}

// UnpackProviders unpacks the archive.
func UnpackProviders(t testing.TB) *ProviderStore {
	t.Helper()
	dir := t.TempDir()
	if _, err := testdata.Unpack(providersArchive, dir); err != nil {
		t.Fatal(err)
	}
	s := &ProviderStore{path: filepath.Join(dir, "opencode", "opencode.db")}
	state, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err == nil {
		s.Known, err = endpoint.ParseKnown(state)
	}
	var ids []byte
	if err == nil {
		ids, err = os.ReadFile(filepath.Join(dir, "sids.json"))
	}
	if err == nil {
		err = json.Unmarshal(ids, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Write writes a database with one session to the data directory dir and returns its path.
func (s *ProviderStore) Write(dir, session string) (path string, err error) {
	data, err := os.ReadFile(s.path)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "opencode.db")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return "", err
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		return "", err
	}
	script := []string{"pragma foreign_keys = off", "pragma journal_mode = delete"}
	for table, column := range map[string]string{"session": "id", "message": "session_id", "part": "session_id"} {
		script = append(script, "delete from "+table+" where "+column+" <> "+sqlite3.Quote(session))
	}
	return path, errors.Join(db.Exec(strings.Join(append(script, "vacuum"), ";")), db.Close())
}

// moveTo copies the rows into the empty database of another version, with its columns. That becomes the
// store.
func (s *ProviderStore) moveTo(empty, version string) (err error) {
	db, err := sqlite3.Open(empty)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Exec("pragma foreign_keys = off; attach " + sqlite3.Quote(s.path) + " as newer"); err != nil {
		return err
	}
	for _, table := range []string{"project", "session", "message", "part"} {
		st, _, err := db.Prepare("select group_concat('\"' || name || '\"') from pragma_table_info(?, 'main') where name in (select name from pragma_table_info(?, 'newer'))")
		if err != nil {
			return err
		}
		err = errors.Join(st.BindText(1, table), st.BindText(2, table))
		st.Step()
		columns := st.ColumnText(0)
		if err := errors.Join(err, st.Close(), db.Exec(fmt.Sprintf("insert or replace into main.%[1]s (%[2]s) select %[2]s from newer.%[1]s", table, columns))); err != nil {
			return fmt.Errorf("copying table %s: %w", table, err)
		}
	}
	s.path = filepath.Join(filepath.Dir(s.path), version+".db")
	return db.Exec("update session set version = " + sqlite3.Quote(version) + "; detach newer; vacuum into " + sqlite3.Quote(s.path))
}

// A ProviderRunner is a running server that knows a model of each provider, and whose store a test replaces
// repeatedly.
type ProviderRunner struct {
	Store *ProviderStore
	API   *endpoint.Server

	home   *Home
	server *Server
	tries  int
}

// ServeProviders installs and starts a version of OpenCode that has a database, with variables
// in addition to every home's.
func ServeProviders(t testing.TB, version string, vars ...string) *ProviderRunner {
	t.Helper()
	exe, err := Install(version)
	if err != nil {
		t.Fatal(err)
	}
	p := &ProviderRunner{Store: UnpackProviders(t)}
	p.API = endpoint.NewKnown(freshAnswer, p.Store.Known)
	t.Cleanup(p.API.Close)
	p.home = newHome(t, "opencode", exe, p.API, providersConfig(p.API.URL))
	p.home.vars = append(vars, "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_REGION=us-east-1")
	p.home.rename()
	if version != archiveVersion {
		p.home.Serve().Close()
		if err := p.Store.moveTo(filepath.Join(p.home.DataDir(), "opencode.db"), version); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Store.Write(p.home.DataDir(), p.Store.Base["chat"]); err != nil {
		t.Fatal(err)
	}
	damage.SQL(t, filepath.Join(p.home.DataDir(), "opencode.db"))("update session set directory = ?", p.home.Project())
	p.server = p.home.Serve()
	if r := p.send(p.Store.Base["chat"], "is it well?", startTimeout); r.Verdict != Alive {
		t.Fatalf("a prompt before any damage = %s; reply:\n%s", r.Verdict, r.Output)
	}
	return p
}

// freshAnswer returns an answer that is in no fixture, because an endpoint recognises its own answers (R8).
func freshAnswer(n int, r endpoint.Request) endpoint.Content {
	answer := endpoint.Plain(n, r)
	for i, b := range answer {
		if b.Type == "text" {
			answer[i].Text = "Fresh: " + b.Text
		}
	}
	return answer
}

// ConfigHome returns the directory of the program's settings: its XDG_CONFIG_HOME.
func (p *ProviderRunner) ConfigHome() string { return p.home.path(".config") }

// A ProviderResult is the result of a prompt.
type ProviderResult struct {
	Verdict string // Alive, Dead, damage.Endless, damage.NoAnswer, or the first rule that the last request broke
	Calls   []endpoint.Call
	Output  string // the server's reply
}

// Message returns the provider's error text, or the program's if it sent nothing, or "".
func (r ProviderResult) Message() string {
	if n := len(r.Calls); n > 0 && len(r.Calls[n-1].Violations) > 0 {
		return r.Calls[n-1].Violations[0].Message
	}
	var reply struct {
		Info struct {
			Error struct{ Data struct{ Message string } }
		}
	}
	if r.Verdict == Dead && json.Unmarshal([]byte(r.Output), &reply) == nil {
		return reply.Info.Error.Data.Message
	}
	return ""
}

// Try replaces the server's store by the only session of the database in the data directory dir, and sends
// one more prompt in it. The session gets a new id.
func (p *ProviderRunner) Try(dir, session string) (ProviderResult, error) {
	return p.tryPrompt(dir, session, "one more")
}

// tryPrompt is like Try, with another prompt.
func (p *ProviderRunner) tryPrompt(dir, session, prompt string) (ProviderResult, error) {
	p.tries++
	id := fmt.Sprintf("%s%04d", session[:len(session)-4], p.tries)
	db, err := sqlite3.Open(filepath.Join(p.home.DataDir(), "opencode.db"))
	if err != nil {
		return ProviderResult{}, err
	}
	script := exchangeScript(filepath.Join(dir, "opencode.db"), id, providersDir, p.home.Project())
	if err := errors.Join(db.BusyTimeout(timeout), db.Exec(script), db.Close()); err != nil {
		return ProviderResult{}, fmt.Errorf("exchanging the store: %w", err)
	}
	r := p.send(id, prompt, time.Minute)
	if r.Verdict == damage.NoAnswer { // 1.18.33 may never answer the first request for a directory; send started a new server
		r = p.send(id, prompt, timeout)
	}
	return r, nil
}

// compactedQuestion begins the request of a session that the program has just compacted itself: the summary
// contains the prompt.
const compactedQuestion = "What did we do so far?"

// endlessRequests is the number of requests after which a prompt counts as endless. The program sends at most three for
// a prompt that it answers.
const endlessRequests = 8

// send sends a prompt, and aborts it if the program waits for a retry, or does not end. If the program does
// not react to that within wait, it gets a new server.
func (p *ProviderRunner) send(id, prompt string, wait time.Duration) ProviderResult {
	before := len(p.API.Calls())
	type answer struct {
		status int
		text   string
	}
	reply := make(chan answer, 1)
	go func() {
		status, text := p.server.postFor(wait, "/session/"+id+"/message", map[string]any{
			"parts": []any{map[string]any{"type": "text", "text": prompt}},
		})
		reply <- answer{status, text}
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	endless := false
	for {
		select {
		case a := <-reply:
			r := ProviderResult{Verdict: Dead, Output: a.text}
			r.Calls = slices.DeleteFunc(p.API.Calls()[before:], func(c endpoint.Call) bool {
				return c.Title || !bytes.Contains(c.Raw, []byte(prompt)) && !bytes.Contains(c.Raw, []byte(compactedQuestion))
			})
			n := len(r.Calls)
			switch {
			case n > 0 && len(r.Calls[n-1].Violations) > 0:
				r.Verdict = r.Calls[n-1].Violations[0].Rule
			case endless:
				r.Verdict = damage.Endless
			case a.status < 0:
				r.Verdict = damage.NoAnswer
			case n > 0:
				r.Verdict = Alive
			}
			if a.status < 0 {
				p.server.Close()
				p.server = p.home.Serve()
			}
			return r
		case <-tick.C:
		}
		endless = endless || len(p.API.Calls())-before >= endlessRequests
		if endless || p.server.isRetrying(id) {
			p.server.abort(id)
		}
	}
}

// WriteProviderConfig writes the settings that [ServeProviders] uses, with the address of
// the endpoint, and returns the directory that XDG_CONFIG_HOME names.
func WriteProviderConfig(t testing.TB, url string) (configHome string) {
	t.Helper()
	return newHome(t, "opencode", "", nil, providersConfig(url)).path(".config")
}

// providersConfig returns the content of opencode.json with one provider for each setting.
func providersConfig(url string) object {
	model := func(more object) object { return modelConfig(2_000_000, more) }
	bedrock := providerConfig("@ai-sdk/amazon-bedrock", url+"/bedrock", object{
		"anthropic.claude-fake": model(object{"options": object{"reasoningConfig": object{"type": "enabled", "budgetTokens": 1024}}}),
	})
	bedrock["options"].(object)["region"] = "us-east-1"
	return homeConfig("local/fake-model", object{
		"anthropic": providerConfig("@ai-sdk/anthropic", url+"/v1", object{
			"claude-fake": model(object{"options": object{"thinking": object{"type": "enabled", "budgetTokens": 1024}}}),
		}),
		"openai": providerConfig("@ai-sdk/openai", url+"/openai/v1", object{
			"gpt-5-fake":  model(nil),
			"gpt-5-store": model(object{"options": object{"store": true}}),
		}),
		"local": providerConfig("@ai-sdk/openai-compatible", url+"/chat/v1", object{"fake-model": model(nil)}),
		"moonshotai": providerConfig("@ai-sdk/openai-compatible", url+"/kimi/v1", object{
			"kimi-k3-fake": model(object{"interleaved": object{"field": "reasoning_content"}}),
		}),
		"openrouter":     providerConfig("@openrouter/ai-sdk-provider", url+"/openrouter/v1", object{"fake/model": model(nil)}),
		"my-copilot":     providerConfig("@ai-sdk/github-copilot", url+"/copilot/v1", object{"gpt-4-fake": model(nil)}),
		"google":         providerConfig("@ai-sdk/google", url+"/gemini/v1beta", object{"gemini-3-pro-fake": model(nil), "gemini-2.5-pro-fake": model(nil)}),
		"amazon-bedrock": bedrock,
	})
}
