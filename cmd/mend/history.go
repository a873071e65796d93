package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// logFlags are the flags of log.
type logFlags struct {
	limit                                        int
	session, state, since, until, channel, actor string
	rules                                        []string
	verbose                                      bool
	export                                       exportFlags
}

func logVerb(env *environment) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log [SESSION|ID] [FILE...]",
		Short: "List what mend changed; with an ID, show one change in full",
		Long: `Without an id, log lists changes, newest first: id, age, state, what was fixed, and the
title of the session. If one run of mend changed several sessions, that is one line, an
operation; with -v each of its repairs also has a line. SESSION is an id, the start of one,
a title or a part of it, . for the newest session of this folder, or @ for the newest of all.

With the id of a repair, log shows why it was made, what it changed and lost, how to undo
it, and the diff of every change. It also shows which entries changed the same records
before and after it, their present content, and what the same repair would change now,
without writing anything. With the id of an operation, log lists its repairs.

With --export it writes the whole journal to a file, for another program or for an auditor,
who checks it with "mend verify FILE". With such files instead of the journal, log lists what
they have, of several machines in one list, with who made each change and where.

A WHEN is an age such as 7d or 12h, a date such as 2026-03-31, or a time such as
2026-03-31T14:30:00Z.`,
		Example: `  mend log                    everything
  mend log bakobe             all about a repair
  mend log "dark mode" -n 3   the last three changes of a session
  mend log --since 7d         in the last week
  mend log a.jsonl b.jsonl    what two exports have
  mend log --channel plugin --state undone   repairs of the plugin that were undone`,
		RunE: func(cmd *cobra.Command, names []string) error { return runLog(cmd, env, names, f) },
	}
	fl := cmd.Flags()
	fl.IntVarP(&f.limit, "limit", "n", 0, "show at most `N` operations; with --json, at most N entries")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show each entry of an operation")
	fl.StringVar(&f.session, "session", "", "only of this `SESSION`")
	fl.StringVar(&f.since, "since", "", "only changes begun at `WHEN` or later")
	fl.StringVar(&f.until, "until", "", "only changes begun before `WHEN`")
	fl.StringVar(&f.state, "state", "", "only in this `STATE`: "+strings.Join(logStates, ", "))
	fl.StringSliceVar(&f.rules, "rule", nil, "only repairs of what breaks this `RULE` (mend explain lists them)")
	fl.StringVar(&f.channel, "channel", "", "only through this `CHANNEL`: command, plugin, hook or watch")
	fl.StringVar(&f.actor, "actor", "", "only by this `USER`: a name, a number, or USER@HOST")
	f.export.add(fl)
	return cmd
}

// runLog shows what the names mean: a repair, the entries of a session, or the entries of exports. Without names it
// shows all entries.
func runLog(cmd *cobra.Command, env *environment, names []string, f logFlags) error {
	ctx := cmd.Context()
	if n := len(names); n > 0 && isExport(names[n-1]) {
		if cmd.Flags().Changed("export") || f.export.force || f.export.withBytes {
			return usagef("--export, --force and --with-bytes are for this journal: they cannot be combined with other exports")
		}
		id := ""
		if !isExport(names[0]) {
			id, names = names[0], names[1:]
		}
		q, _, err := logQuery(ctx, env, f)
		if err != nil {
			return err
		}
		return logExports(ctx, env, id, names, q)
	}
	if err := atMostOne("repair")(cmd, names); err != nil {
		return err
	}
	if len(names) == 1 {
		if f.session != "" {
			return usagef("log accepts one session")
		}
		es, session, err := findSessionOrRepair(ctx, env, names[0])
		switch {
		case err != nil:
			return err
		case len(es) > 0:
			return showEntries(ctx, env, es)
		}
		f.session = session.ID
	}
	q, none, err := logQuery(ctx, env, f)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("export") {
		if !reflect.DeepEqual(q, journal.Query{}) {
			return usagef("--export exports the whole journal, so that its chain can be checked: it cannot be combined with a session or a filter")
		}
		return exportLog(ctx, env, f.export)
	}
	if f.export.force || f.export.withBytes {
		return usagef("--with-bytes and --force need --export")
	}
	return listLog(env, q, none, f.verbose)
}

