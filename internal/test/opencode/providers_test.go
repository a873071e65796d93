//go:build e2e

package opencode

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

// TestRealProviders: each kind of damage has the recorded effect with each provider. A short run has one in 32.
func TestRealProviders(t *testing.T) {
	p := ServeProviders(t, "1.18.33")
	for i, settings := range damage.ProviderColumns {
		for _, setting := range settings {
			t.Run(setting, func(t *testing.T) {
				for n, k := range damage.ProviderTable {
					if testing.Short() && (n+3*i)%32 > 0 {
						continue
					}
					t.Run(k.Name, func(t *testing.T) {
						r, changed := p.tryDamage(t, p.Store.Base[setting], k)
						want := k.Want[i]
						if want == damage.NoChange || !changed && !k.OtherAccount {
							want = Alive
						}
						if r.Verdict != want {
							t.Errorf("after %q with %s: %s %s, want %s; reply:\n%.700s", k.Name, setting, r.Verdict, r.Message(), want, r.Output)
						}
					})
				}
			})
		}
	}
}

// tryDamage applies damage to a session and sends a prompt, and reports whether the damage
// changed anything.
func (p *ProviderRunner) tryDamage(t *testing.T, session string, k damage.ProviderKind) (r ProviderResult, changed bool) {
	t.Helper()
	dir := t.TempDir()
	path, err := p.Store.Write(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	damage.Edit(t, path, session, func(s damage.Store) {
		messages, parts := s.Records()
		k.Apply(s)
		messagesNow, partsNow := s.Records()
		changed = !slices.EqualFunc(messages, messagesNow, sameRecord) || !slices.EqualFunc(parts, partsNow, sameRecord)
	})
	if k.OtherAccount {
		p.API.SetAccount("orgB")
		defer p.API.SetAccount("orgA")
	}
	if r, err = p.Try(dir, session); err != nil {
		t.Fatal(err)
	}
	return r, changed
}

// sameRecord reports whether two records have equal ids and, as JSON, equal data.
func sameRecord(a, b damage.Record) bool {
	var x, y any
	if json.Unmarshal([]byte(a.Data), &x) != nil || json.Unmarshal([]byte(b.Data), &y) != nil {
		return a == b
	}
	return a.ID == b.ID && reflect.DeepEqual(x, y)
}

// TestRealProvidersTurns: after an interrupted turn, and after a complete one, a prompt for tools leads to a request
// with their results.
func TestRealProvidersTurns(t *testing.T) {
	storetest.Long(t)
	p := ServeProviders(t, "1.18.33")
	for _, settings := range damage.ProviderColumns {
		for _, setting := range settings {
			for name, session := range map[string]string{"base": p.Store.Base[setting], "killed": p.Store.Killed[setting]} {
				t.Run(setting+"/"+name, func(t *testing.T) {
					dir := t.TempDir()
					if _, err := p.Store.Write(dir, session); err != nil {
						t.Fatal(err)
					}
					r, err := p.tryPrompt(dir, session, "please TOOLS")
					if err != nil {
						t.Fatal(err)
					}
					if r.Verdict != Alive || len(r.Calls) != 2 {
						t.Errorf("a prompt for tools = %s %v, %d requests\n%.1500s", r.Verdict, r.Message(), len(r.Calls), r.Output)
					}
				})
			}
		}
	}
}
