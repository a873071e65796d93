package repair

import (
	"testing"

	"mend/session"
)

// A folder that may not be read hides what it holds: the session is not healthy.
func TestHiddenFolder(t *testing.T) {
	s := &session.Session{ID: "ses_1", Stray: []session.Stray{{Path: "part/msg_1", Message: "msg_1", Why: "permission denied", Hidden: true}}}
	ds := Diagnose(s, Options{})
	if len(ds) != 1 || ds[0].Severity != Broken || ds[0].Cure != "" || ds[0].WhyNot == "" {
		t.Errorf("Diagnose = %+v, want one that is broken and has no cure", ds)
	}
	s.Stray[0].Hidden = false
	if ds := Diagnose(s, Options{}); len(ds) != 1 || ds[0].Severity != Note {
		t.Errorf("Diagnose of something that is no record = %+v, want a note", ds)
	}
}
