package mend

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/journal"
	"mend/repair"
)

// A Salvage is the content read from a damaged database, and the plan that replaces the database with a new one.
type Salvage struct {
	agent.Salvaged

	Plan change.Plan
}

// CheckSalvage checks the whole file of a database. The error is nil if it is sound;
// damaged reports whether the error is about damage.
func (c *Store) CheckSalvage(ctx context.Context) (damaged bool, err error) {
	err = c.store.CheckFile(ctx, change.CheckAll)
	if err == nil && c.ID().Kind != "sqlite" {
		return false, fail.New(fail.Usage, "name a database with --store PATH",
			"%s is not a database: only a database can be salvaged", c.ID().Root)
	}
	return err != nil && ctx.Err() == nil && !errors.Is(err, change.ErrLocked), err
}

// ProposeSalvage reads a damaged database as far as possible and writes the rows into a new one beside it or,
// if dryRun is set, into a temporary one. The caller must always call Discard. The error wraps
// [errors.ErrUnsupported] if the store is not a database.
func (c *Store) ProposeSalvage(
	ctx context.Context, dryRun bool, progress func(done, total int64),
) (s Salvage, err error) {
	if err := c.Changeable(ctx); err != nil {
		return s, err
	}
	o := agent.SalvageOptions{DryRun: dryRun, Progress: progress}
	o.Check = func(path string) error { return c.checkSalvaged(ctx, path) }
	seen := c.newestEvent()
	s.Salvaged, err = c.store.Salvage(ctx, o)
	s.Plan = change.Plan{
		Cause: change.Cause{
			Kind: change.CauseSalvage, Title: filepath.Base(c.ID().Root), Folder: filepath.Dir(c.ID().Root),
			Findings: lossesOf(s.Salvaged),
		},
		Ops: s.Ops, AgentVersion: c.agentVersion(), Seen: seen,
	}
	return s, err
}

// ruleSalvaged is the rule of a session's losses in a salvage.
const ruleSalvaged = "salvaged"

// lossesOf returns a finding for each session with losses, for the journal.
func lossesOf(s agent.Salvaged) (fs []change.Finding) {
	count := func(n int, table, what string) string {
		if n != 1 {
			table += "s"
		}
		return fmt.Sprintf("%d %s %s", n, table, what)
	}
	for _, one := range s.Sessions {
		var texts []string
		for _, t := range s.Tables {
			if n := one.Lost[t.Name]; n > 0 && t.Conversation {
				texts = append(texts, count(n, t.Name, "lost"))
			}
			if n := one.Torn[t.Name]; n > 0 && t.Conversation {
				texts = append(texts, count(n, t.Name, "damaged"))
			}
		}
		if len(texts) > 0 {
			why := strings.Join(texts, ", ")
			fs = append(fs,
				change.Finding{
					Rule: ruleSalvaged, Class: string(repair.LostContent), Why: "In the damaged database: " + why + ".", Loses: why,
					Count: 1, Session: one.ID,
				})
		}
	}
	return fs
}

// salvageLosses returns the losses of the salvages in force, by session, except sessions that were restored
// since.
func (c *Store) salvageLosses() map[string][]repair.Diagnosis {
	id, lost := c.ID(), map[string][]repair.Diagnosis{}
	if id.Kind != "sqlite" {
		return nil
	}
	_ = c.journal.readJournal(true, func(j *journal.Journal) error { // a journal that cannot be read is reported elsewhere
		clear(lost)
		es, err := j.List(journal.Query{Store: &id, Cause: change.CauseSalvage, State: change.Committed, InForce: true})
		for _, e := range es {
			for _, f := range e.Cause.Findings {
				restored, err := j.List(journal.Query{
					Store: &id, Session: f.Session, Cause: change.CauseRestore, State: change.Committed,
					InForce: true, After: e.Seq, Limit: 1,
				})
				if f.Session == "" || len(restored) > 0 || err != nil {
					continue
				}
				lost[f.Session] = append(lost[f.Session], repair.Diagnosis{
					Rule: f.Rule, Class: repair.Class(f.Class), Severity: repair.Lost, Why: f.Why,
					WhyNot: fmt.Sprintf("The salvage %s of %s could not read it. \"mend restore\" brings it back if it was "+
						"kept; \"mend forget %s\" deletes the damaged database and this note.",
						e.ID, e.Time.Local().Format(time.DateOnly), e.ID),
				})
			}
		}
		return err
	})
	return lost
}

// checkSalvaged lists the sessions of a new database. It examines none: those without losses have their original rows.
func (c *Store) checkSalvaged(ctx context.Context, path string) error {
	o := c.opt
	o.Store = path
	fresh, err := Open(o)
	if err == nil {
		_, err = fresh.Sessions(ctx)
	}
	if err != nil {
		return fmt.Errorf("checking the new database: %w", err)
	}
	return nil
}
