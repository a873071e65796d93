package repairs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/journal"
)

type logFlags struct {
	limit                                        int
	session, state, since, until, channel, actor string
	rules                                        []string
	verbose                                      bool

	export    string // the file
	withBytes bool
}

// Log returns the verb log.
func Log(env *frame.Env) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:     "log [SESSION|ID] [FILE...]",
		Aliases: []string{"show"}, // its former name
		Short:   "List what mend changed; with an ID, show one change in full",
		Long: `Without an id, log lists changes, newest first: id, age, state, what was fixed, and the
title of the session. A run of mend that changed several sessions is one line, an operation;
-v also lists each of its repairs. SESSION is an id, the start of one, a title or a part of
it, . for the newest session of this folder, or @ for the newest of all.

With the id of a repair, log shows why it was made, what it changed and lost, how to undo
it, the diff of every change, the entries that changed the same records before and after it,
and what the same repair would change now. With the id of an operation, it lists its repairs.

With --export, log writes the whole journal to a file, which "mend verify FILE" checks. If you
name such files, log lists their entries instead of the journal's: from several machines in
one list, with the user and the machine of each.

A WHEN is an age such as 7d, a date such as 2026-03-31, or a time such as 2026-03-31T14:30:00Z.`,
		Example: `  mend log                    everything
  mend log bakobe             one repair in full
  mend log "dark mode" -n 3   the last three changes of a session
  mend log --since 7d         in the last week
  mend log a.jsonl b.jsonl    the entries of two exports
  mend log --channel plugin --state undone   repairs of the plugin that were undone`,
		RunE: func(cmd *cobra.Command, names []string) error { return runLog(cmd, env, names, f) },
	}
	fl := cmd.Flags()
	fl.IntVarP(&f.limit, "limit", "n", 0, "show at most `N` operations")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show each entry of an operation")
	fl.StringVar(&f.session, "session", "", "only of this `SESSION`")
	fl.StringVar(&f.since, "since", "", "only changes begun at `WHEN` or later")
	fl.StringVar(&f.until, "until", "", "only changes begun before `WHEN`")
	fl.StringVar(&f.state, "state", "", "only in this `STATE`: "+strings.Join(logStates, ", "))
	fl.StringSliceVar(&f.rules, "rule", nil, "only repairs of findings with this `RULE` (mend explain lists them)")
	fl.StringVar(&f.channel, "channel", "", "only through this `CHANNEL`: command, plugin, hook or watch")
	fl.StringVar(&f.actor, "actor", "", "only by this `USER`: a name, a number, or USER@HOST")
	fl.StringVar(&f.export, "export", "", "write the whole journal to this `FILE` as JSON Lines, or to standard output with -")
	fl.BoolVar(&f.withBytes, "with-bytes", false, "with --export: also the contents before and after")
	return cmd
}

// runLog shows the repair or the entries of the session that the user names, or the entries of exports. Without names
// it shows all entries.
func runLog(cmd *cobra.Command, env *frame.Env, names []string, f logFlags) error {
	ctx := cmd.Context()
	var files []string
	if i := slices.IndexFunc(names, isExport); i >= 0 {
		names, files = names[:i], names[i:]
	}
	if f.session != "" {
		names = append(slices.Clone(names), f.session)
	}
	if err := frame.AtMostOne("session or repair")(cmd, names); err != nil {
		return err
	}
	q, err := logQuery(env, f)
	switch {
	case err != nil:
		return err
	case cmd.Flags().Changed("limit") && f.limit < 1:
		return frame.Usagef("--limit %d: want a number from 1", f.limit)
	case f.export == "" && f.withBytes:
		return frame.Usagef("--with-bytes needs --export")
	case f.export != "" && (len(names)+len(files) > 0 || q.Agent != "" || filters(q)):
		return frame.Usagef("--export exports the whole journal, so that its chain can be checked: it cannot be combined with a name, a file or a filter")
	case f.export != "":
		return exportLog(ctx, env, f)
	case len(files) > 0:
		return logExports(ctx, env, strings.Join(names, ""), files, q)
	case len(names) > 0:
		found, session, err := frame.FindSessionOrRepair(ctx, env, names[0])
		switch {
		case err != nil:
			return err
		case found != nil && filters(q):
			return errFiltered
		case found != nil:
			return showEntries(ctx, env, *found)
		}
		q.Session, q.Agent = session.ID, session.StoreID.Agent
	}
	return listLog(env, q, f.verbose)
}

