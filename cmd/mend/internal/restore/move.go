package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
)

// Move returns the verb move.
func Move(env *frame.Env) *cobra.Command {
	var f frame.WriteFlags
	cmd := &cobra.Command{
		Use:   "move [OLD NEW]",
		Short: "Move the sessions of a folder that was renamed",
		Long: `Agents store with each session the folder where it was started. If you rename or move
that folder, or remove a worktree, its sessions are no longer listed, or can no longer be
continued. Move assigns them to the new folder: they are listed there, and continue there.

Move moves the sessions of OLD and of all folders below it, of every agent: those of OLD/a to
NEW/a, or to NEW if that has no folder a. NEW must exist; the sessions that NEW already has do
not change. If OLD was created again and has newer sessions, those stay there. The memory of
Claude Code about a folder stays, too. One undo reverts all of it.

Without OLD and NEW, move lists the folders that no longer exist, and where each may be now:
first folders of the same repository, recognised by its first commit, or folders that a
transcript names; then folders with the same name, and neighbours. It asks about each.`,
		Example: `  mend move                          list what is gone, and ask
  mend move ~/src/app ~/src/shop     app was renamed to shop
  mend move ../app . --dry-run       show what would move`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 2 {
				from, to, err := folders(names[0], names[1])
				if err != nil {
					return err
				}
				clients, left := frame.OpenAll(cmd.Context(), env, !f.DryRun)
				return moveFolder(cmd.Context(), env, clients, left, from, to, f)
			}
			if f.Yes || len(names) == 1 {
				return frame.Usagef("move needs two names: the old folder and the new one; with none it lists the folders that are gone, and asks")
			}
			_, err := MoveGone(cmd.Context(), env, f)
			return err
		},
	}
	f.Add(cmd, "move sessions even if an agent is using one of them")
	cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	return cmd
}

// folders returns the absolute paths of the two folders that the user names. The new folder must exist, and its links
// are resolved.
func folders(old, name string) (from, to string, err error) {
	if from, err = filepath.Abs(old); err != nil {
		return "", "", err
	}
	if to, err = filepath.Abs(name); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		return "", "", frame.Usagef("%s is not a folder; name the folder where the sessions belong now", name)
	}
	if to, err = filepath.EvalSymlinks(to); err == nil && to == from {
		err = frame.Usagef("both names are the same folder: %s", to)
	}
	return from, to, err
}

type storeMove struct {
	mend.Move
	store *mend.Store
}

// moveFolder plans the move of one folder in all stores, shows it, asks, and applies it. left is the worst error of
// the stores that cannot be opened.
func moveFolder(ctx context.Context, env *frame.Env, clients []*mend.Store, left error, from, to string, f frame.WriteFlags) error {
	moves, left, err := proposeMoves(ctx, env, clients, left, from, to, f.Force)
	if err == nil {
		err = makeMoves(ctx, env, moves, from, to, f)
	}
	return env.Both(ctx, left, err)
}

func makeMoves(ctx context.Context, env *frame.Env, moves []storeMove, from, to string, f frame.WriteFlags) error {
	sessions, moving, staying, plans := []movedJSON{}, 0, 0, 0
	for _, m := range moves {
		if env.JSON {
			sessions = append(sessions, movedSessions(m)...)
		}
		moving, staying, plans = moving+len(m.Sessions), staying+len(m.Stay), plans+m.Plans
	}
	env.SetAnswers(MoveAnswer{Folder: from, To: to, Sessions: sessions})
	if moving+staying == 0 {
		return fail.New(fail.Usage, "\"mend move\" lists the missing folders of sessions", "no session belongs to %s, or to a folder below it", from)
	}
	printMoves(env, moves, from, to)
	if plans == 0 {
		env.SetAnswer("repairs", []show.RepairJSON{})
		env.Say("Nothing to do: the sessions belong there already.")
		return nil
	}
	moved := 0
	return env.Run(ctx, f, frame.Job{
		Question: fmt.Sprintf("Move %s to %s?", term.Count(moving, "session"), to), Steps: moveSteps(ctx, moves), N: plans,
		Ended: func(s frame.Step, _ change.Entry, err error) {
			if err == nil && s.Plan.Session != change.NoSession {
				moved++
			}
		},
		Done: func(b *frame.Batch) { printMoved(b, moves, moved, to) },
	})
}

