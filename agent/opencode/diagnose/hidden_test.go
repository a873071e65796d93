package diagnose

import (
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/damage"
	"mend/repair"
)

// TestStray: a stray folder or file is one finding without a fix. If it hides records, the session is not healthy.
func TestStray(t *testing.T) {
	for _, c := range []struct {
		name, version string
		kind          change.StrayKind
		want          repair.Severity
		rule, whyNot  string
	}{
		{"an unreadable folder", "", change.StrayHidden, repair.Broken, "hidden", ""},
		{"a link in the place of a folder", "", change.StrayLink, repair.Latent, "linked", ""},
		{"a file in the place of a folder", "1.1.53", change.StrayPlace, repair.Broken, "place", ""},
		{"a file in the place of a folder", "1.2.27", change.StrayPlace, repair.Latent, "place", ""},
		{"a file among the parts", "1.1.53", change.StrayFile, repair.Broken, "beside", "works without the file"},
		{"a file among the parts", "1.2.27", change.StrayFile, repair.Latent, "beside", "works without the file"},
		{"another file", "", change.StrayOther, repair.Note, "stray", ""},
	} {
		s := &record.Session{Head: change.Head{ID: "ses_1", Stray: []change.Stray{{Path: "part/msg_1", Message: "msg_1", Why: "permission denied", Kind: c.kind}}}}
		ds := diagnosed(s, Options{Version: c.version})
		if len(ds) != 1 || ds[0].Severity != c.want || ds[0].Rule != c.rule || ds[0].Fix != "" || ds[0].WhyNot == "" || !strings.Contains(ds[0].WhyNot, c.whyNot) {
			t.Errorf("%s, %s: Diagnose = %+v, want %s %s without a fix: %s", c.version, c.name, ds, c.want, c.rule, c.whyNot)
		}
	}
}

// TestLinkedParts: if the folder of a message's parts is a link, the parts are unknown, so no rule is known to be
// broken.
func TestLinkedParts(t *testing.T) {
	s := unpack(t, 0, func(damage.Store) {}).load()
	prompt := s.Messages[0].Ref.Message
	s.Messages[0].Parts = nil
	broken := func(d repair.Diagnosis) bool { return d.Severity == repair.Broken }
	if ds := diagnosed(s, Options{Now: now}); !slices.ContainsFunc(ds, broken) {
		t.Errorf("Diagnose without the parts of the first prompt = %s, want something broken", summary(ds))
	}
	s.Stray = []change.Stray{{Path: "part/" + prompt, Message: prompt, Why: "it is a link", Kind: change.StrayLink}}
	if ds := diagnosed(s, Options{Now: now}); slices.ContainsFunc(ds, broken) {
		t.Errorf("Diagnose with the parts in a linked folder = %s, want nothing broken", summary(ds))
	}
}

// TestUnlisted: a session that the agent does not list is reported. Only a restore lists it again.
func TestUnlisted(t *testing.T) {
	hide := func(statement string) *record.Session {
		return unpack(t, 2, func(s damage.Store) { s.(damage.Database).SQL(statement) }).load()
	}
	for _, c := range []struct {
		statement string
		want      repair.Severity // 0: it is listed
		shown     repair.Shown
	}{
		{"update session set time_archived = 5", repair.Note, repair.Archived},
		{"update session set parent_id = 'ses_gone'", repair.Note, repair.Hidden},
		{"update session set parent_id = id", 0, repair.Listed},
		{"insert into project (id, worktree, time_created, time_updated, sandboxes) select 'p2', worktree, 1, time_updated + 1, '[]' from project", repair.Broken, repair.Hidden},
		{"insert into project (id, worktree, time_created, time_updated, sandboxes) select 'p2', worktree || '/x', 1, time_updated + 1, '[]' from project", 0, repair.Listed},
		{"insert into project (id, worktree, time_created, time_updated, sandboxes) select 'p2', worktree, 1, time_updated - 1, '[]' from project", 0, repair.Listed},
	} {
		s := hide(c.statement)
		ds := diagnosed(s, Options{Now: now, Version: "1.18.33"})
		if (len(ds) == 1) != (c.want > 0) || len(ds) == 1 && (ds[0].Class != repair.HiddenSession || ds[0].Severity != c.want || ds[0].Shown != c.shown || !strings.Contains(ds[0].WhyNot, "mend restore "+s.ID)) {
			t.Errorf("%s: Diagnose = %s, want %s", c.statement, summary(ds), c.want)
		}
		if r, err := Plan(s, Request{Options: Options{Now: now}, Latent: true}); err != nil || len(r.Plan.Ops) > 0 {
			t.Errorf("%s: Plan has %d ops, %v", c.statement, len(r.Plan.Ops), err)
		}
		r, err := Plan(s, Request{Options: Options{Now: now}, Restore: true})
		if err != nil || (len(r.Plan.Ops) == 1) != (c.want > 0) || r.Plan.Cause.Kind != change.CauseRestore {
			t.Errorf("%s: the restore has %d ops, %v", c.statement, len(r.Plan.Ops), err)
		}
		for _, d := range r.Remaining {
			t.Errorf("%s: the restore leaves %+v", c.statement, d)
		}
	}
}

// TestRowWithoutID: a session's row without an id is broken for the versions that then cannot list any session, and a
// note for the others.
func TestRowWithoutID(t *testing.T) {
	s := &record.Session{Head: change.Head{Stray: []change.Stray{{Path: `session/""`, Why: "its id is NULL, not text", Kind: change.StrayRow}}}}
	for version, want := range map[string]string{"1.18.33": "row", "1.2.27": "stray"} {
		ds := diagnosed(s, Options{Now: now, Version: version})
		if len(ds) != 1 || ds[0].Rule != want || (ds[0].Severity == repair.Broken) != (want == "row") {
			t.Errorf("%s: %+v, want %s", version, ds, want)
		}
	}
}

// TestUnusableSessionID: a session with an id that mend cannot use is not examined, so it is not healthy.
func TestUnusableSessionID(t *testing.T) {
	s := &record.Session{Head: change.Head{Stray: []change.Stray{{Path: `session/"ses_a;b"`, Why: "it holds ';'", Kind: change.StraySession}}}}
	for _, version := range damage.Versions {
		ds := diagnosed(s, Options{Now: now, Version: version})
		if len(ds) != 1 || ds[0].Rule != "row" || ds[0].Severity != repair.Latent {
			t.Errorf("%s: %+v", version, ds)
		}
	}
}

// TestSessionWithoutRecord: a session of a tree that has only its messages left is broken, and has no fix.
func TestSessionWithoutRecord(t *testing.T) {
	s := unpack(t, 0, func(damage.Store) {}).load()
	s.Info, s.InfoMissing = change.Record{}, true
	for _, version := range []string{"1.1.53", ""} { // the version is unknown if no session has a record
		ds := diagnosed(s, Options{Version: version})
		if len(ds) != 1 || ds[0].Rule != "no-session" || ds[0].Severity != repair.Broken || ds[0].Fix != "" || ds[0].WhyNot == "" {
			t.Errorf("Diagnose as %q = %+v, want one that is broken and has no fix", version, ds)
		}
	}
}