var errFiltered = frame.Usagef("the id of a repair cannot be combined with a filter")

// filters reports whether q selects entries by more than their agent and store.
func filters(q journal.Query) bool {
	return !reflect.DeepEqual(q, journal.Query{Agent: q.Agent, Store: q.Store})
}

// listLog prints the entries that q selects. Of a damaged journal it prints the intact entries, and returns the error.
func listLog(env *frame.Env, q journal.Query, verbose bool) error {
	release := env.Opt.Journal.Hold()
	defer release()
	es, err := newestEntries(env, q)
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return err
	}
	if err != nil && len(es) == 0 { // "No repairs" may be false
		return err
	}
	related, unrelated := env.Opt.Journal.Related(es)
	if unrelated != nil {
		return unrelated
	}
	release() // a person may read the log for a long time
	none := "No repairs yet."
	if filters(q) || q.Agent != "" || q.Store != nil {
		none = "No such repairs."
	}
	return errors.Join(err, env.RunPager(func() error { return printLog(env, es, related, none, verbose) }))
}

// logStates are the states of entries, in the words of log.
var logStates = []string{
	string(change.Pending), mend.StateWord(change.Committed), "undone", "forgotten", string(change.Aborted), string(change.Conflicted), string(change.Resolved),
}

// logQuery returns the query of the flags.
func logQuery(env *frame.Env, f logFlags) (q journal.Query, err error) {
	q = journal.Query{Limit: f.limit, Rules: f.rules, Actor: f.actor, Agent: env.AgentName, Channel: change.Channel(f.channel)}
	if f.channel != "" && !slices.Contains(change.Channels, q.Channel) {
		return q, frame.Usagef("--channel %s: want command, plugin, hook or watch", f.channel)
	}
	if err = setState(&q, f.state); err != nil {
		return q, err
	}
	now := time.Now()
	if q.Since, err = frame.ParseWhen("since", f.since, now); err != nil {
		return q, err
	}
	if q.Until, err = frame.ParseWhen("until", f.until, now); err != nil {
		return q, err
	}
	q.Store, err = env.NamedStore()
	return q, err
}

