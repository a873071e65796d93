package mend_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/internal/unattended"
	"mend/journal"
	"mend/repair"
	"mend/testdata"
)

// blank is a store with a blank answer in its session.
func blank(t *testing.T) (*mend.Store, mend.Options, string) {
	t.Helper()
	dir := storetest.FastDir(t)
	session, err := testdata.Unpack(testdata.OpenCode1153, dir)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "opencode", "storage")
	damage.Text(damage.Hello, " \n")(damage.Tree{T: t, Root: root, Session: session})
	o := mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: root, Journal: mend.OpenJournal(filepath.Join(t.TempDir(), "journal")), Cache: filepath.Join(t.TempDir(), "cache")}
	c, err := mend.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, o, session
}

// The entry of a repair has the error that caused it, even without a class; a healthy session is not changed.
func TestRepair(t *testing.T) {
	for name, e := range map[string]repair.APIError{
		"of its class":    opencode.Agent{}.ParseAPIError([]byte("messages: text content blocks must contain non-whitespace text")),
		"without a class": {Text: "what now", Index: -1, Block: -1},
	} {
		c, o, session := blank(t)
		id, result, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{Error: &e, Placeholder: "[lost]"}, nil)
		if err != nil || id == "" {
			t.Fatalf("%s: Repair = %q, %v", name, id, err)
		}
		es, err := o.Journal.Log(journal.Query{})
		if err != nil || len(es) != 1 || es[0].ID != id || es[0].Cause.Kind != change.CauseError || es[0].Cause.Text != e.Text {
			t.Errorf("%s: journal %+v, %v", name, es, err)
		}
		if len(result.Plan.Ops) == 0 {
			t.Errorf("%s: a result without ops", name)
		}
		if again, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{Error: &e}, nil); again != "" || err != nil {
			t.Errorf("%s: Repair again = %q, %v; want nothing", name, again, err)
		}
	}
}

// If only the provider knows the blocks of an error, the named block is repaired first; when an error of the
// class comes again, all of the kind are. An undone repair does not count (found fault 13.15).
func TestRepairAgain(t *testing.T) {
	signature := opencode.Agent{}.ParseAPIError([]byte("messages.1.content.0: Invalid `signature` in `thinking` block"))
	c, o, session := blank(t)
	head, err := c.Session(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	first, result, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{Error: &signature}, nil)
	if err != nil || result.All || len(result.Suspects) == 0 {
		t.Fatalf("Repair = %v, all %t, %d suspects", err, result.All, len(result.Suspects))
	}
	for _, d := range result.Remaining {
		if d.Severity == repair.Broken {
			t.Errorf("the first repair leaves %+v", d)
		}
	}
	other := opencode.Agent{}.ParseAPIError([]byte("The encrypted content gAAA could not be verified."))
	if r, err := c.ProposeRepair(t.Context(), head, repair.Request{Error: &other}); err != nil || r.All {
		t.Errorf("an error of another class: all %t, %v", r.All, err)
	}
	if r, err := c.ProposeRepair(t.Context(), head, repair.Request{Error: &signature}); err != nil || !r.All || len(r.Suspects) > 0 {
		t.Errorf("the same class again: all %t, %d suspects, %v", r.All, len(r.Suspects), err)
	}
	if _, r, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{Error: &signature}, nil); err != nil || !r.All || len(r.Plan.Ops) < 2 {
		t.Errorf("Repair again: all %t, %d ops, %v", r.All, len(r.Plan.Ops), err)
	}
	var ids []string
	repairs, err := o.Journal.Log(journal.Query{Session: session})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range repairs {
		ids = append(ids, e.ID)
	}
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: ids})
	if err != nil {
		t.Fatalf("undoing %s: %v", first, err)
	}
	if _, err := c.Apply(t.Context(), p); err != nil {
		t.Fatalf("undoing %s: %v", first, err)
	}
	if r, err := c.ProposeRepair(t.Context(), head, repair.Request{Error: &signature}); err != nil || r.All {
		t.Errorf("after an undo: all %t, %v", r.All, err)
	}
	if es, err := o.Journal.Log(journal.Query{}); err != nil || len(es) < 3 {
		t.Errorf("%d entries, %v", len(es), err)
	}
}

func TestRepairUnknown(t *testing.T) {
	c, _, id := blank(t)
	for _, id := range []string{"ses_none", id[:len(id)-1], ""} {
		if _, err := unattended.New(c).Examine(t.Context(), change.Head{ID: id}); !errors.Is(err, mend.ErrNoSession) {
			t.Errorf("Examine(%q) = %v, want %v", id, err, mend.ErrNoSession)
		}
		if _, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: id}, repair.Request{}, nil); !errors.Is(err, mend.ErrNoSession) {
			t.Errorf("Repair(%q) = %v, want %v", id, err, mend.ErrNoSession)
		}
	}
}

