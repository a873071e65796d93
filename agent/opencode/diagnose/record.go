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

func whyUnreadable(c *simulation, f finding) string {
	if c.unreadable(f.Ref) {
		return fmt.Sprintf("%s cannot be read: %s.", capitalize(kindWords(f.Ref.Kind)), f.Text)
	}
	return fmt.Sprintf("OpenCode fails on %s, which is damaged: %s.", kindWords(f.Ref.Kind), f.Text)
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

func capitalize(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func whyField(_ *simulation, f finding) string {
	return fmt.Sprintf("OpenCode crashes on %s: %s.", kindWords(f.Ref.Kind), f.Text)
}

func whyScreen(_ *simulation, f finding) string {
	return fmt.Sprintf("Newer versions of OpenCode cannot show the session: %s.", f.Text)
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

// findLostProject finds a session that no project lists.
func findLostProject(c *simulation) []finding {
	return c.sessionFinding(c.s.ProjectMissing, c.s.Project)
}

func whyProjectRow(c *simulation, f finding) string {
	what := "row"
	if !c.s.ProjectRow.IsRow() {
		what = "file"
	}
	return fmt.Sprintf("The %s of the session's project is damaged (%s), so OpenCode does not start in the project's "+
		"folders.", what, f.Text)
}

func whyLostProject(_ *simulation, f finding) string {
	return fmt.Sprintf("The session belongs to the project %q, which is not in the database. OpenCode does not list the "+
		"session, and newer versions cannot continue it.", f.Text)
}

func whyDefect(_ *simulation, f finding) string {
	if f.Code == "name" {
		if f.Ref.Validate() != nil {
			return fmt.Sprintf("The row of %s has no usable id: %s.", kindWords(f.Ref.Kind), f.Text)
		}
		if f.Ref.Kind == change.KindSession {
			return fmt.Sprintf("The id inside the session's file is not the id in its name (%s). Prompts are answered, but the "+
				"session cannot be opened from the list.", f.Text)
		}
		if f.Text == record.NoID {
			return fmt.Sprintf("The file of %s has no id in it, so its order among the others is unknown, and mend cannot "+
				"tell what OpenCode sends.", kindWords(f.Ref.Kind))
		}
		return fmt.Sprintf("%s is stored under another id than the one inside it: %s.", capitalize(kindWords(f.Ref.Kind)),
			f.Text)
	}
	return fmt.Sprintf("The session's own data is damaged (%s). OpenCode fails on it, or cannot list any session.", f.Text)
}

// findIndexFault finds a session in a damaged database.
func findIndexFault(c *simulation) []finding {
	return c.sessionFinding(c.s.IndexFault != "", c.s.IndexFault)
}

// findEvents finds a session if its next event gets a number that is already in use.
func findEvents(c *simulation) []finding {
	return c.sessionFinding(c.s.EventNumberTaken && c.settings[own].profile.Strict(), "The session has events with "+
		"higher numbers than its counter. OpenCode continues from the counter, reaches a number that is taken, and ends "+
		"each prompt with HTTP 500.")
}

// findArchived finds a session that the user has archived (docs/opencode.md F16).
func findArchived(c *simulation) []finding {
	return c.sessionFinding(isArchived(c.s), "The session is archived, so OpenCode does not list it.")
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

// archivedFixes returns the fix that lists the session again.
func archivedFixes(*simulation, finding) []repair.Fix {
	return []repair.Fix{{
		Text:  "The session is no longer archived.",
		Loses: "The time at which it was archived.",
		Whole: true,
		Edit: draftEdit(func(d *draft) (err error) {
			d.s.Info, err = WithoutArchived(d.s.Info)
			return err
		}),
	}}
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

// findOrphan finds the session of a subagent without a main session.
func findOrphan(c *simulation) []finding {
	return c.sessionFinding(c.s.ParentMissing && c.s.Parent != "", fmt.Sprintf(
		"The session is a subagent's, and its main session %.60s does not exist. OpenCode lists it nowhere.", c.s.Parent))
}

// orphanFixes returns the fix that makes the session a main session.
func orphanFixes(*simulation, finding) []repair.Fix {
	return []repair.Fix{{
		Text:  "The session becomes a main session.",
		Loses: "The id of its main session, which does not exist.",
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			d.s.SetInfo(d.s.Info.WithCol(change.Col{Name: "parent_id", Class: change.ClassNull}))
			return nil
		}),
	}}
}

func isArchived(s *record.Session) bool {
	c, isColumn := s.Info.Col("time_archived")
	raw, found := jsonedit.Get(s.Info.Data, "time", "archived")
	return isColumn && c.Class != change.ClassNull || found && raw[0] != 'n'
}

// maxCompletions limits [simulation.completions]: each of them is tried alone.
const maxCompletions = 16

// completions returns the fixes of the first records that accept selects and that some version of the agent cannot
// read: the record that seems to be lost may be one of them.
func (c *simulation) completions(accept func(change.Ref) bool) (fixes []repair.Fix) {
	for _, f := range c.screenFailures() {
		if len(fixes) < maxCompletions && accept(f.Ref) {
			fixes = append(fixes, recordFixes(c, finding{Ref: f.Ref})...)
		}
	}
	for i := range fixes {
		fixes[i].Alike = false // two of them may change the same record
	}
	return fixes
}
