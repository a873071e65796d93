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

// blank returns a store whose session has a blank answer, with its options and the id of the session.
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

// TestRepair: the entry of a repair has the error that caused it, even an error without a class, and a second repair
// changes nothing.
func TestRepair(t *testing.T) {
	for name, e := range map[string]repair.APIError{
		"with a class":    opencode.Agent{}.ParseAPIError([]byte("messages: text content blocks must contain non-whitespace text")),
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
			t.Errorf("%s: the result has no ops", name)
		}
		if again, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{Error: &e}, nil); again != "" || err != nil {
			t.Errorf("%s: Repair again = %q, %v; want nothing", name, again, err)
		}
	}
}

// TestRepairAgain: of an error that only the provider can locate, the first repair changes the named block, and the
// next one for the same class all blocks of that kind. A repair that was undone does not count.
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
		t.Errorf("Repair again: all %t, %d ops, %v, want all and at least 2 ops", r.All, len(r.Plan.Ops), err)
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

// TestRepairUnknown: an unknown id or the start of an id is refused.
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

// TestLastChange: LastChange returns the last change of a session since a time: a repair, and then its undo.
func TestLastChange(t *testing.T) {
	c, _, session := blank(t)
	start := time.Now().Add(-time.Second)
	last := func(since time.Time) string {
		t.Helper()
		entry, err := unattended.New(c).LastChange(t.Context(), session, since)
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	if entry := last(start); entry != "" {
		t.Errorf("LastChange before any repair = %s, want none", entry)
	}
	id, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, later := last(start), last(time.Now().Add(time.Minute)); got != id || later != "" {
		t.Errorf("LastChange = %q since the start, %q since a time in the future, want %q and none", got, later, id)
	}
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Apply(t.Context(), p)
	if got := last(start); err != nil || got != e.ID {
		t.Errorf("LastChange after the undo = %q, want %q; %v", got, e.ID, err)
	}
}

// TestRepairWaits: a repair waits until another process of mend releases the journal.
func TestRepairWaits(t *testing.T) {
	c, o, session := blank(t)
	j, err := journal.Open(o.Journal.Dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	repaired := make(chan error, 1)
	go func() {
		_, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: session}, repair.Request{}, nil)
		repaired <- err
	}()
	select {
	case err := <-repaired:
		t.Errorf("Repair = %v while another process has the journal", err)
	default:
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-repaired; err != nil {
		t.Errorf("Repair = %v after the other process closed the journal", err)
	}
}

// TestRepairAfterSettingsChange: a client that runs for long judges a session by the current settings and list of
// models of the agent.
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

// TestRepairForModel: a session is judged by the provider of the model that the next prompt names, by default of its
// own.
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
		"its own":                               {"blank answer", request.Model{ProviderID: "anthropic", ModelID: "claude-fake"}, true},
		"none":                                  {"blank answer", request.Model{}, true},
		"one that accepts it":                   {"blank answer", chat, false},
		"none, and its own accepts it":          {"bad tool name", request.Model{}, false},
		"one that refuses what its own accepts": {"bad tool name", chat, true},
		"one, and the session is healthy":       {"", chat, false},
		"one with unknown rules":                {"bad tool name", xai, true},
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
