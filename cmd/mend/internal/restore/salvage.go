package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
	"mend/internal/term"
)

// Salvage returns the verb salvage.
func Salvage(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	cmd := &cobra.Command{
		Use:   "salvage",
		Short: "Rebuild a damaged database from its readable rows",
		Long: `If SQLite calls a database malformed, or does not recognise it as a database, salvage reads
it page by page. It copies every readable row to a new database; unreadable messages and
parts are rebuilt from OpenCode's events if these have a copy. Salvage shows what each session
has lost, asks, and then exchanges the two files in one step. Deleted sessions stay deleted. A
damaged index of Codex is only set aside: Codex creates a new one.

Nothing is ever written to the damaged file. It stays complete beside the new one until
"mend forget" deletes it; "mend undo" exchanges the two again.`,
		Example: `  mend salvage --dry-run         show what can be brought back
  mend salvage
  mend salvage --store ~/backup/opencode.db`,
		Args: frame.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return RunSalvage(cmd.Context(), env, f) },
	}
	f.Add(cmd, "")
	return cmd
}

// RunSalvage checks the databases of all agents, and salvages those that are damaged, as one operation.
func RunSalvage(ctx context.Context, env *frame.Env, f frame.WriteFlags) (left error) {
	clients, left := frame.OpenAll(ctx, env, !f.DryRun)
	env.SetAnswers(SalvageAnswer{Sessions: []agent.SalvagedSession{}, Repairs: []show.RepairJSON{}})
	var found salvages
	defer func() { found.discard() }()
	sound, noDatabase := 0, error(nil)
	for _, c := range clients {
		checked := env.Busy("checking the database ...")
		damaged, err := c.CheckSalvage(ctx)
		checked()
		if !damaged && ctx.Err() == nil && c.ID().Kind != "sqlite" {
			noDatabase = cmp.Or(noDatabase, err)
			continue
		}
		if env.NextStore(c); damaged {
			err = found.propose(ctx, env, c, f.DryRun, err)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && len(clients) > 1:
			left = env.SkipStore(ctx, left, err)
		case err != nil:
			return env.Both(ctx, left, err)
		case !damaged:
			sound++
			env.Say("%s Nothing was changed.", term.Good("The database is not damaged."))
		}
	}
	switch {
	case len(found) > 0:
		return env.Both(ctx, left, found.run(ctx, env, f))
	case sound == 0 && left == nil: // otherwise a skipped store may have a database
		return noDatabase
	}
	return left
}

// A salvage is the new database of a store, which replaces the damaged one.
type salvage struct {
	mend.Salvage
	store *mend.Store
}

type salvages []salvage

func (all salvages) discard() {
	for _, s := range all {
		if s.Discard != nil {
			s.Discard()
		}
	}
}

// propose builds a new database from a damaged one, and shows it. damage is the error of its check.
func (all *salvages) propose(ctx context.Context, env *frame.Env, c *mend.Store, dryRun bool, damage error) error {
	why := "it is damaged: " + damage.Error()
	if d, ok := errors.AsType[*change.DamagedError](damage); ok {
		why = d.Error()
	}
	env.Say("%s%s", strings.ToUpper(why[:1]), term.OneLine(why[1:], 300))
	progress, clear := env.ByteProgress("reading")
	s, err := c.ProposeSalvage(ctx, dryRun, progress)
	clear()
	if err != nil {
		salvages{{s, c}}.discard()
		return err
	}
	*all = append(*all, salvage{s, c})
	printSalvage(env.Terminal, s)
	return nil
}

// run asks once, and exchanges the databases.
func (all salvages) run(ctx context.Context, env *frame.Env, f frame.WriteFlags) error {
	all.setAnswer(env)
	var result error
	for _, s := range all {
		if !s.Complete() { // content of a conversation is, or may be, lost
			result = frame.ErrProblems
		}
	}
	err := env.Run(ctx, f, frame.Job{
		Question: fmt.Sprintf("Salvage %s?", term.Count(len(all), "damaged database")), NoDiff: true, N: len(all),
		Steps: func(yield func(frame.Step) bool) {
			for _, s := range all {
				if !yield(frame.Step{Store: s.store, Plan: s.Plan, Name: show.QuotedTitle(s.Plan.Cause.Title, "")}) {
					return
				}
			}
		},
		Dry: "Run again without --dry-run to put the new database in its place.",
		Ended: func(step frame.Step, e change.Entry, err error) {
			if err == nil {
				i := slices.IndexFunc(all, func(s salvage) bool { return s.store == step.Store })
				printSalvaged(ctx, env, all[i], e)
			}
		},
		Done: func(b *frame.Batch) {
			if b.Made > 1 {
				b.Say("Undo all of it: %s", term.Command("mend undo "+show.UndoID(b.Done[0], b.Made)))
			}
		},
	})
	return cmp.Or(err, result)
}

// printSalvaged prints the result, the path of the damaged file, and the next step.
func printSalvaged(ctx context.Context, env *frame.Env, s salvage, e change.Entry) {
	c := s.store
	show.PrintCommitted(env.Terminal, e, e.Cause.Title, "")
	folder := c.ID().Root
	if c.ID().Kind == "sqlite" {
		folder = filepath.Dir(folder)
	}
	folder = term.ShortenHome(filepath.Join(folder, ".mend"))
	env.SayAt(2, "The damaged file is kept below %s until %s.", folder, term.Command("mend forget "+e.ID))
	if heads, err := c.Sessions(ctx); err == nil && len(heads) > 0 {
		newest := slices.MaxFunc(heads, func(a, b change.Head) int { return cmp.Compare(a.Updated, b.Updated) })
		defer env.PrintContinueCommand(ctx, c, newest, "the newest session")
	}
	if !s.Complete() {
		env.SayAt(2, "To see what is broken in the sessions that lost something: %s.", term.Command(env.CommandLine("scan")))
	}
}