// listLog prints the entries that q selects; none is printed if there are no entries. Of a damaged journal it
// prints the intact entries, and returns the error.
func listLog(env *environment, q journal.Query, none string, verbose bool) error {
	release := env.opt.Journal.Hold()
	defer release()
	es, err := newestEntries(env, q)
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return err
	}
	if err != nil && len(es) == 0 { // "No repairs" would not be true
		return err
	}
	related, unrelated := env.opt.Journal.Related(es)
	if unrelated != nil {
		return unrelated
	}
	release() // a person may read the log for a long time
	return errors.Join(err, env.paged(func() error { return printLog(env, es, related, none, verbose) }))
}

// logStates are the states of entries, as log shows them.
var logStates = []string{
	string(change.Pending), string(change.Committed), "undone", "forgotten", string(change.Aborted), string(change.Conflicted), string(change.Resolved),
}

// logQuery returns the query of log, and the text if it selects nothing.
func logQuery(ctx context.Context, env *environment, f logFlags) (q journal.Query, none string, err error) {
	q = journal.Query{Limit: f.limit, Rules: f.rules, Actor: f.actor, Agent: env.agentName, Channel: change.Channel(f.channel)}
	none = "No repairs yet."
	if f.limit < 0 {
		return q, "", usagef("--limit %d: want a number of entries", f.limit)
	}
	if f.channel != "" && !slices.Contains(change.Channels, q.Channel) {
		return q, "", usagef("--channel %s: want command, plugin, hook or watch", f.channel)
	}
	if err := setState(&q, f.state); err != nil {
		return q, "", err
	}
	now := time.Now()
	if q.Since, err = parseWhen("since", f.since, now); err != nil {
		return q, "", err
	}
	if q.Until, err = parseWhen("until", f.until, now); err != nil {
		return q, "", err
	}
	if f.session != "" {
		found, err := findSessions(ctx, env, []string{f.session})
		if err != nil {
			return q, "", err
		}
		q.Session = found[0].ID
		none = fmt.Sprintf("No repairs of session %s.", q.Session)
	}
	if all := (journal.Query{Limit: q.Limit, Session: q.Session}); !reflect.DeepEqual(q, all) {
		none = "No such repairs."
	}
	return q, none, nil
}

// setState sets the state that a query selects.
func setState(q *journal.Query, state string) error {
	switch {
	case state == "":
	case !slices.Contains(logStates, state):
		return usagef("--state %s: want %s", state, strings.Join(logStates, ", "))
	case state == "undone":
		q.Undone = new(true)
	case state == "forgotten":
		q.Forgotten = true
	default:
		q.State = change.State(state)
		q.Undone = new(false)
	}
	return nil
}

// printEntries prints one line for each entry, or none if there are no entries.
func printEntries(env *environment, es []change.Entry, related map[string]mend.Related, none string) error {
	if env.JSON {
		list := entriesJSON(es)
		for i := range list {
			if related != nil {
				list[i].relate(related[list[i].ID])
			}
		}
		env.answerRepairs(list)
		return nil
	}
	defer env.Buffer()()
	rows := make([][]string, len(es))
	for i, e := range es {
		rows[i] = entryRow(env.Terminal, e, earlierRepair(e, related[e.ID]))
	}
	env.PrintRows(rows, "")
	if len(es) == 0 {
		env.Printf("%s\n", none)
	}
	return nil
}

// entryRow returns the id, the age, the state, the change, and the session of an entry. earlier is the repair
// that changed the same records before, "" for none.
func entryRow(t *term.Terminal, e change.Entry, earlier string) []string {
	what := causeText(e)
	if e.Damage != "" {
		what = term.OneLine(e.Damage, 200)
	} else if !t.IsNarrow() {
		what += ", " + term.Count(len(e.Ops), "change")
	}
	if earlier != "" {
		what += ", again after " + earlier
	}
	id := ""
	// Without a title, the id is shown in its place.
	if t.Width == 0 && strings.TrimSpace(e.Cause.Title) != "" && e.Session != change.NoSession {
		id = term.Escape(e.Session)
	}
	when := term.Faint(t.AgeCell(term.Age(time.Since(e.Time))))
	if e.Time.IsZero() { // nothing of the entry can be read
		when = "?"
	}
	return []string{term.Bold(e.ID), when, stateWord(e), what, id, entryTitle(e)}
}

// entryTitle returns the name of an entry's session: its title, or in entries of older versions its id.
func entryTitle(e change.Entry) string {
	if strings.TrimSpace(e.Cause.Title) == "" {
		return term.Escape(e.Session)
	}
	return term.OneLine(e.Cause.Title, 200)
}