// moveSteps returns the steps of all moves; each is planned when it is needed.
func moveSteps(ctx context.Context, moves []storeMove) iter.Seq[frame.Step] {
	var all []iter.Seq[frame.Step]
	for _, m := range moves {
		rest := "the other sessions of " + term.ShortenHome(m.store.ID().Root)
		all = append(all, frame.PlannedSteps(m.store, rest, func(f func(change.Plan) error) error { return m.Each(ctx, f) }))
	}
	return frame.JoinSteps(all)
}

// proposeMoves plans the move in each store. It skips stores that cannot be read, and if there are several, stores that
// do not support moves. unread is the worst of left and the errors of unreadable stores.
func proposeMoves(ctx context.Context, env *frame.Env, clients []*mend.Store, left error, from, to string, force bool) (moves []storeMove, unread, err error) {
	for _, c := range clients {
		m, err := c.ProposeMove(ctx, from, to, force)
		if errors.Is(err, errors.ErrUnsupported) && len(clients) > 1 {
			env.NoteSkipped(err)
			continue
		}
		if ctx.Err() != nil || err != nil && frame.ExitCode(err) != frame.ExitUnusable {
			return nil, left, cmp.Or(err, ctx.Err())
		}
		if err == nil {
			moves = append(moves, storeMove{m, c})
		}
		if err = cmp.Or(err, m.Unread); err != nil {
			left = env.SkipStore(ctx, left, err)
		}
	}
	return moves, left, nil
}

// printMoves lists the sessions that move, and those that stay.
func printMoves(env *frame.Env, moves []storeMove, from, to string) {
	missing := map[string]bool{} // folders that the new folder lacks
	for _, m := range moves {
		for _, r := range m.Sessions {
			line := "  " + show.SessionLine(r.Head)
			if r.To != to {
				line += term.Sprintf("  to %s", term.OneLine(term.ShortenHome(r.To), 80))
			}
			env.Printf("%s\n", term.Cut(line, env.Width))
			rel, err := filepath.Rel(from, r.Head.Directory)
			if same := filepath.Join(to, rel); err == nil && filepath.IsLocal(rel) && same != r.To && !missing[same] {
				missing[same] = true
				env.Say("%s does not exist: its sessions go to %s.", term.ShortenHome(same), term.ShortenHome(r.To))
			}
		}
		if n := len(m.Stay); n > 0 {
			env.Say("%s in the old folder, which was created again.", term.CountWords(n, "later session stays", "later sessions stay"))
		}
	}
}

// printMoved prints how many sessions were moved, and how to continue the newest of each store.
func printMoved(b *frame.Batch, moves []storeMove, moved int, to string) {
	all := 0
	for _, m := range moves {
		all += m.Going
	}
	what := term.Count(moved, "session")
	if moved < all {
		what = fmt.Sprintf("%d of %s", moved, term.Count(all, "session"))
	}
	b.Say("%s %s to %s. Undo: %s", term.Good("Moved"), what, to, term.Command("mend undo "+show.UndoID(b.Done[0], b.Made)))
	if len(b.Failed) > 0 || b.Ctx.Err() != nil {
		return
	}
	for _, m := range moves {
		if len(m.Sessions) > 0 {
			newest := slices.MaxFunc(m.Sessions, func(a, b agent.Relocation) int { return cmp.Compare(a.Head.Updated, b.Head.Updated) })
			newest.Head.Directory = newest.To
			b.PrintContinueCommand(b.Ctx, m.store, newest.Head, map[bool]string{true: "it", false: "the newest"}[moved == 1])
		}
	}
}

// MoveGone lists the missing folders, and asks about each. It reports whether sessions were moved.
func MoveGone(ctx context.Context, env *frame.Env, f frame.WriteFlags) (moved bool, err error) {
	ask := env.CanAsk && !env.JSON && !f.DryRun
	clients, left := frame.OpenAll(ctx, env, ask)
	stop := env.Busy("looking for folders ...")
	gone, unread := mend.GoneFolders(ctx, clients, show.WorkingFolder())
	stop()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	for _, err := range unread {
		left = env.SkipStore(ctx, left, err)
	}
	list := []show.GoneJSON{}
	for _, g := range gone {
		list = append(list, goneJSONOf(g))
	}
	env.SetAnswers(MoveAnswer{Folders: list})
	if len(gone) == 0 && left == nil {
		env.Say("The folder of every session exists.")
	}
	if len(gone) == 0 {
		return false, left
	}
	stays, declined := false, false
	for i, g := range gone {
		printGone(env, g)
		if !ask {
			stays = true
			continue
		}
		to, err := askFolder(ctx, env, list[i])
		switch {
		case errors.Is(err, term.ErrDeclined) && ctx.Err() == nil:
			stays, declined = true, true
			continue
		case err != nil:
			return moved, env.Both(ctx, left, err)
		}
		f.Yes = true // the user has picked the folder
		err = moveFolder(ctx, env, clients, nil, g.Folder, to, f)
		f.Yes = false
		left, moved = fail.Worst(left, err), moved || err == nil
		if i < len(gone)-1 {
			env.Printf("\n")
		}
	}
	switch {
	case !ask:
		env.Say("To move the sessions of one: %s", term.Command("mend move OLD NEW"))
	case declined && !moved:
		left = fail.Worst(left, term.ErrDeclined)
	case stays:
		left = fail.Worst(left, frame.ErrProblems)
	}
	return moved, left
}