// printSalvage prints the restored and the lost content.
func printSalvage(t *term.Terminal, s mend.Salvage) {
	if len(s.Tables) == 0 { // nothing is read: the agent recreates the database
		for _, note := range s.Notes {
			t.Say("%s", note)
		}
		return
	}
	undamaged, rows, rebuilt := 0, 0, 0
	for _, one := range s.Sessions {
		if isUndamaged(s, one) {
			undamaged++
		}
	}
	var lost []string
	for _, table := range s.Tables {
		rows, rebuilt = rows+table.Rows, rebuilt+table.Rebuilt
		switch partly := table.Partly && table.Name != "sqlite_sequence"; { // none of the table's indexes is complete
		case partly && table.Lost == 0:
			lost = append(lost, "perhaps some of "+table.Name)
		case partly:
			lost = append(lost, fmt.Sprintf("at least %d of %s", table.Lost, table.Name))
		case table.Lost > 0:
			lost = append(lost, fmt.Sprintf("%d of %s", table.Lost, table.Name))
		}
	}
	complete := fmt.Sprintf("%d of %s complete", undamaged, term.CountWords(len(s.Sessions), "session is", "sessions are"))
	if s.Uncertain() {
		complete = term.CountWords(len(s.Sessions), "session may or may not be", "sessions may or may not be") + " complete"
	}
	t.Say("%s can be restored, and %s.", term.Count(rows, "row"), complete)
	if rebuilt > 0 {
		t.Say("%s rebuilt from other data.", term.CountWords(rebuilt, "row is", "rows are"))
	}
	if len(lost) > 0 {
		t.Say("Lost rows: %s.", strings.Join(lost, ", "))
	}
	if s.Complete() {
		t.Say("No message of a conversation is lost.")
	}
	for _, table := range s.Tables {
		if table.Unassigned > 0 {
			t.Say("%s the sessions of %s in %s are not known.", term.Warn("note:"), term.Count(table.Unassigned, "lost row"), table.Name)
		}
	}
	for _, note := range s.Notes {
		t.Say("%s %s", term.Warn("note:"), note)
	}
	for _, one := range s.Sessions {
		if !one.Whole() {
			printSalvagedSession(t, one)
		}
	}
}

// isUndamaged reports whether a session has no lost or torn content.
func isUndamaged(s mend.Salvage, one agent.SalvagedSession) bool {
	lost := one.Orphans + len(one.Torn)
	for _, table := range s.Tables {
		if table.Conversation {
			lost += one.Lost[table.Name]
		}
	}
	return lost == 0
}

func printSalvagedSession(t *term.Terminal, s agent.SalvagedSession) {
	title := cmp.Or(term.OneLine(s.Title, 60), "a session whose row is lost")
	t.Printf("\n%s  %s\n", term.Bold(title), term.Faint(s.ID))
	if len(s.Lost) > 0 {
		text := "lost: " + tableCounts(s.Lost)
		if s.From > 0 {
			const layout = "2 January 2006 15:04"
			text += fmt.Sprintf(", from %s to %s", time.UnixMilli(s.From).Format(layout), time.UnixMilli(s.To).Format(layout))
		}
		t.SayAt(2, "%s", text)
	}
	if len(s.Torn) > 0 {
		t.SayAt(2, "damaged: %s, with bytes that OpenCode did not write", tableCounts(s.Torn))
	}
	if len(s.Rebuilt) > 0 {
		t.SayAt(2, "rebuilt: %s", tableCounts(s.Rebuilt))
	}
	if s.Orphans > 0 {
		t.SayAt(2, "%s to a message that is lost", term.CountWords(s.Orphans, "row belongs", "rows belong"))
	}
	for _, note := range s.Notes {
		t.SayAt(2, "%s", note)
	}
}

// tableCounts returns counts by table for a sentence.
func tableCounts(counts map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, term.Count(counts[name], strings.ReplaceAll(name, "_", " ")))
	}
	return strings.Join(all, ", ")
}

// A SalvageAnswer is the answer of salvage.
type SalvageAnswer struct {
	Sessions []agent.SalvagedSession `json:"sessions"`
	Repairs  []show.RepairJSON       `json:"repairs"`
	show.SalvageParts
	frame.ContinueAnswer
}

func (all salvages) setAnswer(env *frame.Env) {
	answer := SalvageAnswer{Sessions: []agent.SalvagedSession{}, SalvageParts: show.SalvageParts{Tables: []agent.SalvagedTable{}, Notes: []string{}, Complete: true}}
	for _, s := range all {
		answer.Sessions = append(answer.Sessions, s.Sessions...)
		answer.Repairs = append(answer.Repairs, show.PlanJSON(s.Plan))
		answer.Tables, answer.Notes = append(answer.Tables, s.Tables...), append(answer.Notes, s.Notes...)
		answer.Complete = answer.Complete && s.Complete()
	}
	env.SetAnswers(answer)
}