// stateOf returns the state of an entry in the words of "mend log --state".
func stateOf(e change.Entry) string {
	switch {
	case e.Damage != "":
		return "damaged"
	case e.Forgotten:
		return "forgotten"
	case e.State == change.Committed && e.UndoneBy != "":
		return "undone"
	}
	return string(e.State)
}

// stateWord returns the state of an entry in its colour.
func stateWord(e change.Entry) string {
	switch s := stateOf(e); s {
	case "damaged", string(change.Pending), string(change.Conflicted):
		return term.Bad(s)
	case string(change.Committed):
		return term.Good("done")
	default:
		return term.Faint(s)
	}
}

// causeText returns the cause of an entry in a few words.
func causeText(e change.Entry) string {
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
		return "uncompact"
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

// fixedClasses returns the class that an entry fixed, with the number of other findings. For entries of older versions,
// which have no findings, it returns the text unknown.
func fixedClasses(e change.Entry, unknown string) string {
	if len(e.Cause.Findings) == 0 {
		return unknown
	}
	n := -1
	for _, f := range e.Cause.Findings {
		n += max(f.Count, 1)
	}
	text := classWords(term.OneLine(e.Cause.Findings[0].Class, 40))
	if n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// showVerb is the former name of log ID.
func showVerb(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "show [ID]", Short: "Show what a repair changed, and why: mend log ID", Args: atMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			var es []change.Entry
			var err error
			if len(ids) == 0 {
				es, err = newest(cmd.Context(), env, env.opt.Journal.Newest, "no change is in force")
				es = es[:min(len(es), 1)]
			} else {
				es, err = env.opt.Journal.Find(ids[0])
			}
			if err != nil {
				return err
			}
			return showEntries(cmd.Context(), env, es)
		},
	}
}

// showEntries shows a single entry in detail, or lists the entries of an operation.
func showEntries(ctx context.Context, env *environment, es []change.Entry) error {
	release := env.opt.Journal.Hold()
	defer release()
	if len(es) > 1 {
		return showOperation(env, es, release)
	}
	e, ops, err := env.opt.Journal.Show(es[0].ID)
	if err != nil {
		return err
	}
	related, err := env.opt.Journal.Related([]change.Entry{e})
	if err != nil {
		return err
	}
	together := operationText(env, e)
	effect := effectOf(ctx, env, e, release)
	if env.JSON {
		r := entryJSON(e, ops)
		r.relate(related[e.ID])
		r.Now = effect.json()
		env.answerRepairs([]repairJSON{r})
		return nil
	}
	env.Page(func(t *term.Terminal) { printEntry(t, e, ops, related[e.ID], &effect, together) })
	return nil
}

// printEntryHead prints the facts about an entry: its session, reason, changes, and losses.
func printEntryHead(t *term.Terminal, e change.Entry) {
	defer t.Buffer()()
	by := "mend " + e.Version
	if e.Cause.Live {
		by += ", for the running agent"
	}
	t.Printf("%s %s  %s\n", term.Bold("repair"), term.Bold(e.ID), stateWord(e))
	for _, row := range [][2]string{
		{"Session", sessionOfEntry(e)},
		{"Store", term.Escape(term.ShortenHome(e.Store.Root))},
		{"Time", e.Time.Local().Format(time.RFC1123) + ", " + term.Age(time.Since(e.Time)) + ", by " + term.Escape(by)},
	} {
		printEntryRow(t, row[0], row[1])
	}
	printEntryList(t, "By", actorTexts(e.Actor))
	for _, row := range [][2]string{
		{"Undone by", e.UndoneBy},
		{"Resolved", term.Escape(e.Resolved)},
	} {
		if row[1] != "" {
			printEntryRow(t, row[0], row[1])
		}
	}
	printEntryList(t, "Why", append(entryFaults(e), entryError(e)...))
	printEntryList(t, "Changed", entryChanges(e))
	printEntryList(t, "Lost", entryLosses(e))
	for _, c := range e.Conflicts {
		printEntryRow(t, term.Bad("Conflict")+" ", fmt.Sprintf("%s: %s", c.Ref, term.Escape(c.Why)))
	}
	for _, path := range e.Kept {
		printEntryRow(t, "Kept", term.Escape(path))
	}
}

