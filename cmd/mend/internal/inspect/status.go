package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// A StatusJSON is the answer of status.
type StatusJSON struct {
	Stores     []storeJSON       `json:"stores"`
	LastScan   *mend.Summary     `json:"lastScan"`   // of all stores in use; null if one of them cannot be used, or checking it takes too long
	LastRepair *show.RepairJSON  `json:"lastRepair"` // the newest repair in force
	Pending    []show.RepairJSON `json:"pending"`
	Conflicts  []show.RepairJSON `json:"conflicts"` // undecided ones
	Plugins    []show.PluginJSON `json:"plugins"`
	Serving    bool              `json:"serving"`  // a hook of OpenCode's plugin runs
	Watching   bool              `json:"watching"` // mend watch runs
	Expiring   []expiryJSON      `json:"expiring"` // sessions that agents delete within a week
	Kept       *keepStatusJSON   `json:"kept"`     // null if the copies cannot be read
	Settings   []string          `json:"settings"` // notes about settings, such as why the file cannot be read
	Next       string            `json:"next"`
	NextWhy    string            `json:"nextWhy"` // the effect of the next command

	damaged  bool           // a database is damaged, so its sessions cannot be listed
	together show.Operation // the operation of the last repair
}

// An expiryJSON counts sessions that an agent deletes within a week.
type expiryJSON struct {
	Agent string `json:"agent"`
	agent.Expiry
}

type storeJSON struct {
	Path     string        `json:"path"`
	Layout   string        `json:"layout"`
	InUse    bool          `json:"inUse"`
	Version  string        `json:"versionNote"` // the version that requests are built for, if mend was not verified with the agent's; else ""
	LastScan *mend.Summary `json:"lastScan"`    // of the store as it is now; null if the store is not in use, or checking it takes too long

	unread bool // the sessions cannot be listed
	agent  string
}

// A LiveState returns the installations of mend in agents, and whether a hook of OpenCode's plugin and mend watch run
// with the journal in a folder.
type LiveState func(env *frame.Env, journal string) (installed []show.PluginJSON, serving, watching bool)

// RunStatus shows the state of the stores, and what to do next. It returns the worst error of the stores that cannot be
// used, and shows the others.
func RunStatus(ctx context.Context, env *frame.Env, live LiveState) error {
	clients, left := readableStores(ctx, env)
	if len(clients) == 0 && left != nil {
		return left
	}
	var s StatusJSON
	pending, conflicted, unread, err := addStores(ctx, env, &s, clients)
	if err != nil {
		return err
	}
	left = fail.Worst(left, unread)
	if left != nil {
		s.LastScan = nil
		s.damaged = fail.IsSalvageable(left)
	}
	inForce, err := env.Opt.Journal.Log(journal.Query{Limit: 1, InForce: true})
	if err != nil {
		return err
	}
	if len(inForce) > 0 {
		last := show.EntryJSON(inForce[0], nil)
		s.LastRepair = &last
		s.together, _ = env.Opt.Journal.Log(journal.Query{Operation: inForce[0].Operation}) // otherwise it is shown alone
	}
	journalDir, err := env.Opt.Journal.Folder()
	if err != nil {
		return err
	}
	s.Kept = keepStatus(ctx, env, clients)
	s.Plugins, s.Serving, s.Watching = live(env, journalDir)
	s.Settings = frame.SettingsNotes()
	next, why := nextCommand(s, pending, conflicted)
	s.Next, s.NextWhy = env.CommandLine(next...), why
	s.Expiring = show.NonNil(s.Expiring)
	s.Stores, s.Pending, s.Conflicts = show.NonNil(s.Stores), show.EntriesJSON(pending), show.EntriesJSON(conflicted)
	if env.JSON {
		env.SetAnswers(s)
		return left
	}
	printStatus(env, s, inForce, pending, conflicted)
	return left
}

// readableStores opens the store of each agent that has one, and returns the worst error of the stores that
// cannot be used.
func readableStores(ctx context.Context, env *frame.Env) (all []*mend.Store, left error) {
	options, left := frame.AgentOptions(env)
	for _, o := range options {
		c, err := mend.Open(o)
		switch {
		case err == nil:
			all = append(all, c)
		case !errors.Is(err, mend.ErrNoStore), errors.Is(err, fs.ErrPermission):
			left = env.SkipStore(ctx, left, err)
		}
	}
	return all, left
}

