package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/term"
)

func TestParseRestore(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "2h ago": now.Add(-2 * time.Hour), "2 hours ago": now.Add(-2 * time.Hour), "an hour ago": now.Add(-time.Hour), "3d": now.Add(-72 * time.Hour),
		"a week ago": now.Add(-7 * 24 * time.Hour), "30 min": now.Add(-30 * time.Minute), "yesterday": now.Add(-24 * time.Hour), "1h30m": now.Add(-90 * time.Minute),
		"2026-11-20": time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local), "2026-11-20 14:30": time.Date(2026, 11, 20, 14, 30, 0, 0, time.Local),
		"2026-11-20 14:30:05": time.Date(2026, 11, 20, 14, 30, 5, 0, time.Local), "2026-11-20T14:30:00Z": time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC),
	} {
		if r, err := parseRestore(text, now); err != nil || !r.At.Equal(want) || r.State != "" {
			t.Errorf("%q is %v, %q, %v, want %v", text, r.At, r.State, err, want)
		}
	}
	for text, want := range map[string]time.Time{"now": now, "1s ago": now.Add(-time.Second), "30 seconds ago": now.Add(-30 * time.Second), "90s": now.Add(-90 * time.Second)} {
		if r, err := parseRestore(text, now); err != nil || !r.At.Equal(want) || r.State != "" {
			t.Errorf("%q is %v, %q, %v, want %v", text, r.At, r.State, err, want)
		}
	}
	for _, id := range []string{"qevajo", "k12"} {
		if r, err := parseRestore(id, now); err != nil || r.State != id {
			t.Errorf("%q is %+v, %v", id, r, err)
		}
	}
	for _, text := range []string{"3 moons", "-1h", "2026-13-40", "tomorrow morning", "9999999999h"} {
		if r, err := parseRestore(text, now); err == nil {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

// TestRestoreBesideAnother restores all sessions that were missing when they were listed and that another
// mend has restored meanwhile.
func TestRestoreBesideAnother(t *testing.T) {
	ts := newBrokenStore(t, 2)
	var out, errs bytes.Buffer
	env := &frame.Env{Terminal: &term.Terminal{Out: &out, Err: &errs}}
	newRoot(env)
	env.Opt.Store, env.Opt.Journal.Dir, env.Opt.Cache = ts.path, ts.journal, filepath.Join(ts.data, "cache")
	if err := runKeep(t.Context(), env, nil, "", frame.WriteFlags{}); err != nil {
		t.Fatal(err)
	}
	c, err := mend.Open(env.Opt)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var rows []frame.Restorable
	for _, h := range heads {
		rows = append(rows, frame.Restorable{Restorable: mend.Restorable{Session: h, State: mend.Deleted}, Store: c})
	}
	if err := restoreSeveral(t.Context(), env, frame.WriteFlags{Yes: true}, mend.RestoreRequest{}, rows, "Nothing is gone."); err != nil || !strings.Contains(out.String(), "Nothing is gone.") {
		t.Errorf("the output is %s%s, %v, want that no session is missing", &out, &errs, err)
	}
}
