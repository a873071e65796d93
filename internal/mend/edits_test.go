package mend_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/internal/unattended"
	"mend/repair"
	"mend/testdata"
)

// TestProposeEdits checks which damages are repaired in a request alone, that the edits have
// the ids that the agent knows, and that nothing is written.
func TestProposeEdits(t *testing.T) {
	for _, c := range []struct {
		damage string
		want   bool
	}{
		{"blank answer", true},
		{"killed behind reasoning", true},
		{"killed in a call without reasoning", true},
		{"empty callID", true},
		{"last answer dated in the future", false},
		{"", true}, // healthy: no edits
	} {
		for _, archive := range [][]byte{testdata.OpenCode1153, testdata.OpenCode11833} {
			dir := storetest.FastDir(t)
			id, err := testdata.Unpack(archive, dir)
			if err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(dir, "opencode")
			if c.damage != "" {
				damage.Edit(t, storePath(data), id, damage.ByName(t, c.damage))
			}
			client, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: data, Journal: mend.OpenJournal(t.TempDir()), Cache: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			before, err := unattended.New(client).Records(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			_, edits, err := unattended.New(client).ProposeEdits(t.Context(), id, repair.Request{Force: true})
			if !c.want && err == nil && len(edits) == 0 { // this version does not mind
				continue
			}
			if c.want && err != nil || !c.want && (err == nil || !strings.Contains(err.Error(), "in the request alone")) || (len(edits) > 0) != (c.want && c.damage != "") {
				t.Errorf("%s of a %s: %d edits, %v", c.damage, client.ID().Kind, len(edits), err)
			}
			for _, e := range edits {
				var ids struct{ ID, SessionID, MessageID string }
				if e.Data == nil {
					continue
				}
				if err := json.Unmarshal(e.Data, &ids); err != nil || ids.SessionID != id || e.Part != "" && (ids.ID != e.Part || ids.MessageID != e.Message) {
					t.Errorf("%s: edit of %s %s: %s, %v", c.damage, e.Message, e.Part, e.Data, err)
				}
			}
			after, err := unattended.New(client).Records(t.Context(), id)
			if err != nil || len(after) != len(before) {
				t.Fatal(err)
			}
			for i := range after {
				if string(after[i].Data) != string(before[i].Data) {
					t.Errorf("%s: %s was changed", c.damage, after[i].Ref)
				}
			}
		}
	}
}

// storePath returns the database or the tree in a data folder.
func storePath(data string) string {
	if path := filepath.Join(data, "opencode.db"); exists(path) {
		return path
	}
	return filepath.Join(data, "storage")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