// printGone prints a missing folder, and where it may be now.
func printGone(env *frame.Env, g mend.GoneFolder) {
	env.Printf("%s  %s  %s\n", term.Bold(g.Folder), term.Count(g.Sessions, "session"), term.Faint(term.Age(time.Since(time.UnixMilli(g.Newest)))))
	for _, p := range g.Proposals.All {
		why := "the same name"
		switch {
		case p.Here:
			why = "you are in it"
		case p.Same && filepath.Base(p.Path) == filepath.Base(g.Folder):
			why = "the same repository and name"
		case p.Same:
			why = "the same repository"
		}
		env.Printf("  %s  %s\n", p.Path, term.Faint(why))
	}
	if len(g.Proposals.All) == 0 {
		folder := frame.ShellWord(g.Folder)
		env.SayAt(2, "No folder matches. If it was moved: %s", term.Command("mend move "+folder+" NEW"))
		env.SayAt(2, "If it was deleted: %s", term.Command("mkdir -p "+folder))
	}
}

// askFolder asks for the new folder of sessions. The error is [term.ErrDeclined] if they stay.
func askFolder(ctx context.Context, env *frame.Env, g show.GoneJSON) (string, error) {
	if len(g.Proposals) == 1 {
		key, err := env.Ask(ctx, fmt.Sprintf("Move %s to %s?", term.Count(g.Sessions, "session"), g.Proposals[0]), []term.Answer{{"yes", "move them"}, {"no", "leave them, and continue"}})
		if err == nil && key != "y" {
			err = term.ErrDeclined
		}
		return g.Proposals[0], err
	}
	for len(g.Proposals) == 0 {
		env.PrintErr("Where is it now? (a folder, or Enter to leave the sessions) ")
		name, _ := term.Await(ctx, func() (string, error) { return env.Input().ReadString('\n') }) // the end of the input is an empty name
		if name = strings.TrimSpace(name); name == "" {
			return "", cmp.Or(ctx.Err(), term.ErrDeclined)
		}
		_, to, err := folders(g.Folder, name)
		if err == nil {
			return to, nil
		}
		env.PrintError(err)
	}
	var rows [][]any
	for _, p := range g.Proposals {
		rows = append(rows, []any{p})
	}
	i, err := env.Pick(ctx, "Where is "+g.Folder+" now? (Esc leaves the sessions)", rows)
	if err != nil {
		return "", err
	}
	return g.Proposals[i], nil
}

// A MoveAnswer is the answer of move.
type MoveAnswer struct {
	Folder   string            `json:"folder,omitempty"`
	To       string            `json:"to,omitempty"`
	Sessions []movedJSON       `json:"sessions,omitempty"`
	Repairs  []show.RepairJSON `json:"repairs,omitempty"`
	Folders  []show.GoneJSON   `json:"folders,omitempty"` // without names: the missing folders of sessions
	frame.ContinueAnswer
}

func goneJSONOf(g mend.GoneFolder) show.GoneJSON {
	j := show.GoneJSON{Folder: g.Folder, Sessions: g.Sessions, Proposals: []string{}, Certain: g.Proposals.Certain()}
	for _, p := range g.Proposals.All {
		j.Proposals = append(j.Proposals, p.Path)
	}
	return j
}

type movedJSON struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Title   string `json:"title"`
	From    string `json:"from"`
	To      string `json:"to"`
	Stays   bool   `json:"stays"` // it is of the old folder after that was created again
}

func movedSessions(m storeMove) (all []movedJSON) {
	name := m.store.ID().Agent
	for _, r := range m.Sessions {
		all = append(all, movedJSON{name, r.Head.ID, r.Head.Title, r.Head.Directory, r.To, false})
	}
	for _, h := range m.Stay {
		all = append(all, movedJSON{name, h.ID, h.Title, h.Directory, h.Directory, true})
	}
	return all
}