// lookTime is how long status examines the sessions of a store that changed since the last scan.
const lookTime = 2 * time.Second

// addStores adds the stores to the status, with the state of the sessions of those in use. It returns the pending and
// conflicted entries of these, and the worst error of those that cannot be read.
func addStores(ctx context.Context, env *frame.Env, s *StatusJSON, inUse []*mend.Store) (pending, conflicted []change.Entry, unread, err error) {
	for _, l := range env.Opt.Agents.Stores() {
		s.Stores = append(s.Stores, storeJSON{Path: l.Path, Layout: l.Layout, agent: l.Agent})
	}
	release := env.Opt.Journal.Hold()
	open, err := env.Opt.Journal.Log(journal.Query{State: change.Pending})
	var undecided []change.Entry
	if err == nil {
		undecided, err = env.Opt.Journal.Log(journal.Query{State: change.Conflicted})
	}
	release()
	if err != nil {
		return nil, nil, nil, err
	}
	var scans []*mend.Summary
	for _, c := range inUse {
		pending, conflicted = append(pending, c.OwnedEntries(ctx, open)...), append(conflicted, c.OwnedEntries(ctx, undecided)...)
		last, err := c.Look(ctx, lookTime)
		if ctx.Err() != nil {
			return nil, nil, nil, ctx.Err()
		}
		if err != nil {
			last, unread = nil, env.SkipStore(ctx, unread, err)
		}
		if err := c.CheckAccess(); err != nil {
			unread = env.SkipStore(ctx, unread, err)
		}
		scans = append(scans, last)
		if x, err := c.Reader().Expiring(ctx, time.Now().Add(expiresSoon)); err == nil && x.Sessions > 0 {
			s.Expiring = append(s.Expiring, expiryJSON{c.ID().Agent, x})
		}
		used := usedStore(&s.Stores, c.ID())
		used.Version = c.Version("").Note()
		used.InUse, used.LastScan, used.unread = true, last, err != nil
	}
	if len(scans) > 0 && !slices.Contains(scans, nil) {
		sum := *scans[0]
		for _, l := range scans[1:] {
			sum = sum.Plus(*l)
		}
		s.LastScan = &sum
	}
	return pending, conflicted, unread, nil
}

// expiresSoon is how long before an automatic deletion status warns of it.
const expiresSoon = 7 * 24 * time.Hour

// shownTexts counts the sessions that an agent does not list as usual, with the next step.
func shownTexts(env *frame.Env, l *mend.Summary) (texts []string) {
	add := func(n int, what, verb, effect string) {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s (%s %s)", n, what, env.CommandLine(verb), effect))
		}
	}
	add(l.Archived, "archived", "restore", "lists one again")
	add(l.Hidden, "hidden: not listed where they belong", "restore", "brings them back")
	add(l.NoFolder, "whose folder is gone", "move", "assigns another folder")
	add(l.TakenOver, "taken over by a newer generation of the agent", "keep", "copies them as they were before")
	add(l.NotLoaded, "in which the agent finds no conversation", "restore", "restores their copies")
	return texts
}

// expiringTexts describes the sessions that agents will delete soon.
func expiringTexts(s StatusJSON) (texts []string) {
	for _, x := range s.Expiring {
		copied := "\"mend keep\" copies them"
		if s.Kept.covers(x.Agent) {
			copied = "all its sessions are copied"
		}
		texts = append(texts, fmt.Sprintf("%s deletes %s not used for %s within 7 days: %s",
			agents.Title(change.StoreID{Agent: x.Agent}), term.CountWords(x.Sessions, "conversation that was", "conversations that were"), term.Count(x.Days, "day"), copied))
	}
	return texts
}

// usedStore returns the store in the list, and adds it if it is missing.
func usedStore(stores *[]storeJSON, id change.StoreID) *storeJSON {
	for i, st := range *stores {
		if path, err := filepath.EvalSymlinks(st.Path); err == nil && path == id.Root {
			return &(*stores)[i]
		}
	}
	*stores = append(*stores, storeJSON{Path: id.Root, Layout: id.Kind, agent: id.Agent})
	return &(*stores)[len(*stores)-1]
}

