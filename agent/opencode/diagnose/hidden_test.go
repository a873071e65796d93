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

// The content of a folder that cannot be read, or is a link, is unknown, so the session does not count as healthy.
func TestHiddenFolder(t *testing.T) {
	s := &record.Session{Head: change.Head{ID: "ses_1", Stray: []change.Stray{{Path: "part/msg_1", Message: "msg_1", Why: "permission denied", Kind: change.StrayHidden}}}}
	ds := diagnosed(s, Options{})
	if len(ds) != 1 || ds[0].Severity != repair.Broken || ds[0].Fix != "" || ds[0].WhyNot == "" {
		t.Errorf("Diagnose = %+v, want one that is broken and has no fix", ds)
	}
	s.Stray[0].Kind = change.StrayLink
	if ds := diagnosed(s, Options{}); len(ds) != 1 || ds[0].Severity != repair.Latent || ds[0].Rule != "linked" || ds[0].Fix != "" {
		t.Errorf("Diagnose of a link in the place of a folder = %+v, want one that is latent and has no fix", ds)
	}
	s.Stray[0].Kind = change.StrayPlace
	for version, want := range map[string]repair.Severity{"1.1.53": repair.Broken, "1.2.27": repair.Latent} {
		if ds := diagnosed(s, Options{Version: version}); len(ds) != 1 || ds[0].Severity != want || ds[0].Rule != "place" || ds[0].Fix != "" {
			t.Errorf("Diagnose of a file in the place of a folder for %s = %+v, want one that is %s and has no fix", version, ds, want)
		}
	}
	s.Stray[0].Kind = change.StrayFile
	for version, want := range map[string]repair.Severity{"1.1.53": repair.Broken, "1.2.27": repair.Latent} {
		if ds := diagnosed(s, Options{Version: version}); len(ds) != 1 || ds[0].Severity != want || ds[0].Rule != "beside" || ds[0].Fix != "" || !strings.Contains(ds[0].WhyNot, "works without the file") {
			t.Errorf("Diagnose of a file among the parts for %s = %+v, want one that is %s and says how to move it", version, ds, want)
		}
	}
	s.Stray[0].Kind = change.StrayOther
	if ds := diagnosed(s, Options{}); len(ds) != 1 || ds[0].Severity != repair.Note {
		t.Errorf("Diagnose of something that is no record = %+v, want a note", ds)
	}
}

// If the folder of a message's parts is a link, its parts are unknown, so that no rule of the request
// is known to be broken (found fault 13.14).
func TestLinkedParts(t *testing.T) {
	s := unpack(t, 0, func(damage.Store) {}).load()
	prompt := s.Messages[0].Ref.Message
	s.Messages[0].Parts = nil
	broken := func(d repair.Diagnosis) bool { return d.Severity == repair.Broken }
	if ds := diagnosed(s, Options{Now: fixtureTime}); !slices.ContainsFunc(ds, broken) {
		t.Errorf("Diagnose without the parts of the first prompt = %s, want something broken", summary(ds))
	}
	s.Stray = []change.Stray{{Path: "part/" + prompt, Message: prompt, Why: "it is a link", Kind: change.StrayLink}}
	if ds := diagnosed(s, Options{Now: fixtureTime}); slices.ContainsFunc(ds, broken) {
		t.Errorf("Diagnose with the parts in a linked folder = %s, want nothing broken", summary(ds))
	}
}

// A session that the agent does not list is reported. It is listed again only if the user asks for that.
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
		ds := diagnosed(s, Options{Now: fixtureTime, Version: "1.18.33"})
		if (len(ds) == 1) != (c.want > 0) || len(ds) == 1 && (ds[0].Class != repair.HiddenSession || ds[0].Severity != c.want || ds[0].Shown != c.shown || !strings.Contains(ds[0].WhyNot, "mend restore "+s.ID)) {
			t.Errorf("%s: Diagnose = %s, want %s", c.statement, summary(ds), c.want)
		}
		if r, err := Plan(s, Request{Options: Options{Now: fixtureTime}, Latent: true}); err != nil || len(r.Plan.Ops) > 0 {
			t.Errorf("%s: Plan has %d ops, %v", c.statement, len(r.Plan.Ops), err)
		}
		r, err := Plan(s, Request{Options: Options{Now: fixtureTime}, Restore: true})
		if err != nil || (len(r.Plan.Ops) == 1) != (c.want > 0) || r.Plan.Cause.Kind != change.CauseRestore {
			t.Errorf("%s: the restore has %d ops, %v", c.statement, len(r.Plan.Ops), err)
		}
		for _, d := range r.Remaining {
			t.Errorf("%s: the restore leaves %+v", c.statement, d)
		}
	}
}

// A row without an id among the sessions' own is broken for the versions that cannot
// list any session because of it, and a note for the others.
func TestRowWithoutID(t *testing.T) {
	s := &record.Session{Head: change.Head{Stray: []change.Stray{{Path: `session/""`, Why: "its id is NULL, not text", Kind: change.StrayRow}}}}
	for version, want := range map[string]string{"1.18.33": "row", "1.2.27": "stray"} {
		ds := diagnosed(s, Options{Now: fixtureTime, Version: version})
		if len(ds) != 1 || ds[0].Rule != want || (ds[0].Severity == repair.Broken) != (want == "row") {
			t.Errorf("%s: %+v, want %s", version, ds, want)
		}
	}
}

// A session with an id that mend cannot use is not examined, and must not count as healthy (found fault 13.8).
func TestUnusableSessionID(t *testing.T) {
	s := &record.Session{Head: change.Head{Stray: []change.Stray{{Path: `session/"ses_a;b"`, Why: "it holds ';'", Kind: change.StraySession}}}}
	for _, version := range damage.Versions {
		ds := diagnosed(s, Options{Now: fixtureTime, Version: version})
		if len(ds) != 1 || ds[0].Rule != "row" || ds[0].Severity != repair.Latent {
			t.Errorf("%s: %+v", version, ds)
		}
	}
}

// A session of a tree that has only its messages left is broken, and has no fix.
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
