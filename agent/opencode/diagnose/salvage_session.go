package diagnose

import (
	"cmp"
	"strconv"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// sessionInfoFixes returns the fixes of the session's own record. A file that cannot be
// parsed, or lacks what the agent needs, is rebuilt from what can be read and from the
// messages.
func sessionInfoFixes(c *simulation, _ finding) []repair.Fix {
	k, s := c.known(), c.s
	switch {
	case s.Info.Ref.Kind != change.KindSession || s.Info.Unreadable():
		return nil
	case s.Info.IsRow():
		return sessionRowFixes(k)
	}
	r, v := s.Salvage(s.Info)
	before, data := r.Data, r.Data
	if len(v.Cut) > 0 && v.Cut[0] != "title" && v.Cut[0] != "time" {
		v.Cut = v.Cut[:1] // a part of a revert would have another meaning
		data, _ = jsonedit.Remove(data, v.Cut[0])
	}
	t := &schema.SessionFile
	if v.Complete { // the agent accepts the other fields as they are
		t = &schema.SessionTimes
	}
	created, updated := sessionTimes(s)
	data, changed, err := schema.Complete(data, t, schema.Context{
		Project: cmp.Or(s.Info.Ref.Project, s.Project),
		Folder:  cmp.Or(k.workFolder(), s.Directory),
		Time:    created, Updated: updated,
	})
	if err != nil || v.Complete && changed.None() && string(before) == string(s.Info.Data) {
		return nil
	}
	text, loses := "Extra bytes around it are removed.", ""
	switch {
	case !v.Complete:
		text, loses = "The session's own data is rebuilt from what can be read and from its messages.", "Other fields of the session, such as settings."
		if _, kept := jsonedit.Get(data, "permission"); !kept {
			loses += " If permission rules are among them, OpenCode's own settings apply instead, and may allow what a lost rule denied."
		}
	case !changed.None():
		text, loses = describeChanges(changed)
	}
	return []repair.Fix{{Text: text, Loses: loses, Whole: true, Edit: draftEdit(func(d *draft) error {
		d.s.Info = with(r, data)
		d.s.Project = textAt(data, "projectID")
		d.s.Directory, d.s.Title, d.s.Version = textAt(data, "directory"), textAt(data, "title"), textAt(data, "version")
		d.s.Created, d.s.Updated = timeAt(data, "created"), timeAt(data, "updated")
		if s.Directory == "" && k.projectOf != nil {
			if project := k.projectOf(d.s.Directory); project != "" && !s.HasRecordIn(project) {
				return d.moveSession(project)
			}
		}
		return nil
	})}}
}

// sessionTimes returns when the session was created and last changed, from its record
// and its messages.
func sessionTimes(s *record.Session) (created, updated int64) {
	created, updated = s.Created, s.Updated
	for i := range s.Messages {
		m := &s.Messages[i]
		if updated = max(updated, m.LatestTime()); m.Created > 0 && (created == 0 || m.Created < created) {
			created = m.Created
		}
	}
	return created, updated
}

func timeAt(data []byte, name string) int64 {
	raw, _ := jsonedit.Get(data, "time", name)
	t, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return int64(t)
}
