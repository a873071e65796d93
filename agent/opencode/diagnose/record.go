package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// Findings about damaged and incomplete records.

// whyText returns a reason with the text of the finding. The %s in format stands for it.
func whyText(format string) func(*repair.Fault) string {
	return func(x *repair.Fault) string { return fmt.Sprintf(format, x.Text) }
}

// whyRecord is whyText for a format with the kind of the record before the text.
func whyRecord(format string) func(*repair.Fault) string {
	return func(x *repair.Fault) string { return fmt.Sprintf(format, kindWords(x.Ref.Kind), x.Text) }
}

func whyUnreadable(c *simulation, f finding) string {
	state := "is damaged"
	if c.unreadable(f.Ref) {
		state = "cannot be read"
	}
	return fmt.Sprintf("OpenCode fails on %s, which %s: %s.", kindWords(f.Ref.Kind), state, f.Text)
}

// kindWords describes the content of records of a kind, in a sentence.
func kindWords(k change.Kind) string {
	switch k {
	case change.KindPart:
		return "the content of a message"
	case change.KindMessage:
		return "a message"
	default:
		return "the session's own data"
	}
}

// defects returns the records with a defect that want accepts.
func (c *simulation) defects(want func(*change.Defect) bool) (fs []finding) {
	for r := range c.s.Records {
		if r.Defect != nil && want(r.Defect) {
			fs = append(fs, finding{Ref: r.Ref, Text: r.Defect.Why})
		}
	}
	return fs
}

// findNames finds records with a name that differs from the id in them. A record without an id has no certain
// position among the others, so the requests of OpenCode 1.1 are unknown.
func findNames(c *simulation) []finding {
	fs := c.defects(func(d *change.Defect) bool { return d.Kind == change.WrongName })
	if !c.settings[own].profile.Tree() {
		return fs
	}
	for _, f := range c.defects(func(d *change.Defect) bool { return d.Why == record.NoID }) {
		f.Severity = repair.Latent
		fs = append(fs, f)
	}
	return fs
}

// findInfo finds a session if the agent cannot use its own record. The agent then cannot list sessions at all.
func findInfo(c *simulation) []finding {
	if d := c.s.Info.Defect; d != nil && d.Kind != change.WrongName {
		return []finding{{Ref: c.s.Info.Ref, Text: d.Why}}
	}
	var words []string
	for _, f := range schema.SessionFaults(c.s, c.settings[own].profile.Strict()) {
		words = append(words, f.String())
	}
	if len(words) == 0 {
		return nil
	}
	text := strings.Join(words, "; ")
	return []finding{{Ref: c.s.Info.Ref, Text: text, Unknown: mayBeNew(text)}}
}

// sessionFinding returns a finding about the session's own record with the text, none unless found is set.
func (c *simulation) sessionFinding(found bool, text string) []finding {
	if !found {
		return nil
	}
	return []finding{{Ref: c.s.Info.Ref, Text: text}}
}

// findLostInfo finds a session that has only its messages left.
func findLostInfo(c *simulation) []finding {
	if !c.s.InfoMissing || len(c.s.Messages) == 0 {
		return nil
	}
	return []finding{{
		Ref: change.Ref{Kind: change.KindSession, Session: c.s.ID},
		Text: "The session's own data is gone, only its messages are left. OpenCode does not list the session, and answers " +
			"no prompt in it.",
	}}
}

// findEvents finds a session if its next event gets a number that is already in use.
func findEvents(c *simulation) []finding {
	return c.sessionFinding(c.s.EventNumberTaken && c.settings[own].profile.Strict(), "The session has events with "+
		"higher numbers than its counter. OpenCode continues from the counter, reaches a number that is taken, and ends "+
		"each prompt with HTTP 500.")
}

// onRestore returns fixes that only mend restore makes: a hidden session may be intentional.
func onRestore(f func(*simulation, finding) []repair.Fix) func(*simulation, finding) []repair.Fix {
	return func(c *simulation, found finding) []repair.Fix {
		if !c.request.Restore {
			return nil
		}
		return f(c, found)
	}
}

// infoFix returns the fix that edits the session's own record.
func infoFix(text, loses string, edit func(change.Record) (change.Record, error)) []repair.Fix {
	return []repair.Fix{{Text: text, Loses: loses, Edit: draftEdit(func(d *draft) error {
		info, err := edit(d.s.Info)
		if err == nil {
			d.s.SetInfo(info)
		}
		return err
	})}}
}

// archivedFixes returns the fix that lists the session again.
func archivedFixes(*simulation, finding) []repair.Fix {
	return infoFix("The session is no longer archived.", "The time at which it was archived.", WithoutArchived)
}

// WithoutArchived returns the record of a session without its archive mark.
func WithoutArchived(info change.Record) (change.Record, error) {
	if !info.IsRow() {
		data, err := jsonedit.Remove(info.Data, "time", "archived")
		return withData(info, data), err
	}
	if _, ok := info.Col("time_archived"); ok {
		info = info.WithCol(change.Col{Name: "time_archived", Class: change.ClassNull})
	}
	return info, nil
}

// findUnlisted finds a session that the agent does not list in its folder (docs/opencode.md F16).
func findUnlisted(c *simulation) []finding {
	if c.s.Newer == "" {
		return nil
	}
	return []finding{{
		Ref: c.s.Info.Ref, Severity: repair.Broken,
		Text: fmt.Sprintf("The session belongs to the project %s, but OpenCode now uses the folder as project %s and does "+
			"not list the session there.", cmp.Or(c.s.Info.Ref.Project, c.s.Project), c.s.Newer),
	}}
}

// orphanFixes returns the fix that makes the session a main session.
func orphanFixes(*simulation, finding) []repair.Fix {
	return infoFix("The session becomes a main session.", "The id of its main session, which does not exist.",
		func(r change.Record) (change.Record, error) {
			return r.WithCol(change.Col{Name: "parent_id", Class: change.ClassNull}), nil
		})
}

func isArchived(s *record.Session) bool {
	c, isColumn := s.Info.Col("time_archived")
	raw, found := jsonedit.Get(s.Info.Data, "time", "archived")
	return isColumn && c.Class != change.ClassNull || found && raw[0] != 'n'
}
