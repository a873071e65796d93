package rollout_test

import (
	"bytes"
	"testing"

	"mend/agent/codex/rollout"
	"mend/change"
	"mend/internal/jsonedit"
	fixture "mend/internal/test/codex"
	"mend/internal/test/mutation"
	"mend/repair"
	"mend/testdata"
)

// TestFutureVersion writes an unknown kind and an unknown field at every place of each kind of record, as a version
// newer than all known ones may write it. It is at most a note, and no repair changes it.
func TestFutureVersion(t *testing.T) {
	data := bytes.ReplaceAll(testdata.Codex, []byte(`"cli_version":"`+fixture.Version+`"`), []byte(`"cli_version":"9.0.0"`))
	data = bytes.ReplaceAll(data, []byte(`"cli_version":"0.169.0"`), []byte(`"cli_version":"9.0.0"`))
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	seen := map[string]bool{}
	for i, line := range lines {
		v := jsonedit.Parse(line)
		kind := v.TextAt("type") + " " + v.TextAt("payload", "type")
		if seen[kind] {
			continue
		}
		seen[kind] = true
		for _, x := range mutation.FutureVersions(line) {
			all := bytes.Join(append(append(append([][]byte{}, lines[:i]...), x.Data), append(lines[i+1:], nil)...), []byte("\n"))
			file := change.Record{Ref: rollout.RefOf(fixture.File, testdata.CodexSession), Data: all, Mode: 0o600}
			c := rollout.New(rollout.Source{Record: file, Plain: all})
			for _, d := range repair.Diagnose(c) {
				if d.Severity != repair.Note || d.Fix != "" {
					t.Errorf("%s, %s: %s is %s, fix %q: %s", kind, x.Name, d.Rule, d.Severity, d.Fix, d.Text)
				}
			}
			r, err := repair.Plan(testdata.CodexSession, c, repair.Request{Options: repair.Options{}, Latent: true})
			if err != nil || len(r.Plan.Ops) > 0 {
				t.Errorf("%s, %s: %d records are changed, %v", kind, x.Name, len(r.Plan.Ops), err)
			}
		}
	}
}
