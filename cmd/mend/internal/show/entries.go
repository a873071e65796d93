package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// EntryRow returns the cells of an entry in a table: its id, age, state and change, and the id and title of its
// session. earlier is the id of a repair that changed the same records before, "" for none.
func EntryRow(t *term.Terminal, e change.Entry, earlier string) []any {
	what := CauseText(e)
	if e.Damage != "" {
		what = term.OneLine(e.Damage, 200)
	} else if !t.IsNarrow() {
		what += ", " + term.Count(len(e.Ops), "change")
	}
	if earlier != "" {
		what += ", again after " + earlier
	}
	id := ""
	// Without a title, the cell of the title has the id.
	if t.Width == 0 && strings.TrimSpace(e.Cause.Title) != "" && e.Session != change.NoSession {
		id = e.Session
	}
	when := term.Faint(t.AgeCell(time.Since(e.Time)))
	if e.Time.IsZero() { // nothing of the entry can be read
		when = "?"
	}
	return []any{term.Bold(e.ID), when, stateWord(e), what, id, EntryTitle(e)}
}

// EntryTitle returns the name of an entry's session: its title, or in entries of older versions its id.
func EntryTitle(e change.Entry) string {
	if strings.TrimSpace(e.Cause.Title) == "" {
		return e.Session
	}
	return term.OneLine(e.Cause.Title, 200)
}

// stateWord returns the state of an entry in its colour.
func stateWord(e change.Entry) term.Text {
	switch {
	case e.Damage != "":
		return term.Bad("damaged")
	case e.Forgotten:
		return term.Faint("forgotten")
	case e.State == change.Committed && e.UndoneBy != "":
		return term.Faint("undone")
	case e.State == change.Committed:
		return term.Good(mend.StateWord(e.State))
	case e.State == change.Pending, e.State == change.Conflicted:
		return term.Bad(e.State)
	}
	return term.Faint(e.State)
}

// CauseText returns the cause of an entry in a few words.
func CauseText(e change.Entry) string {
	var reverted []string
	for _, seq := range e.Cause.Entries {
		reverted = append(reverted, journal.IDOf(seq))
	}
	switch ids := strings.Join(reverted, ", "); e.Cause.Kind {
	case change.CauseUndo:
		switch {
		case !e.IsUndo():
			return "restore: " + cmp.Or(term.OneLine(e.Cause.Text, 40), "before "+ids)
		case e.Cause.Partial:
			return "undo of some of " + ids
		}
		return "undo of " + ids
	case change.CauseRedo:
		if e.Cause.Text != "" {
			return "redo of " + term.OneLine(e.Cause.Text, 40)
		}
		return "redo: reverts " + ids // of older versions
	case change.CauseResolve:
		return "resolves " + ids + ": " + term.OneLine(e.Cause.Text, 20)
	case change.CauseTrim:
		return "trim"
	case change.CauseUncompact:
		return "removed a compaction"
	case change.CauseMove:
		return "moved to " + term.OneLine(e.Cause.Text, 80)
	case change.CauseRestore:
		return "restore"
	case change.CauseOrphans:
		return "orphans moved to the journal"
	case change.CauseSalvage:
		return "salvage"
	case change.CauseClean:
		return "clean: removed " + term.OneLine(e.Cause.Text, 40)
	case change.CauseError:
		return fixedClasses(e, "repair after an API error")
	default:
		return fixedClasses(e, "repair")
	}
}