// nextCommand returns the words of the command that the user should run next, and its effect.
func nextCommand(s StatusJSON, pending, conflicted []change.Entry) (words []string, why string) {
	switch {
	case len(s.Stores) == 0:
		return []string{"scan", "--store", "PATH"}, "check a store at another place; mend demo shows how it works"
	case len(pending) > 0:
		return []string{"recover"}, "complete the interrupted repair, or roll it back"
	case len(conflicted) > 0:
		return []string{"recover", conflicted[0].ID}, "resolve the conflict; mend log " + conflicted[0].ID + " shows it"
	case s.damaged:
		return nextOf(mend.Summary{Damage: "yes"})
	case s.LastScan == nil:
		return []string{"scan"}, "check all sessions"
	case s.LastScan.Damage == "" && slices.ContainsFunc(s.Expiring, func(x expiryJSON) bool { return !s.Kept.covers(x.Agent) }):
		return []string{"keep"}, "copy the conversations before their agent deletes some of them"
	}
	words, why = nextOf(*s.LastScan)
	offer := installOffer(s)
	switch {
	case len(words) > 0:
		return words, why
	case s.LastScan.Sessions == 0 && s.Kept.gone() > 0:
		return []string{"restore"}, "show the copies of sessions that are gone (asks first)"
	case offer != "" && !s.Watching:
		return []string{"install"}, offer
	}
	return []string{"scan"}, "check again"
}

// nextOf returns the words of the command that the user should run next after a scan, and its effect; none if nothing
// needs to be done. which are the words that select the scanned sessions.
func nextOf(s mend.Summary, which ...string) (words []string, why string) {
	hidden := s.Hidden + s.NotLoaded
	switch {
	case s.Damage != "": // nothing can be repaired
		return []string{"salvage"}, "bring back every row that can be read of the damaged database (asks first)"
	case s.Broken > s.Failed+s.NoFix:
		return append([]string{"fix"}, which...), "preview and fix the broken sessions (asks first)"
	case s.NoFix > 0 && s.NoFix <= hidden:
		if words = []string{"restore"}; len(s.Worst) == 1 {
			words = append(words, s.Worst[0].ID)
		}
		return words, "bring back what is not shown (asks first)"
	case s.NoFolder > 0 && s.NoFix <= hidden+s.NoFolder:
		return []string{"move"}, "assign another folder to sessions whose folder is gone (asks first)"
	case s.NoFix+s.Failed > 0:
		return []string{"scan", "--broken", "-v"}, "show why mend has no fix, and what to do"
	case s.TakenOver > 0:
		return []string{"keep"}, "copy the sessions as they were before a newer generation of the agent took them over"
	case s.Latent > 0:
		words = append(append([]string{"fix"}, which...), "--at-risk")
		return words, "also fix what works, but would break with another version or setting (asks first)"
	}
	return nil, ""
}

// installOffer describes the effect of "mend install" for the first agent with a store but no installation; "" for none.
func installOffer(s StatusJSON) string {
	for _, st := range s.Stores {
		isInstalled := func(p show.PluginJSON) bool {
			return p.Agent == st.agent && (p.State == agent.Current || p.State == agent.Other)
		}
		if in := agents.ByName(st.agent).Installer(); in != nil && !slices.ContainsFunc(s.Plugins, isInstalled) {
			return in.Installation().Offer
		}
	}
	return ""
}