// setState sets the state that a query selects.
func setState(q *journal.Query, state string) error {
	switch {
	case state == "":
	case state == mend.StateWord(change.Committed), state == string(change.Committed): // the second is the word of JSON answers
		q.State, q.Undone = change.Committed, new(false)
	case !slices.Contains(logStates, state):
		return frame.Usagef("--state %s: want %s", state, strings.Join(logStates, ", "))
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

// showEntries shows a single entry in detail, or lists the entries of an operation.
func showEntries(ctx context.Context, env *frame.Env, q journal.Query) error {
	release := env.Opt.Journal.Hold()
	defer release()
	es, err := env.Opt.Journal.Log(q)
	if err != nil {
		return err
	}
	related, err := env.Opt.Journal.Related(es)
	if err != nil {
		return err
	}
	if len(es) > 1 {
		release() // a person may read the list for a long time
		return env.RunPager(func() error { return printLog(env, es, related, "", true) })
	}
	e, ops, err := env.Opt.Journal.Show(es[0].ID)
	if err != nil {
		return err
	}
	together := operationText(env, e)
	effect := effectOf(ctx, env, e, release)
	if env.JSON {
		r := show.EntryJSON(e, ops)
		r.Relate(related[e.ID])
		r.Now = &effect
		env.SetAnswers(show.RepairsAnswer{Repairs: []show.RepairJSON{r}})
		return nil
	}
	env.Page(func(t *term.Terminal) { show.Entry(t, e, ops, related[e.ID], &effect, together) })
	return nil
}

// newestEntries returns the entries that q selects, of at most q.Limit operations.
func newestEntries(env *frame.Env, q journal.Query) ([]change.Entry, error) {
	limit := q.Limit
	q.Limit = 0
	es, err := env.Opt.Journal.Log(q)
	if ops := show.Operations(es); limit > 0 && limit < len(ops) {
		es = slices.Concat(ops[:limit]...)
	}
	return es, err
}

// printLog prints one line for each operation, or with entries one for each entry.
func printLog(env *frame.Env, es []change.Entry, related map[string]mend.Related, none string, entries bool) error {
	if env.JSON || len(es) == 0 {
		return frame.PrintEntries(env, slices.Values(es), related, none)
	}
	defer env.Buffer()()
	var rows [][]any
	for _, op := range show.Operations(es) {
		several := len(op) > 1
		if several {
			rows = append(rows, op.Row(env.Terminal))
		}
		for _, e := range op {
			if row := show.EntryRow(env.Terminal, e, show.EarlierRepair(e, related[e.ID])); !several {
				rows = append(rows, row)
			} else if entries {
				row[0] = term.Sprintf("  %s", row[0])
				rows = append(rows, row)
			}
		}
	}
	env.PrintRows(rows, "")
	return nil
}

// operationText describes the operation of an entry; "" if it has no other entries.
func operationText(env *frame.Env, e change.Entry) string {
	op, err := env.Opt.Journal.Log(journal.Query{Operation: e.Operation})
	if err != nil && !errors.Is(err, journal.ErrDamaged) || len(op) < 2 {
		return ""
	}
	return fmt.Sprintf("%s: %s of %s", mend.OperationOf(e), show.Operation(op).What(), show.Operation(op).Sessions())
}

// effectOf compares an entry with its store as it is now. It releases the journal before that.
func effectOf(ctx context.Context, env *frame.Env, e change.Entry, release func()) (x mend.Effect) {
	c, err := frame.OpenEntryStore(ctx, env, e, false)
	if release(); err == nil {
		x, err = c.Effect(ctx, e)
	}
	if err != nil {
		x.Why = "not known: " + err.Error()
	}
	return x
}

// An ExportAnswer is the answer of log.
type ExportAnswer struct {
	Repairs []show.RepairJSON `json:"repairs"`
	Export  *exportedJSON     `json:"export,omitempty"` // with --export: the written file
}

// An exportedJSON is the file that was written.
type exportedJSON struct {
	Path    string `json:"path"`
	Bytes   bool   `json:"bytes"` // it has the images
	Entries int    `json:"entries"`
	Events  int    `json:"events"`
	Images  int    `json:"images"`
	Head    string `json:"head"`
}

// exportLog writes the whole journal to a file.
func exportLog(ctx context.Context, env *frame.Env, f logFlags) error {
	var r journal.Report
	export := func(w io.Writer) (err error) {
		buffered := bufio.NewWriterSize(&termjson.LineWriter{To: w}, 1<<16)
		if r, err = env.Opt.Journal.Export(ctx, buffered, f.withBytes); err != nil {
			return fmt.Errorf("exporting the journal: %w", err)
		}
		return buffered.Flush()
	}
	switch {
	case f.export == "-" && env.JSON:
		return frame.Usagef("--json and --export - cannot be used together")
	case f.export == "-":
		return export(env)
	}
	if err := env.CreateFile(f.export, export); err != nil {
		return err
	}
	env.SetAnswers(ExportAnswer{[]show.RepairJSON{}, &exportedJSON{f.export, f.withBytes, r.Entries, r.Events, r.Images, r.Head}})
	env.Printf("Wrote %s: %s, %s, %s.\nhead %s\n", term.Bold(f.export), term.Count(r.Entries, "repair"), term.Count(r.Events, "event"), term.Count(r.Images, "image"), r.Head)
	if f.withBytes {
		env.Say("%s The file contains texts of the conversations.", term.Warn("note:"))
	}
	return nil
}

// isExport reports whether a name is a file rather than an id: ids have neither dot nor slash.
func isExport(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && strings.ContainsAny(name, "./")
}

// An export is a journal that an export was read into, with the selected entries.
type export struct {
	*mend.Journal
	id      string
	events  int // of several exports of one journal, the newest has the most
	entries []change.Entry
}

type exportedEntry struct {
	change.Entry
	journal *mend.Journal
}

// logExports shows exports instead of the journal: the repairs whose ids begin with name, or the entries that q selects:
// with a name, only those of sessions with the name at the beginning of the id or anywhere in the title.
func logExports(ctx context.Context, env *frame.Env, name string, files []string, q journal.Query) (left error) {
	limit, filtered := q.Limit, filters(q)
	q.Limit = 0
	dir, err := os.MkdirTemp("", "mend-log-")
	if err != nil {
		return err
	}
	defer func() { left = errors.Join(left, os.RemoveAll(dir)) }()
	all, left := readExports(ctx, env, dir, files, q)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if name != "" {
		var repairs, sessions []exportedEntry
		for _, e := range all {
			if strings.HasPrefix(e.ID, name) || mend.OperationOf(e.Entry) == name {
				repairs = append(repairs, e)
			}
			if strings.HasPrefix(e.Session, name) || strings.Contains(strings.ToLower(e.Cause.Title), strings.ToLower(name)) {
				sessions = append(sessions, e)
			}
		}
		switch {
		case len(repairs) > 0 && filtered:
			return errFiltered
		case len(repairs) > 0:
			return fail.Worst(left, showExported(env, repairs))
		case len(sessions) == 0:
			return fail.Worst(left, fail.New(fail.Usage, "", "%q: no export has such a repair, or a repair of such a session", name))
		}
		all = sessions
	}
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	return fail.Worst(left, printExported(env, all))
}

// readExports returns the entries of exports that q selects, newest first. It skips exports that cannot be read, and
// returns the worst of their errors. Of several exports of one journal it uses the newest. The journals that it reads the
// exports into are below dir.
func readExports(ctx context.Context, env *frame.Env, dir string, files []string, q journal.Query) (all []exportedEntry, left error) {
	newest := map[string]export{} // by the id of the journal
	for i, file := range files {
		x, err := readExport(ctx, file, filepath.Join(dir, strconv.Itoa(i)), q)
		if err != nil {
			left = env.SkipStore(ctx, left, fmt.Errorf("reading %s: %w", file, err))
		} else if x.events > newest[x.id].events {
			newest[x.id] = x
		}
	}
	for _, x := range newest {
		for _, e := range x.entries {
			all = append(all, exportedEntry{e, x.Journal})
		}
	}
	slices.SortStableFunc(all, func(a, b exportedEntry) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.journal.Dir, b.journal.Dir))
	})
	return all, left
}

