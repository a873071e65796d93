//go:build e2e

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// kiloVersion is by default the newest version with packages for all platforms.
var kiloVersion = flag.String("kilo", "7.7.9", "the version of Kilo to run")

// kiloFates are the verdicts of Kilo that differ from those of OpenCode 1.18.33.
var kiloFates = map[string]string{
	"message null":                damage.Alive, // it needs no time if there is no role
	"message a list":              damage.Alive,
	"ignored blank answer":        "R10",          // it leaves the text out
	"empty first prompt":          opencode.Alive, // each prompt has a text of its own
	"first prompt lost its parts": opencode.Alive,
	"every prompt lost its parts": opencode.Alive,
	// Like OpenCode 1.2, it does not move text after a call.
	"text between two calls":       "R1",
	"text after tool":              "R1",
	"blank text between two calls": "R1",
	"blank text after tool":        "R1",
}

// TestRealKilo: [TestMatrix] holds for Kilo, too, with the damage that its database can have: its indexes refuse a
// message that is not JSON.
func TestRealKilo(t *testing.T) {
	storetest.Long(t)
	exe, err := opencode.InstallKilo(*kiloVersion)
	if err != nil {
		t.Fatal(err)
	}
	w := agentPool{make(chan *opencode.StoreRunner, 1)}
	var empty string // its database
	for range cap(w.benches) {
		api := endpoint.New(uniqueAnswer)
		t.Cleanup(api.Close)
		h := opencode.NewKilo(t, exe, api, true)
		w.benches <- h.ServeStores(fixtures[2])
		if empty == "" {
			empty = filepath.Join(t.TempDir(), "kilo.db")
			damage.SQL(t, filepath.Join(h.DataDir(), "kilo.db"))("vacuum into ?", empty)
		}
	}
	for _, c := range damage.Table {
		if damage.AddsFile(c.Name) || testing.Short() && !damage.Everyday(c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			ts := newTestStore(t, 2)
			ts.damage(c)
			db := filepath.Join(ts.data, "kilo.db")
			damage.SQL(t, empty)("vacuum into ?", db)
			if err := opencode.CopyRows(ts.path, db, ts.session); err != nil {
				t.Skip("no database of Kilo can have it: ", err)
			}
			if err := os.Remove(ts.path); err != nil {
				t.Fatal(err)
			}
			damage.SQL(t, db)("update session set version = ?", *kiloVersion)
			ts.path, ts.version = db, *kiloVersion
			want := c.Want[2]
			if fate := kiloFates[c.Name]; fate != "" {
				want = fate
			}
			w.try(ts, newTestStore(t, 2).records(), want)
			if code, out := ts.mend("scan"); strings.Contains(out, "OpenCode") || code == frame.ExitUsage {
				t.Errorf("mend scan names OpenCode:\n%s", out)
			}
		})
	}
}