func printStatus(env *frame.Env, s StatusJSON, inForce, pending, conflicted []change.Entry) {
	defer env.Buffer()()
	rows := storeRows(s)
	var total mend.Summary // of the stores that were checked
	for _, st := range s.Stores {
		if st.LastScan != nil {
			total = total.Plus(*st.LastScan)
		}
	}
	if len(total.Worst) > 0 {
		rows = append(rows, term.Row{term.Bad("Broken"), brokenText(env, total.Worst)})
	}
	if total.Lost > 0 {
		rows = append(rows, term.Row{term.Warn("Lost"), term.Sprintf("what was lost: %s", env.CommandLine("scan", "-v"))})
	}
	if texts := shownTexts(env, &total); len(texts) > 0 {
		rows = append(rows, term.Row{"Not shown", term.Lines(texts)})
	}
	if texts := expiringTexts(s); len(texts) > 0 {
		rows = append(rows, term.Row{term.Warn("Deleted soon"), term.Lines(texts)})
	}
	for _, e := range pending {
		rows = append(rows, term.Row{term.Bad("Pending"), term.Sprintf("repair %s of %s was interrupted", term.Bold(e.ID), show.EntryTitle(e))})
	}
	for _, e := range conflicted {
		rows = append(rows, term.Row{term.Bad("Conflict"), term.Sprintf("repair %s of %s needs your decision", term.Bold(e.ID), show.EntryTitle(e))})
	}
	for _, e := range inForce {
		rows = append(rows, term.Row{"Last repair", s.lastText(e)})
	}
	rows = append(rows, term.Row{"Live repair", term.Lines(liveTexts(s))})
	if text := s.Kept.text(); text != "" {
		rows = append(rows, term.Row{"Copies", text})
	}
	for _, note := range s.Settings {
		rows = append(rows, term.Row{"Settings", term.Escape(note)})
	}
	env.Printf("%s\n", term.WrapRows(rows, 0, env.TextWidth()))
	env.Say("Next: %s  %s", term.Command(s.Next), term.Faint(s.NextWhy))
}

// lastText describes the last repair, or the operation that it is part of, and how to undo it.
func (s *StatusJSON) lastText(e change.Entry) term.Text {
	id, what := e.ID, show.EntryTitle(e)
	if len(s.together) > 1 {
		id, what = mend.OperationOf(e), s.together.What()+" of "+s.together.Sessions()
	}
	return term.Sprintf("%s, %s: %s\nUndo: %s", term.Bold(id), term.Age(time.Since(e.Time)), what, term.Bold("mend undo "+id))
}

// storeRows returns a row for each store, with the state of its sessions.
func storeRows(s StatusJSON) []term.Row {
	if len(s.Stores) == 0 {
		return []term.Row{{"Store", "no session store found"}}
	}
	var rows []term.Row
	for _, st := range s.Stores {
		lines := []term.Text{term.Escape(term.ShortenHome(st.Path))}
		switch last := st.LastScan; {
		case !st.InUse:
			lines[0] += term.Faint("  (not read)")
		case st.unread:
			lines = append(lines, term.Bad("cannot be read"))
		case last == nil:
			lines = append(lines, "not checked yet")
		default:
			lines = append(lines, term.Sprintf("%s (checked %s)", countsText(last), term.Age(time.Since(last.Time))))
			if last.Damage != "" {
				lines = append(lines, term.Bad(last.Damage))
			}
		}
		if st.Version != "" {
			lines = append(lines, term.Faint("requests "+st.Version))
		}
		rows = append(rows, term.Row{term.Escape(agents.Title(change.StoreID{Agent: st.agent})), term.Join(lines, "\n")})
	}
	return rows
}

// maxWorst is the maximum number of broken sessions that status names.
const maxWorst = 5

// brokenText names the newest broken sessions.
func brokenText(env *frame.Env, worst []mend.SummarySession) term.Text {
	var heads []change.Head
	for _, w := range worst {
		heads = append(heads, change.Head{ID: w.ID, Title: w.Title, Directory: w.Directory, Updated: w.Updated})
	}
	short := show.ShortIDs(env.Terminal, heads)
	var shown [][]any
	for _, h := range heads[:min(len(heads), maxWorst)] {
		shown = append(shown, []any{term.Bold(short[h.ID]), show.AgeCell(env.Terminal, h), show.SessionTitle(h)})
	}
	lines := term.Align(shown, env.TextWidth()-len("  Live repair  "))
	if n := len(heads) - len(shown); n > 0 {
		lines = append(lines, term.Sprintf("%d more: %s", n, env.CommandLine("scan", "--broken")))
	}
	return term.Join(lines, "\n")
}