// readExport reads an export into a new journal in dir, and selects entries.
func readExport(ctx context.Context, file, dir string, q journal.Query) (x export, err error) {
	f, err := os.Open(file)
	if err != nil {
		return x, err
	}
	defer f.Close()
	report, err := journal.ReadExport(ctx, f, dir, "")
	if err != nil {
		return x, err
	}
	x = export{Journal: mend.OpenJournal(dir), events: report.Events}
	if x.id, err = x.ID(); err == nil {
		x.entries, err = x.Log(q)
	}
	return x, err
}

// printExported prints a line for each entry, with the user and the machine that made it.
func printExported(env *frame.Env, all []exportedEntry) error {
	list, rows := []show.RepairJSON{}, [][]any{}
	for _, e := range all {
		list = append(list, show.EntryJSON(e.Entry, nil))
		rows = append(rows, slices.Insert(show.EntryRow(env.Terminal, e.Entry, ""), 3, any(show.ActorName(cmp.Or(e.Actor, &change.Actor{})))))
	}
	env.SetAnswers(show.RepairsAnswer{Repairs: list})
	return env.RunPager(func() error {
		defer env.Buffer()()
		env.PrintRows(rows, "")
		if len(rows) == 0 {
			env.Printf("No such repairs.\n")
		}
		return nil
	})
}

// showExported shows the repairs with one id in full: several journals may have the id.
func showExported(env *frame.Env, all []exportedEntry) error {
	list := []show.RepairJSON{}
	return env.RunPager(func() error {
		for _, x := range all {
			e, ops, err := x.journal.Show(x.ID)
			if err != nil { // the export has no images
				e, ops = x.Entry, nil
			}
			related, err := x.journal.Related([]change.Entry{e})
			if err != nil {
				return err
			}
			r := show.EntryJSON(e, ops)
			r.Relate(related[e.ID])
			list = append(list, r)
			show.Entry(env.Terminal, e, ops, related[e.ID], nil, "")
			env.Printf("\n")
		}
		env.SetAnswers(show.RepairsAnswer{Repairs: list})
		return nil
	})
}
