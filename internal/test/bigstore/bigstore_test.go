package bigstore

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made lists the records of a store, as text.
func made(t *testing.T, parts int, seed uint64) (texts []string, kinds map[kind]int) {
	t.Helper()
	kinds = map[kind]int{}
	last := map[string]string{}
	err := Varied(parts, seed)(func(r record) error {
		if before := last[r.message]; r.kind == partRecord && r.id <= before {
			t.Errorf("part %s is made behind %s", r.id, before)
		}
		last[r.message] = r.id
		data, err := r.data.text(false)
		if !json.Valid(data) {
			t.Errorf("record %s is not JSON: %s", r.id, data)
		}
		kinds[r.kind]++
		texts = append(texts, r.session+"/"+r.message+"/"+r.id+": "+string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts, kinds
}

func TestSameSeedSameStore(t *testing.T) {
	one, kinds := made(t, 5000, 1)
	if kinds[partRecord] < 5000 || kinds[sessionRecord] == 0 || kinds[messageRecord] < 5000/10 {
		t.Errorf("made %v, want 5000 parts, sessions, and messages of a few parts", kinds)
	}
	again, _ := made(t, 5000, 1)
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("the same seed made another store (-first +second):\n%s", diff)
	}
	if other, _ := made(t, 5000, 2); cmp.Equal(one, other) {
		t.Error("another seed made the same store")
	}
}

// A varied store has what people's stores have.
func TestVaried(t *testing.T) {
	found := map[string]int{}
	err := Varied(20_000, 1)(func(r record) error {
		data, err := r.data.text(false)
		if !json.Valid(data) {
			t.Errorf("record %s is not JSON: %s", r.id, data)
		}
		for _, m := range r.data {
			switch m.name {
			case "type", "version", "error", "summary", "parentID":
				name, _ := m.value.(string)
				if m.name == "parentID" {
					name = ""
				}
				found[m.name+" "+name]++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"type text", "type reasoning", "type tool", "type file", "type agent", "type subtask", "type retry", "type patch", "type compaction",
		"type bookmark", "version 1.1.53", "version 1.1.30", "version 1.0.201", "version 1.2.27", "version 1.18.33", "error ", "summary ", "parentID ",
	} {
		if found[want] == 0 {
			t.Errorf("no record has %s: %v", want, found)
		}
	}
}