// fixedClasses returns the class of the first finding that an entry fixed, and the number of the others. For entries of
// older versions, which have no findings, it returns the text unknown.
func fixedClasses(e change.Entry, unknown string) string {
	if len(e.Cause.Findings) == 0 {
		return unknown
	}
	n := -1
	for _, f := range e.Cause.Findings {
		n += max(f.Count, 1)
	}
	text := ClassWords(term.OneLine(e.Cause.Findings[0].Class, 40))
	if n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// EntryHead prints an entry's session, reason, changes and losses; with audit also its store and its author.
func EntryHead(t *term.Terminal, e change.Entry, audit bool) {
	defer t.Buffer()()
	t.Printf("%s %s  %s\n", term.Bold("repair"), term.Bold(e.ID), stateWord(e))
	entryLine(t, "Session", sessionOfEntry(e))
	if audit {
		entryLine(t, "Store", term.ShortenHome(e.Store.Root))
	}
	when := e.Time.Local().Format(time.RFC1123) + ", " + term.Age(time.Since(e.Time))
	if audit {
		when += ", by mend " + e.Version
		if e.Cause.Live {
			when += ", for the running agent"
		}
	}
	entryLine(t, "Time", when)
	if audit {
		entryList(t, "By", actorTexts(e.Actor))
	}
	entryLine(t, "Undone by", e.UndoneBy)
	entryLine(t, "Resolved", e.Resolved)
	entryList(t, "Why", append(entryFaults(e), entryError(e)...))
	entryList(t, "Changed", entryChanges(e))
	entryList(t, "Lost", entryLosses(e))
	for _, c := range e.Conflicts {
		entryLine(t, term.Bad("Conflict")+" ", fmt.Sprintf("%s: %s", c.Ref, c.Why))
	}
	for _, path := range e.Kept {
		entryLine(t, "Kept", path)
	}
}

// actorTexts describes who made a change, and through which channel.
func actorTexts(by *change.Actor) []string {
	if by == nil {
		return []string{"unknown: an earlier version of mend made the entry"}
	}
	who, how := ActorName(by), ""
	if by.UID >= 0 {
		who += fmt.Sprintf(" (uid %d)", by.UID)
	}
	if by.Channel != "" {
		how = fmt.Sprintf("%s %s, ", term.OneLine(string(by.Channel), 20), term.OneLine(by.Verb, 40))
	}
	how += fmt.Sprintf("process %d", by.PID)
	if by.Agent != "" {
		how += strings.TrimSpace(", for " + term.OneLine(agents.Title(change.StoreID{Agent: by.Agent}), 40) + " " + term.OneLine(by.AgentVersion, 40))
	}
	return []string{who, how}
}

// ActorName returns the name of a user with the name of the machine.
func ActorName(by *change.Actor) string {
	return term.OneLine(cmp.Or(by.User, "unknown")+"@"+cmp.Or(by.Host, "unknown"), 100)
}

// entryList prints a label with a line for each text.
func entryList(t *term.Terminal, label term.Text, texts []string) {
	for i, text := range texts {
		if i > 0 {
			label = ""
		}
		entryLine(t, label, text)
	}
}

// entryLine prints a label with a text, wrapped to the terminal; nothing if the text is empty.
func entryLine(t *term.Terminal, label term.Text, text any) {
	line := term.Sprintf("%s", text)
	if line == "" {
		return
	}
	if t.Width > 0 {
		line = term.WrapAt(line, len("  Undone by  "), t.Width)
	}
	t.Printf("  %-9s  %s\n", label, line)
}

func sessionOfEntry(e change.Entry) any {
	switch {
	case e.Cause.Title == "":
		return e.Session
	case e.Session == change.NoSession, e.Session == "": // a change of a project or of a whole database
		return QuotedTitle(e.Cause.Title, "")
	}
	return term.Sprintf("%s  %s", QuotedTitle(e.Cause.Title, e.Session), term.Faint(e.Session))
}

// entryFaults returns the findings of an entry, each sentence once with its count.
func entryFaults(e change.Entry) (texts []string) {
	for _, f := range e.Cause.Findings {
		text := term.Sentence(f.Why)
		if f.Count > 1 {
			text = fmt.Sprintf("%d × %s", f.Count, text)
		}
		texts = append(texts, text)
	}
	if len(texts) > 0 {
		return texts
	}
	for _, d := range e.Cause.Diagnoses { // of older versions: finding and fix in one text
		texts = append(texts, term.OneLine(d, 1000))
	}
	if len(texts) == 0 {
		texts = []string{CauseText(e)}
	}
	return texts
}

// entryError returns the API error that caused a repair.
func entryError(e change.Entry) []string {
	if e.Cause.Kind != change.CauseError || e.Cause.Text == "" {
		return nil
	}
	texts := []string{"The error: " + term.OneLine(e.Cause.Text, 400)}
	f := cmp.Or(e.Cause.Error, &change.Failure{})
	var known []string
	if f.Provider+f.Model != "" {
		known = append(known, term.OneLine(f.Provider+"/"+f.Model, 100))
	}
	if f.Status != 0 {
		known = append(known, fmt.Sprintf("HTTP %d", f.Status))
	}
	if f.RequestID != "" {
		known = append(known, "request "+term.OneLine(f.RequestID, 130))
	}
	if len(known) > 0 {
		texts = append(texts, strings.Join(known, ", "))
	}
	return texts
}

// entryChanges returns the fixes of an entry, each sentence once, and the number of changed records.
func entryChanges(e change.Entry) []string {
	return append(eachOnce(e.Cause.Findings, func(f change.Finding) string { return f.Fix }), term.Count(len(e.Ops), "change"))
}

// eachOnce returns the sentences of the findings, each once and without a count: one change may fix several
// findings.
func eachOnce(fs []change.Finding, text func(change.Finding) string) (texts []string) {
	for _, f := range fs {
		if t := term.Sentence(text(f)); t != "" {
			texts = addOnce(texts, t)
		}
	}
	return texts
}

// entryLosses returns the losses of an entry; none are recorded for undos, and for entries of older versions.
func entryLosses(e change.Entry) []string {
	texts := eachOnce(e.Cause.Findings, func(f change.Finding) string { return f.Loses })
	if what := e.Cause.Bound.Loses(); what != "" {
		texts = append(texts, what)
	}
	if len(texts) > 0 || len(e.Cause.Findings) == 0 {
		return texts
	}
	return []string{"nothing"}
}

// Entry prints an entry in full. ops are its ops with images, nil if they were deleted: then only the records are named.
// now is nil for an entry of an export, which cannot be undone here. together names the operation, "" for none.
func Entry(t *term.Terminal, e change.Entry, ops []change.Op, related mend.Related, now *mend.Effect, together string) {
	EntryHead(t, e, true)
	entryLine(t, "Operation", together)
	entryList(t, "Follows", relatedTexts(related.Follows))
	entryList(t, "Again", relatedTexts(related.Again))
	if now != nil {
		entryList(t, "Now", effectTexts(*now))
	}
	switch {
	case now == nil:
	case ops == nil:
		entryLine(t, "Undo", "not possible: the undo data was deleted from the journal")
	case e.State == change.Conflicted:
		entryLine(t, "Undo", "resolve the conflict first: "+term.Bold("mend recover "+e.ID)+" with --keep, --back or --forward")
	case e.State == change.Committed && e.UndoneBy != "":
		entryLine(t, "Undo", "undone; "+term.Bold("mend undo --redo "+e.ID)+" applies it again")
	case e.State == change.Committed:
		entryLine(t, "Undo", term.Bold("mend undo "+e.ID))
	}
	t.Printf("\n")
	if ops == nil {
		for _, o := range e.Ops {
			t.Printf("  %s %s\n", term.Bold(opVerb(o.Pre == nil, o.Post == nil)), o.Ref)
		}
	}
	Ops(t, ops)
}

// An Operation has the listed entries of one run of mend, newest first.
type Operation []change.Entry

// Operations groups entries by operation, each at the position of its newest entry.
func Operations(es []change.Entry) (all []Operation) {
	at := map[uint64]int{}
	for _, e := range es {
		i, ok := at[e.Operation]
		if !ok {
			i = len(all)
			at[e.Operation], all = i, append(all, nil)
		}
		all[i] = append(all[i], e)
	}
	return all
}

// State returns the state of the entries in its colour. If the states differ, it returns one that needs the user's
// attention, or else how many entries are undone.
func (op Operation) State() term.Text {
	undone := 0
	for _, e := range op {
		switch {
		case e.Damage != "", e.State == change.Pending, e.State == change.Conflicted:
			return stateWord(e)
		case e.State == change.Committed && e.UndoneBy != "":
			undone++
		}
	}
	if undone > 0 && undone < len(op) {
		return term.Sprintf("%d undone", undone)
	}
	return stateWord(op[0])
}

// What describes how many repairs the operation made, undid or applied again.
func (op Operation) What() string {
	records := 0
	for _, e := range op {
		records += len(e.Ops)
	}
	text := term.Count(len(op), "repair")
	switch op[0].Cause.Kind {
	case change.CauseUndo, change.CauseRedo:
		text = fmt.Sprintf("%s of %s", op[0].Cause.Kind, text)
	case change.CauseOrphans, change.CauseMove, change.CauseClean:
		text = CauseText(op[0])
	default:
	}
	return text + ", " + term.Count(records, "change")
}

// Sessions names the sessions of the operation, and the databases that it changed as a whole.
func (op Operation) Sessions() string {
	sessions, first := map[string]bool{}, change.Entry{}
	var all []string
	for _, e := range op {
		switch title := EntryTitle(e); {
		case e.Session == change.NoSession: // a change made together with changes of sessions
		case e.Session == "" && !slices.Contains(all, title):
			all = append(all, title)
		case e.Session != "":
			if len(sessions) == 0 {
				first = e
			}
			sessions[e.Session] = true
		}
	}
	switch {
	case len(sessions) == 1 && len(all) == 0:
		return EntryTitle(first)
	case len(sessions) > 0:
		all = append([]string{term.Count(len(sessions), "session")}, all...)
	case len(all) == 0:
		return EntryTitle(op[0])
	}
	return strings.Join(all, ", ")
}

// Row returns the line of an operation with several entries.
func (op Operation) Row(t *term.Terminal) []any {
	return []any{term.Bold(mend.OperationOf(op[0])), term.Faint(t.AgeCell(time.Since(op[0].Time))), op.State(), op.What(), "", op.Sessions()}
}

// effectTexts describes the current records of an entry, and the effect of repeating its change.
func effectTexts(x mend.Effect) (texts []string) {
	for _, t := range [...]struct {
		n    int
		what string
	}{{x.Holds, "as the repair left it"}, {x.Before, "as before the repair"}, {x.Other, "changed by something else"}} {
		if t.n > 0 {
			texts = append(texts, fmt.Sprintf("%s %s", term.CountWords(t.n, "record is", "records are"), t.what))
		}
	}
	switch {
	case x.Why != "":
		texts = append(texts, "the same repair now: "+x.Why)
	case x.Changes == nil:
	case *x.Changes == 0:
		texts = append(texts, "the same repair now would change nothing")
	default:
		texts = append(texts, fmt.Sprintf("the same repair now would make %s", term.Count(*x.Changes, "change")))
	}
	return texts
}

// relatedTexts describes entries in two lines each: what they changed and when, and by whom.
func relatedTexts(es []change.Entry) (texts []string) {
	for _, e := range es {
		by := "unknown"
		if e.Actor != nil {
			by = ActorName(e.Actor) + ", " + term.OneLine(string(e.Actor.Channel), 20)
		}
		texts = append(texts, fmt.Sprintf("%s  %s, %s", e.ID, CauseText(e), term.Age(time.Since(e.Time))), "        by "+by)
	}
	return texts
}

// isRepair reports whether the entry repaired findings.
func isRepair(e change.Entry) bool {
	return e.Cause.Kind == change.CauseScan || e.Cause.Kind == change.CauseError
}

// EarlierRepair returns the id of the newest repair that changed the same records before a repair, "" for none.
func EarlierRepair(e change.Entry, related mend.Related) string {
	for _, f := range related.Follows {
		if isRepair(e) && isRepair(f) {
			return f.ID
		}
	}
	return ""
}

// PrintCommitted prints a committed entry and how to undo it. how is a text after the id.
func PrintCommitted(t *term.Terminal, e change.Entry, title, how string) {
	what := "Repaired"
	switch e.Cause.Kind {
	case change.CauseTrim:
		what = "Trimmed"
	case change.CauseUncompact:
		what = "Removed a compaction of"
	case change.CauseRestore, change.CauseUndo: // a restore of the state before a repair
		what = "Restored"
	case change.CauseSalvage:
		what = "Salvaged"
	default:
	}
	t.Say("%s %s (%s)%s. Undo: %s", term.Good(what), QuotedTitle(title, e.Session), term.Bold(e.ID), how, term.Command("mend undo "+e.ID))
}

// entryIDs returns the ids of entries; an empty list for none.
func entryIDs(es []change.Entry) []string {
	ids := make([]string, len(es))
	for i, e := range es {
		ids[i] = e.ID
	}
	return ids
}

// UndoID returns the id with which "mend undo" undoes the n entries of an operation: of the operation, or of its only
// entry.
func UndoID(first change.Entry, n int) string {
	if n == 1 {
		return first.ID
	}
	return mend.OperationOf(first)
}

// Conflicts prints conflicts.
func Conflicts(t *term.Terminal, cs []change.Conflict) {
	for _, c := range cs {
		t.Printf("%s %s: %s\n", term.Bad("conflict"), c.Ref, c.Why)
		for _, id := range c.Later {
			t.Printf("    changed later by mend, in repair %s\n", term.Bold(id))
		}
		t.Printf("    %s\n", term.Faint("what the repair did:"))
		printDiff(t, c.Pre, c.Post)
		t.Printf("    %s\n", term.Faint("later changes:"))
		printDiff(t, c.Post, c.Now)
	}
}