// countsText returns how many sessions are broken, at risk and healthy; for a single session, its state.
func countsText(l *mend.Summary) term.Text {
	broken := fmt.Sprintf("%d broken", l.Broken)
	if l.Failed > 0 {
		broken += fmt.Sprintf(" (%d cannot be examined)", l.Failed)
	}
	healthy := fmt.Sprintf("%d healthy", l.Healthy())
	if l.Healthy() == l.Sessions && l.Latent == 0 {
		healthy = "all healthy"
	}
	var texts []term.Text
	add := func(n int, text string, colour func(any) term.Text) {
		if l.Sessions == 1 {
			text = strings.TrimPrefix(strings.TrimPrefix(text, "1 "), "all ")
		}
		if n > 0 {
			texts = append(texts, colour(text))
		}
	}
	add(l.Broken, broken, term.Bad)
	add(l.Latent, fmt.Sprintf("%d %s", l.Latent, show.AtRisk), term.Warn)
	add(l.Lost, fmt.Sprintf("%d lost something", l.Lost), term.Warn)
	add(l.TakenOver, fmt.Sprintf("%d not judged", l.TakenOver), term.Warn)
	add(l.Healthy(), healthy, term.Good)
	if len(texts) == 0 {
		return "no sessions"
	}
	return term.Sprintf("%s: %s", term.Count(l.Sessions, "session"), term.Join(texts, ", "))
}

// liveTexts describes the installations of mend for agents, and which processes of mend run.
func liveTexts(s StatusJSON) (texts []string) {
	for _, p := range s.Plugins {
		if p.State != agent.Absent {
			texts = append(texts, agents.ByName(p.Agent).Title()+": "+installationText(p))
		}
	}
	if s.Serving {
		texts = append(texts, "mend hook runs")
	}
	if s.Watching {
		texts = append(texts, "mend watch runs")
	}
	if len(texts) == 0 {
		texts = []string{"off (mend install)"}
	}
	return texts
}

// installationText describes what starts mend in an agent, and its effect.
func installationText(p show.PluginJSON) string {
	isHook := agents.ByName(p.Agent).Installer().Installation().Deadline > 0
	what := "the plugin"
	if isHook {
		what = "the hook"
	}
	switch {
	case p.State == agent.Foreign:
		return term.ShortenHome(p.Path) + " is not mend's: move it away, then run mend install"
	case p.State == agent.Unreadable:
		return what + " cannot be read: " + term.OneLine(p.Why, 200)
	case p.State == agent.Other:
		return what + " starts another program or version of mend (mend install updates it)"
	case isHook && p.Repair:
		return what + " is installed: it repairs damaged sessions"
	case isHook:
		return what + " is installed: it reports damaged sessions"
	}
	return what + " is installed"
}

// A coverageJSON counts the sessions of a store that have a complete copy.
type coverageJSON struct {
	Agent    string `json:"agent"`
	Sessions int    `json:"sessions"`
	Covered  int    `json:"covered"`
	Last     string `json:"last"` // when the newest copy was made; "" for none
	Gone     int    `json:"gone"` // sessions with a complete copy that the agent no longer has

	last time.Time
}

// A keepStatusJSON is the part of status about copies.
type keepStatusJSON struct {
	Automatic bool            `json:"automatic"`
	Bytes     int64           `json:"bytes"`
	Agents    []coverageJSON  `json:"agents"`
	Lacking   int             `json:"lacking"` // sessions that lack content of their copy, as far as a check of one second found
	Gone      []goneStoreJSON `json:"gone"`    // missing stores whose sessions were copied
	Damaged   []string        `json:"damaged"` // damaged files of copies that were set aside
}

type goneStoreJSON struct {
	Agent    string `json:"agent"`
	Store    string `json:"store"`
	Sessions int    `json:"sessions"` // with a copy
	remake   string
}

// keepLook is how long status searches for sessions that lack content of their copy, and for each agent for sessions
// without a message, which are not copied.
const keepLook = time.Second