// actorTexts describes who made a change, and through which channel.
func actorTexts(by *change.Actor) []string {
	if by == nil {
		return []string{"unknown: an earlier version of mend made the entry"}
	}
	who, how := actorName(by), ""
	if by.UID >= 0 {
		who += fmt.Sprintf(" (uid %d)", by.UID)
	}
	if by.Channel != "" {
		how = fmt.Sprintf("%s %s, ", term.OneLine(string(by.Channel), 20), term.OneLine(by.Verb, 40))
	}
	how += fmt.Sprintf("process %d", by.PID)
	if by.Agent != "" {
		how += strings.TrimSpace(", for " + term.OneLine(by.Agent, 40) + " " + term.OneLine(by.AgentVersion, 40))
	}
	return []string{who, how}
}

// actorName returns the name of a user with the name of the machine.
func actorName(by *change.Actor) string {
	return term.OneLine(cmp.Or(by.User, "unknown")+"@"+cmp.Or(by.Host, "unknown"), 100)
}

// printEntryList prints a label with a line for each text.
func printEntryList(t *term.Terminal, label string, texts []string) {
	for i, text := range texts {
		if i > 0 {
			label = ""
		}
		printEntryRow(t, label, text)
	}
}

// printEntryRow prints a label with a text, wrapped to the terminal.
func printEntryRow(t *term.Terminal, label, text string) {
	if t.Width > 0 {
		text = term.WrapAt(text, len("  Undone by  "), t.Width)
	}
	t.Printf("  %-9s  %s\n", label, text)
}

func sessionOfEntry(e change.Entry) string {
	if e.Cause.Title == "" {
		return term.Escape(e.Session)
	}
	return quotedTitle(e.Cause.Title, e.Session) + "  " + term.Faint(term.Escape(e.Session))
}

// entryFaults returns the findings of an entry, each sentence once.
func entryFaults(e change.Entry) (texts []string) {
	for _, f := range e.Cause.Findings {
		texts = append(texts, times(f.Count)+term.Sentence(f.Why))
	}
	if len(e.Cause.Findings) > 0 {
		return texts
	}
	var old []string // of older versions: finding and fix in one text
	numbers := map[string]int{}
	for _, d := range e.Cause.Diagnoses {
		if numbers[d]++; numbers[d] == 1 {
			old = append(old, d)
		}
	}
	for _, d := range old {
		texts = append(texts, times(numbers[d])+term.OneLine(d, 1000))
	}
	if len(texts) == 0 {
		texts = []string{causeText(e)}
	}
	return texts
}

// times returns how often a text occurs, "" for once.
func times(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf("%d × ", n)
}

// entryError returns the API error that caused a repair.
func entryError(e change.Entry) []string {
	if e.Cause.Kind != change.CauseError || e.Cause.Text == "" {
		return nil
	}
	texts := []string{"The error: " + term.OneLine(e.Cause.Text, 400)}
	if f := e.Cause.Error; f != nil {
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
		if t := term.Sentence(text(f)); t != "" && !slices.Contains(texts, t) {
			texts = append(texts, t)
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

// printEntry prints all about an entry. now may be nil; together names its operation, "" for none.
func printEntry(t *term.Terminal, e change.Entry, ops []change.Op, related mend.Related, now *nowEffect, together string) {
	printEntryHead(t, e)
	if together != "" {
		printEntryRow(t, "Operation", together)
	}
	printEntryList(t, "Follows", relatedTexts(related.Follows))
	printEntryList(t, "Again", relatedTexts(related.Again))
	if now != nil {
		printEntryList(t, "Now", now.text())
	}
	switch {
	case ops == nil:
		printEntryRow(t, "Undo", "not possible: the undo data was deleted from the journal")
	case e.State == change.Conflicted:
		printEntryRow(t, "Undo", "resolve the conflict first: "+term.Bold("mend recover "+e.ID)+" with --keep, --back or --forward")
	case e.State == change.Committed && e.UndoneBy != "":
		printEntryRow(t, "Undo", "undone; "+term.Bold("mend undo --redo "+e.ID)+" applies it again")
	case e.State == change.Committed:
		printEntryRow(t, "Undo", term.Bold("mend undo "+e.ID))
	}
	printChanges(t, e, ops)
}

// printChanges prints what an entry changed: the diffs, or the records alone if ops, its ops with images, is nil.
func printChanges(t *term.Terminal, e change.Entry, ops []change.Op) {
	t.Printf("\n")
	if ops == nil {
		for _, o := range e.Ops {
			t.Printf("  %s %s\n", term.Bold(opVerb(o.Pre == nil, o.Post == nil)), o.Ref)
		}
		return
	}
	printOps(t, ops)
}

func modeText(m uint32) string {
	return fs.FileMode(m).String()
}
