package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/internal/mend"
	"mend/internal/term"
)

func cleanVerb(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Show what takes the space, and remove what can go",
		Long: `Clean shows in bytes what takes the space of the stores of all agents, and which sessions
are the largest. It writes nothing.`,
		Example: `  mend clean`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSpace(cmd.Context(), env) },
	}
	return cmd
}

// largestSessions is how many sessions are listed.
const largestSessions = 10

func runSpace(ctx context.Context, env *environment) error {
	clients, left := openAll(ctx, env, false)
	stores := []spaceJSON{}
	for _, c := range clients {
		progress, clear := env.byteProgress("measuring")
		parts, sessions, err := c.Space(ctx, progress)
		clear()
		if err != nil {
			left = env.skipStore(ctx, left, err)
			continue
		}
		stores = append(stores, newSpaceJSON(c, parts, sessions))
		printSpace(env, c, parts, sessions)
	}
	own := []partJSON{}
	if dir, err := env.opt.Journal.Folder(); err == nil {
		var rows [][]string
		for _, f := range [][3]string{{"journal.db", "journal, for undo", "gc"}, {"keep.db", "kept copies", ""}} {
			if info, err := os.Lstat(filepath.Join(dir, f[0])); err == nil {
				own = append(own, partJSON{f[1], info.Size(), f[2]})
				rows = append(rows, partRow(agent.SpacePart{Name: f[1], Bytes: info.Size()}))
			}
		}
		if len(rows) > 0 {
			env.Printf("\n%s\n", term.Bold("mend itself"))
			env.PrintRows(rows, "  ")
		}
	}
	env.setAnswer("stores", stores)
	env.setAnswer("mend", own)
	return left
}

// printSpace prints the table of one store.
func printSpace(env *environment, c *mend.Store, parts []agent.SpacePart, sessions []mend.SessionSize) {
	printStore(env, c)
	var rows [][]string
	total := int64(0)
	for _, p := range parts {
		rows = append(rows, partRow(p))
		total += p.Bytes
	}
	env.PrintRows(append(rows, []string{"", term.Bold(term.Size(total)), term.Bold("together")}), "  ")
	if len(sessions) == 0 {
		return
	}
	env.Printf("\nThe largest sessions:\n")
	rows = nil
	for _, s := range sessions[:min(len(sessions), largestSessions)] {
		title := titleOf(s.Head)
		if s.Directory == "" && s.Title == "" {
			title = term.Faint("no session has this id")
		}
		rows = append(rows, []string{"", term.Size(s.Total()), term.Bold(term.Escape(s.ID)), term.Faint(env.AgeCell(ageOf(s.Head))), title})
	}
	env.PrintRows(rows, "  ")
}

func partRow(p agent.SpacePart) []string {
	return []string{"", term.Size(p.Bytes), p.Name}
}

// byteProgress returns a function that shows how many bytes are done, and one that removes it.
func (env *environment) byteProgress(what string) (show func(done, total int64), clear func()) {
	const step = 1 << 20
	var p *term.Progress
	steps := int64(0)
	show = func(done, total int64) {
		if p == nil {
			p = env.Progress(int(total/step)+1, what)
		}
		for ; steps < done/step; steps++ {
			p.Step()
		}
	}
	return show, func() {
		if p != nil {
			p.Clear()
		}
	}
}

// A spaceJSON is what takes the space of a store.
type spaceJSON struct {
	Agent    string             `json:"agent"`
	Store    string             `json:"store"`
	Parts    []partJSON         `json:"parts"`
	Sessions []sessionSpaceJSON `json:"sessions"` // the largest first
}

type partJSON struct {
	Part  string `json:"part"`
	Bytes int64  `json:"bytes"`
	Clean string `json:"clean,omitempty"` // the verb that removes it
}

type sessionSpaceJSON struct {
	Session      string `json:"session"`
	Title        string `json:"title"`
	Bytes        int64  `json:"bytes"`
	Conversation int64  `json:"conversation"`
	Images       int64  `json:"images"`
	Events       int64  `json:"events"`
}

func newSpaceJSON(c *mend.Store, parts []agent.SpacePart, sessions []mend.SessionSize) spaceJSON {
	j := spaceJSON{c.ID().Agent, c.ID().Root, []partJSON{}, []sessionSpaceJSON{}}
	for _, p := range parts {
		j.Parts = append(j.Parts, partJSON{p.Name, p.Bytes, p.Clean})
	}
	for _, s := range sessions {
		j.Sessions = append(j.Sessions, sessionSpaceJSON{s.ID, s.Title, s.Total(), s.Conversation, s.Images, s.Events})
	}
	return j
}