// keepStatus returns the state of the copies, nil if they cannot be read.
func keepStatus(ctx context.Context, env *frame.Env, clients []*mend.Store) *keepStatusJSON {
	s := keepStatusJSON{Automatic: frame.KeepsAutomatically(), Agents: []coverageJSON{}, Gone: []goneStoreJSON{}, Damaged: show.NonNil(frame.DamagedCopies(env, time.Now().Add(time.Minute)))}
	look, stop := context.WithTimeout(ctx, keepLook)
	defer stop()
	err := env.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error {
		s.Bytes = k.Size()
		for _, client := range clients {
			id := client.ID()
			coverage := coverageJSON{Agent: id.Agent}
			heads, err := client.WithCache().Sessions(ctx)
			if err != nil {
				continue // it was reported before
			}
			complete := map[string]bool{}
			err = k.Each(keep.Query{Store: client.HasCopiesOf}, func(st *keep.State) {
				complete[st.Session] = complete[st.Session] || st.Complete()
				coverage.last = st.Time
			})
			if err != nil {
				return err
			}
			for _, whole := range complete {
				if whole {
					coverage.Gone++
				}
			}
			for _, h := range heads {
				if complete[h.ID] {
					coverage.Covered, coverage.Gone = coverage.Covered+1, coverage.Gone-1
				}
			}
			if len(complete) > 0 {
				coverage.Last = coverage.last.UTC().Format(time.RFC3339)
				found, _ := client.Restorables(look, k) // unreadable sessions were reported
				for _, r := range found {
					if r.State == mend.Shortened || r.State == mend.Replaced {
						s.Lacking++
					}
				}
			}
			if coverage.Sessions = len(heads); len(complete) > 0 || s.Automatic {
				count, stop := context.WithTimeout(ctx, keepLook)
				coverage.Sessions = client.Copyable(count, heads, complete)
				stop()
			}
			s.Agents = append(s.Agents, coverage)
		}
		storeless, err := frame.ListWithoutStore(ctx, env, clients, k)
		for _, x := range storeless {
			id := x.StoreID()
			i := slices.IndexFunc(s.Gone, func(g goneStoreJSON) bool { return g.Store == id.Root })
			if i < 0 {
				i, s.Gone = len(s.Gone), append(s.Gone, goneStoreJSON{Agent: id.Agent, Store: id.Root, remake: env.RemakeText(id, "mend restore --all")})
			}
			s.Gone[i].Sessions++
		}
		return err
	})
	if err != nil {
		env.NoteSkipped(err)
		return nil
	}
	return &s
}

// covers reports whether each session of the agent has a copy.
func (s *keepStatusJSON) covers(agent string) bool {
	return s != nil && slices.ContainsFunc(s.Agents, func(c coverageJSON) bool {
		return c.Agent == agent && c.Covered >= c.Sessions
	})
}

// gone returns how many sessions with a copy their agents no longer have.
func (s *keepStatusJSON) gone() (n int) {
	if s != nil {
		for _, c := range s.Agents {
			n += c.Gone
		}
	}
	return n
}

// text returns the text of status about copies; "" for nothing.
func (s *keepStatusJSON) text() term.Text {
	if s == nil {
		return ""
	}
	var parts []term.Text
	for _, c := range s.Agents {
		if c.Last == "" && !s.Automatic {
			continue
		}
		text := term.Sprintf("%s: %d of %s copied", agents.Title(change.StoreID{Agent: c.Agent}), c.Covered, term.Count(c.Sessions, "session"))
		if c.Last != "" {
			text += term.Sprintf(", last %s", term.Age(time.Since(c.last)))
		}
		if c.Gone > 0 {
			text += term.Sprintf("; %s%s", term.CountWords(c.Gone, "copied session is gone", "copied sessions are gone"), term.Faint(" (mend restore)"))
		}
		parts = append(parts, text)
	}
	for _, g := range s.Gone {
		parts = append(parts, term.Warn(term.ShortenHome(g.Store)+" is gone")+term.Sprintf(", and %s of it %s kept: %s",
			term.Count(g.Sessions, "session"), map[bool]string{true: "was", false: "were"}[g.Sessions == 1], g.remake))
	}
	if s.Lacking > 0 {
		parts = append(parts, term.Warn(term.CountWords(s.Lacking, "session lacks data of its copy", "sessions lack data of their copies"))+term.Faint(" (mend restore brings it back)"))
	}
	for _, path := range s.Damaged {
		parts = append(parts, term.Sprintf("%s %s %s", term.Warn("a damaged file was set aside:"), term.ShortenHome(path), term.Faint("(mend forget "+filepath.Base(path)+" removes it)")))
	}
	if len(parts) == 0 {
		return ""
	}
	if !s.Automatic {
		parts = append(parts, term.Faint("automatic copies are off (mend install --keep)"))
	}
	return term.Join(parts, "\n")
}