// LastChange finds the repair of a session, and then the undo of that repair.
func TestLastChange(t *testing.T) {
	c, _, session := blank(t)
	start := time.Now().Add(-time.Second)
	treated := func(since time.Time) string {
		t.Helper()
		entry, err := unattended.New(c).LastChange(t.Context(), session, since)
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	if entry := treated(start); entry != "" {
		t.Errorf("treated by %s before any repair", entry)
	}
	id, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, later := treated(start), treated(time.Now().Add(time.Minute)); got != id || later != "" {
		t.Errorf("treated by %q since the start, by %q in the future; want %q and none", got, later, id)
	}
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Apply(t.Context(), p)
	if got := treated(start); err != nil || got != e.ID {
		t.Errorf("treated by %q after undo; want %q; %v", got, e.ID, err)
	}
}

// A repair waits until another process of mend releases the journal.
func TestRepairWaits(t *testing.T) {
	c, o, session := blank(t)
	j, err := journal.Open(o.Journal.Dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	healed := make(chan error, 1)
	go func() {
		_, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{}, nil)
		healed <- err
	}()
	select {
	case err := <-healed:
		t.Errorf("Repair = %v beside another mend", err)
	default:
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-healed; err != nil {
		t.Errorf("Repair = %v after another mend", err)
	}
}

// A long-lived client judges a session by the agent's current settings and list of models.
func TestRepairAfterSettingsChange(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	settings, list := filepath.Join(home, "opencode", "opencode.json"), filepath.Join(home, "opencode", "models.json")
	write := func(path, text string) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []struct{ path, chat, anthropic string }{
		{settings, `{"provider": {"anthropic": {"npm": "@ai-sdk/openai-compatible", "models": {"claude-fake": {}}}}}`, `{}`},
		{list, `{"anthropic": {"npm": "@ai-sdk/openai-compatible", "models": {"claude-fake": {}}}}`, `{"anthropic": {"npm": "@ai-sdk/anthropic", "models": {"claude-fake": {}}}}`},
	} {
		c, _, session := blank(t)
		head, err := c.Session(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		repairIf := func() string {
			t.Helper()
			id, _, err := unattended.New(c).Repair(t.Context(), head, repair.Request{Force: true}, func(context.Context, repair.Result) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		write(change.path, change.chat)
		if id := repairIf(); id != "" {
			t.Errorf("%s: a blank answer was repaired for a provider that accepts it", change.path)
		}
		write(change.path, change.anthropic)
		if id := repairIf(); id == "" {
			t.Errorf("%s: the session was not repaired for the provider of the new settings", change.path)
		}
	}
}

// A session is judged by the provider of the next prompt's model.
func TestRepairForModel(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_CACHE_HOME", home)
	chat, xai := request.Model{ProviderID: "mine", ModelID: "model"}, request.Model{ProviderID: "xai", ModelID: "grok"}
	for name, c := range map[string]struct {
		damage string
		model  request.Model
		want   bool
	}{
		"the session's own":                     {"blank answer", request.Model{ProviderID: "anthropic", ModelID: "claude-fake"}, true},
		"none":                                  {"blank answer", request.Model{}, true},
		"one that accepts it":                   {"blank answer", chat, false},
		"none, of a session that is healthy":    {"bad tool name", request.Model{}, false},
		"one that refuses what the own accepts": {"bad tool name", chat, true},
		"of a session that is healthy":          {"", chat, false},
		"one whose rules are not known":         {"bad tool name", xai, true},
	} {
		dir := t.TempDir()
		session, err := testdata.Unpack(testdata.OpenCode11833, dir)
		if err != nil {
			t.Fatal(err)
		}
		db := filepath.Join(dir, "opencode", "opencode.db")
		for _, k := range damage.Table {
			if k.Name == c.damage {
				damage.Edit(t, db, session, k.Apply)
			}
		}
		client, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: db, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: dir})
		if err != nil {
			t.Fatal(err)
		}
		req := repair.Request{Force: true}
		req.Model = c.model
		head, err := client.Session(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		id, result, err := unattended.New(client).Repair(t.Context(), head, req, func(context.Context, repair.Result) error { return nil })
		if err != nil || (id != "") != c.want {
			t.Errorf("%s: repair %q of %v, %v, want one: %v", name, id, result.Fixed, err, c.want)
		}
		if known := result.UnknownProvider == ""; known != (c.model != xai) {
			t.Errorf("%s: unknown provider %q", name, result.UnknownProvider)
		}
	}
}
