package repairs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/config"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/request"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
)

type repairFlags struct {
	frame.WriteFlags
	latent, all, verbose, setAside bool
	classes                        []string
	apiError                       string
	errorText                      []byte            // instead of apiError
	asksError                      bool              // ask for the text of an error if no session is broken
	salvaged                       bool              // this repair follows the salvage of a database
	before                         []show.RepairJSON // the entries of that salvage
	frame.SessionFilter

	finish *Finish
}

// Finish has the other verbs with which a fix can end.
type Finish struct {
	// List offers restorable sessions, and Move missing folders. They report whether they changed a store.
	List    func(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest) (changed bool, err error)
	Move    func(ctx context.Context, env *frame.Env, f frame.WriteFlags) (changed bool, err error)
	Restore func(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head, f frame.WriteFlags, r mend.RestoreRequest) error
	Salvage func(ctx context.Context, env *frame.Env, f frame.WriteFlags) error
	Trim    func(ctx context.Context, env *frame.Env, names []string, f frame.WriteFlags, r repair.TrimRequest) error
}

// repairs reports whether the flags ask for a repair of everything that is broken, with questions.
func (f *repairFlags) repairs() bool {
	return !f.Yes && !f.DryRun && f.isWhole()
}

// isWhole reports whether the flags ask for a repair of everything that is broken, or for a dry run of it.
func (f *repairFlags) isWhole() bool {
	return !f.latent && len(f.classes) == 0 && f.All()
}

// hasError reports whether the repair is about an API error.
func (f *repairFlags) hasError() bool { return f.apiError != "" || f.errorText != nil }

func addRepairFlags(env *frame.Env, cmd *cobra.Command, f *repairFlags) {
	f.WriteFlags.Add(cmd, "repair even if the agent is using the session")
	f.AddPatch(cmd)
	fl := cmd.Flags()
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show each finding, with its code and its record")
	frame.AtRiskFlag(fl, &f.latent, "also fix sessions that work, but would break if the version or thinking changed")
	fl.BoolVar(&f.setAside, "set-aside", false, "remove what has no fix from the named session; undo restores it")
	frame.ThinkingFlag(env, fl)
	frame.ProviderFlag(env, fl)
	f.SessionFilter.Add(fl)
	fl.StringSliceVar(&f.classes, "class", nil, "fix only these classes: "+frame.ClassList(env))
	fl.BoolVar(&f.all, "all", false, "repair every finding of the error's kind, not only the one that the error names")
	fl.StringVar(&f.apiError, "error", "", "use the error you got to decide what to fix: its text, @FILE, or - for standard input")
}

const setAsideHelp = `For a finding without a fix, --set-aside removes the message, part or line from the
session; a tool call is removed together with its result. Fix shows what would be removed,
and "mend undo" restores it. On a terminal, fix asks a separate question about this if you
name a session. Nothing is set aside by --yes without --set-aside, or by the plugin, the
hooks and watch.`

// runRepair repairs the named sessions, the session of an error, or without these everything that is broken.
func runRepair(ctx context.Context, env *frame.Env, names []string, f repairFlags) error {
	req, readings, err := repairRequest(ctx, env, &f)
	if err != nil {
		return err
	}
	if req.Error != nil && len(names) == 0 {
		return repairCulprit(ctx, env, f, req, readings)
	}
	if req.Error != nil {
		printAPIError(env, readings[0])
		names = append(names, otherNames(ctx, env, req.Error.Text)...)
	}
	env.Opt.Journal.Join()
	again := func(f repairFlags) error { return runRepair(ctx, env, names, f) }
	clients, left, err := frame.OpenNamed(ctx, env, !f.DryRun, names)
	if err != nil {
		return salvageFirst(ctx, env, f, err, again)
	}
	r := repairRun{RepairBatch: frame.RepairBatch{Batch: frame.NewBatch(ctx, env, 0), Request: req}, flags: f, named: len(names) > 0, others: f.salvaged}
	var damage error
	for _, c := range clients {
		err := r.proposeStore(ctx, c)
		if f.salvages(env, err) && f.isWhole() && !r.named {
			damage = fail.Worst(damage, err)
		} else {
			left = env.Both(ctx, left, err)
		}
		if ctx.Err() != nil {
			return left
		}
		if r.named || fail.IsSalvageable(err) {
			continue
		}
		if err := c.CheckAccess(); err != nil { // sessions that are not listed may be broken
			left = env.SkipStore(ctx, left, err)
		}
	}
	if damage != nil {
		salvaged, err := f.salvage(ctx, env, damage)
		if salvaged {
			return fail.Worst(err, again(f))
		}
		if r.others = true; errors.Is(err, term.ErrDeclined) {
			r.declined = true
		} else {
			left = env.Both(ctx, left, err)
		}
	}
	if err = r.conclude(ctx, env, f, left); r.named {
		return salvageFirst(ctx, env, f, err, again)
	}
	return err
}

// otherNames returns the ids of stored sessions in the text of an error: a subagent's error names its session.
func otherNames(ctx context.Context, env *frame.Env, text string) []string {
	ids := sessionID().FindAllString(text, -1)
	if len(ids) == 0 {
		return nil
	}
	all, _, _ := frame.NamedSessions(ctx, env, frame.Sources{}) // the named session is looked up again, with the errors
	return slices.DeleteFunc(ids, func(id string) bool { return !frame.IsSession(all, id) })
}

// salvageFirst salvages the damaged databases if a repair failed because one is damaged, and then repeats the repair.
// It returns damage, the error of the repair, if that is another error, or without a terminal and --yes.
func salvageFirst(ctx context.Context, env *frame.Env, f repairFlags, damage error, again func(repairFlags) error) error {
	salvaged, err := f.salvage(ctx, env, damage)
	if !salvaged {
		return err
	}
	return fail.Worst(err, again(f)) // the new database may have broken sessions
}

// salvages reports whether a salvage follows err: once, and not without a terminal and --yes.
func (f *repairFlags) salvages(env *frame.Env, err error) bool {
	return fail.IsSalvageable(err) && !f.salvaged && (f.Yes || f.DryRun || env.CanAsk && !env.JSON)
}

// salvage salvages the damaged databases once, and reports whether it did so. Otherwise it returns damage, or why they
// were not salvaged.
func (f *repairFlags) salvage(ctx context.Context, env *frame.Env, damage error) (salvaged bool, err error) {
	if !f.salvages(env, damage) {
		return false, damage
	}
	err = f.finish.Salvage(ctx, env, f.WriteFlags)
	switch {
	case f.DryRun:
		return false, fail.Worst(damage, err)
	case err != nil && !errors.Is(err, frame.ErrProblems):
		return false, err
	}
	delete(env.Answer, "failed")
	f.asksError, f.salvaged = false, true
	f.before, _ = env.Answer["repairs"].([]show.RepairJSON)
	return true, err
}

// conclude applies the plans, and then moves sessions whose folder is gone, or asks for the text of an error. left is
// the error of the stores that were skipped.
func (r *repairRun) conclude(ctx context.Context, env *frame.Env, f repairFlags, left error) (err error) {
	asks := env.CanAsk && !env.JSON
	moves := asks && f.repairs() && !r.named && r.leaveToMove()
	left = r.finish(left)
	changed := f.salvaged || len(r.Done) > 0
	switch {
	case moves && ctx.Err() == nil:
		moved, err := f.finish.Move(ctx, env, f.WriteFlags)
		if !moved || r.declined {
			err = fail.Worst(err, frame.ErrProblems)
		}
		left, changed = fail.Worst(left, err), changed || moved
	case r.declined:
		left = fail.Worst(left, term.ErrDeclined)
	case f.asksError && left == nil && len(r.Done) == 0 && asks: // nothing is broken
		f.asksError = false
		if f.errorText, err = askForError(ctx, env); err != nil {
			return err
		}
		return runRepair(ctx, env, nil, f)
	}
	if changed && errors.Is(left, term.ErrDeclined) {
		return frame.ErrProblems // ErrDeclined says that nothing was changed
	}
	return left
}

// leaveToMove reports whether a session needs another folder. It removes the proposals of sessions that need nothing
// else.
func (r *repairRun) leaveToMove() bool {
	moves := slices.ContainsFunc(r.proposals, lacksFolder)
	r.proposals = slices.DeleteFunc(r.proposals, func(p show.Proposal) bool {
		return lacksFolder(p) && len(p.Result.Plan.Ops) == 0 && len(stillBroken([]show.Proposal{p})) == 1
	})
	r.others = r.others || moves
	return moves
}

// repairCulprit repairs the session that a text names or that an error came from, or shows other help.
func repairCulprit(ctx context.Context, env *frame.Env, f repairFlags, req repair.Request, readings []repair.APIError) error {
	if done, err := fixLost(ctx, env, f, readings); done {
		return err
	}
	e, prose := req.Error, findWay(readings)
	if prose != nil {
		env.SetAnswers(FixAnswer{Ways: []way{*prose}})
		env.Say("mend understands: %s.", prose.What)
		env.Printf("\n")
	} else if printAPIError(env, *e); !e.Recognised && len(strings.Fields(e.Text)) == 1 {
		env.Say("mend finds no session with this id or title.")
		env.Printf("\n")
	}
	switch {
	case prose != nil && prose.Name != "forgotten" && prose.Name != "each_prompt": // for these two a session may be broken
		return runWay(ctx, env, f, *prose)
	case e.About == request.AboutService, e.About == request.AboutOther:
		return frame.ErrProblems // the explanation was printed
	}
	clients, unread := frame.OpenAll(ctx, env, !f.DryRun)
	switch {
	case e.About == request.AboutStore:
		frame.PrintHolders(ctx, env, *e)
		if strings.Contains(e.Explanation, "mend salvage") {
			if damaged, err := checkDatabases(ctx, env, clients, f); damaged {
				return fail.Worst(unread, err)
			}
		}
		return fail.Worst(unread, showNext(ctx, env, clients, readings, f))
	case e.About == request.AboutSession && e.Class == "" && e.Rule == "", isTooLong(*e):
		return fail.Worst(unread, showNext(ctx, env, clients, readings, f))
	}
	x, c, err := findCulprit(ctx, env, clients, readings, f, unread)
	switch {
	case errors.Is(err, errNoCulprit) && prose != nil:
		return runWay(ctx, env, f, *prose)
	case (errors.Is(err, errNoCulprit) || len(clients) == 0) && (!e.Recognised || e.About == request.AboutUnclear):
		return offerWays(ctx, env, f, err)
	case err != nil:
		return salvageFirst(ctx, env, f, err, func(f repairFlags) error { return runRepair(ctx, env, nil, f) })
	}
	if isHealthyByName(x) && !f.latent {
		printHealthy(ctx, env, c, x.Session)
		return nil
	}
	if x.Error.Class != req.Error.Class || x.Error.Rule != req.Error.Rule { // another error of several
		printAPIError(env, x.Error)
	}
	req.Error = &x.Error
	if x.Match.Degree == repair.IsBroken || x.Error.Class == "" && !x.Failed { // the error does not say what to repair
		req.Error = nil
	}
	env.Printf("\n")
	return repairOne(ctx, env, c, x.Session, f, req)
}

// repairOne repairs one session, which the user has named, or which an error came from.
func repairOne(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head, f repairFlags, req repair.Request) error {
	r := repairRun{RepairBatch: frame.RepairBatch{Batch: frame.NewBatch(ctx, env, 0), Request: req}, flags: f, named: true}
	err := r.conclude(ctx, env, f, r.propose(c, []change.Head{head}))
	return salvageFirst(ctx, env, f, err, func(f repairFlags) error { return repairOne(ctx, env, c, head, f, req) })
}

// offersAside reports whether to ask about setting aside content without a fix.
func (r *repairRun) offersAside() bool {
	if !r.named || r.flags.setAside || r.flags.DryRun || r.flags.Yes || !r.CanAsk || r.JSON || len(r.Failed) > 0 || r.Ctx.Err() != nil {
		return false
	}
	return slices.ContainsFunc(r.repairedSessions(), func(p show.Proposal) bool {
		return slices.ContainsFunc(p.Result.Remaining, func(d repair.Diagnosis) bool { return d.CanSetAside })
	})
}

// proposeStore plans the repair of the sessions of one store that the user named, or that the flags select.
func (r *repairRun) proposeStore(ctx context.Context, c frame.StoreSessions) (err error) {
	var all []change.Head
	if !r.named {
		if all, err = c.Sessions(ctx); err != nil {
			return err
		}
	}
	heads, err := c.Select(all, r.flags.SessionFilter)
	if err != nil {
		return err
	}
	return r.propose(c.Store, heads)
}

// propose plans the repair of sessions of one store. It returns the worst error of the plans, and reports the errors of
// sessions that the user did not name.
func (r *repairRun) propose(c *mend.Store, heads []change.Head) (failed error) {
	ctx, env, req := r.Ctx, r.Env, r.Request
	if err := c.Changeable(ctx); err != nil { // the same for all sessions
		return err
	}
	if !r.named && !req.Latent && len(req.Classes) == 0 {
		if heads = brokenSessions(ctx, env.Terminal, c, heads); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	maxSize := int64(0)
	switch {
	case r.named: // the file as a whole is checked before the change
		maxSize = 1
	case len(heads) == 0: // like scan if nothing needs a repair
		maxSize = frame.LargestChecked
	}
	if err := frame.CheckFile(ctx, env.Terminal, c, maxSize); err != nil {
		return err
	}
	bar := env.Progress(len(heads), "planning")
	defer bar.Clear()
	for _, h := range heads {
		p := show.Proposal{Store: c, StoreID: c.ID(), Head: h}
		var err error
		p.Result, err = c.ProposeRepair(ctx, h, req)
		bar.Step()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, repair.ErrBusy) && !r.named && !needsRepair(ctx, c, h, req) {
			continue
		}
		if errors.Is(err, repair.ErrBusy) {
			bar.Clear()
			if err = r.proposeOpen(&p, err); errors.Is(err, term.ErrDeclined) {
				r.declined = true
				continue
			}
		}
		switch {
		case err != nil && !r.named:
			bar.Clear()
			env.PrintError(err)
			failed = fail.Worst(failed, &frame.ReportedError{Err: err})
		case err != nil:
			failed = fail.Worst(failed, err)
		case r.named || len(p.Result.Plan.Ops) > 0 || show.HasBroken(p.Result.Remaining) || hasUnfixed(p.Result, req):
			if r.named && len(p.Result.Plan.Ops) == 0 {
				last, _ := c.Log(ctx, journal.Query{Store: &p.StoreID, Session: h.ID, State: change.Committed, InForce: true, Limit: 1}) // the journal is optional here
				if len(last) > 0 {
					p.Last = &last[0]
				}
			}
			r.proposals = append(r.proposals, p)
		}
	}
	return failed
}

// proposeOpen plans the repair of a session that is open in its agent, if the user agrees to reload it there. busy is
// the error of the plan without this consent.
func (r *repairRun) proposeOpen(p *show.Proposal, busy error) error {
	p.Reload = agents.ByName(p.StoreID.Agent).Reload(p.Head.ID)
	switch {
	case p.Reload == "":
		return busy
	case r.flags.Yes || r.flags.DryRun || !r.CanAsk || r.JSON:
		return fail.WithHint(busy, "end that process, or use --force and then "+p.Reload)
	}
	_, why, _ := strings.Cut(busy.Error(), repair.ErrBusy.Error()+": ")
	question := fmt.Sprintf("%s: %s. Repair it now, then %s?", show.QuotedTitle(p.Head.Title, p.Head.ID), why, p.Reload)
	key, err := r.Ask(r.Ctx, question, []term.Answer{{"yes", "plan the repair and show it"}, {"no", "leave the session"}})
	if err == nil && key != "y" {
		err = term.ErrDeclined
	}
	if err == nil {
		req := r.Request
		req.Force = true
		p.Result, err = p.Store.ProposeRepair(r.Ctx, p.Head, req)
	}
	return err
}

// brokenSessions returns the sessions that are broken or cannot be examined. Scanning a session is faster than planning
// its repair.
func brokenSessions(ctx context.Context, t *term.Terminal, c *mend.Store, heads []change.Head) (some []change.Head) {
	bar := t.Progress(len(heads), "scanning")
	defer bar.Clear()
	for f := range c.Scan(ctx, heads) {
		if f.Severity() == repair.Broken {
			some = append(some, f.Session)
		}
		bar.Step()
	}
	return some
}

// lacksFolder reports whether a session stays broken because its folder is gone.
func lacksFolder(p show.Proposal) bool {
	return slices.ContainsFunc(p.Result.Remaining, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken && d.Shown == repair.NoFolder })
}

// needsRepair reports whether a busy session needs a repair.
func needsRepair(ctx context.Context, c *mend.Store, h change.Head, req repair.Request) bool {
	req.Force = true
	r, err := c.ProposeRepair(ctx, h, req)
	return err != nil || len(r.Plan.Ops) > 0
}

// remainingError returns ErrProblems if a broken finding or a requested fix remains, or if no finding matches the
// provider's error.
func remainingError(ps []show.Proposal, r repair.Request) error {
	for _, p := range ps {
		if show.HasBroken(p.Result.Remaining) || hasUnfixed(p.Result, r) {
			return frame.ErrProblems
		}
	}
	if r.Error != nil && len(ps) > 0 && len(nonEmptyPlans(ps)) == 0 {
		return frame.ErrProblems
	}
	return nil
}

// hasUnfixed reports whether a finding that was requested by class or error has no fix.
func hasUnfixed(result repair.Result, r repair.Request) bool {
	return len(result.Unfixable) > 0 && (r.Error != nil || len(r.Classes) > 0)
}

// A repairRun shows planned repairs, asks, applies them, and prints the results.
type repairRun struct {
	frame.RepairBatch
	flags     repairFlags
	named     bool // the user named the session, or its error
	proposals []show.Proposal

	forks  []show.Proposal // sessions that wait until the session that each was forked from is repaired
	others bool            // another verb has repaired something, or will

	declined bool // the user left a session alone that its agent has open

	shown *mend.Store         // store of the last proposal shown
	stays map[sessionKey]bool // sessions whose repair failed
}

type sessionKey struct {
	store *mend.Store
	id    string
}

// finish completes a repair. left is the worst error of planning.
func (r *repairRun) finish(left error) error {
	todo := nonEmptyPlans(r.proposals)
	if r.Ctx.Err() != nil {
		return left
	}
	if len(todo) == 0 {
		r.show()
		return r.end(left)
	}
	r.proposals = slices.DeleteFunc(r.proposals, func(p show.Proposal) bool {
		isFork := !r.named && !r.flags.DryRun && p.Head.Base != "" && len(p.Result.Plan.Ops) == 0
		if isFork { // planned again when its base is repaired
			r.forks = append(r.forks, p)
		}
		return isFork
	})
	r.One, r.stays = len(todo) == 1, map[sessionKey]bool{}
	question, name := "Repair %s?", term.Count(len(todo), "session")
	if r.One {
		name = show.QuotedTitle(todo[0].Head.Title, todo[0].Head.ID)
	}
	if len(todo[0].Result.LeftOut) > 0 {
		question = "Set aside what has no fix in %s?"
	}
	err := r.Run(r.flags.WriteFlags, frame.Job{
		Question: fmt.Sprintf(question, name), N: len(todo), Dry: "Run again without --dry-run to repair.", Steps: r.steps, Forks: !r.named,
		Show: func() {
			if r.show(); r.flags.DryRun {
				r.printVerdict()
			} else if !r.flags.Yes {
				r.printProof(r.proposals)
			}
		},
		Ended: func(s frame.Step, _ change.Entry, err error) {
			if err != nil && !errors.Is(err, frame.ErrProblems) {
				r.stays[sessionKey{s.Store, s.Plan.Session}] = true
			}
		},
	})
	cannotAsk, declined := errors.Is(err, term.ErrCannotAsk), errors.Is(err, term.ErrDeclined)
	if cannotAsk || declined {
		switch r.setRepairs(); {
		case cannotAsk && !r.JSON && !r.named:
			err = fail.WithHint(err, "pass --yes; name a session to repair only that one")
		case declined && !r.One:
			err = fail.WithHint(err, "to repair only one of them, name it: mend fix SESSION")
		}
		return r.Both(r.Ctx, left, err)
	}
	if err = r.repairForks(r.end(r.Both(r.Ctx, left, err))); !r.offersAside() {
		return err
	}
	also := repairRun{RepairBatch: frame.RepairBatch{Batch: frame.NewBatch(r.Ctx, r.Env, 1), Request: r.Request}, flags: r.flags, named: true}
	also.flags.setAside, also.Request.SetAside = true, true
	asideErr := also.finish(also.propose(r.proposals[0].Store, []change.Head{r.proposals[0].Head}))
	r.Made += also.Made
	if r.Done = append(r.Done, also.Done...); also.Made == 0 && (also.declined || errors.Is(asideErr, term.ErrDeclined)) {
		return err
	}
	return asideErr
}

// repairForks repairs the forks of the repaired sessions, which have the beginning of each fork, unless the user named the
// session. left is the error of the repair.
func (r *repairRun) repairForks(left error) error {
	if r.named {
		return left
	}
	also := repairRun{RepairBatch: frame.RepairBatch{Batch: frame.NewBatch(r.Ctx, r.Env, 0), Request: r.Request}, flags: r.flags, others: true}
	also.Joins = true
	also.flags.before, _ = r.Answer["repairs"].([]show.RepairJSON)
	seen := map[*mend.Store]bool{}
	for _, p := range append(r.forks, nonEmptyPlans(r.proposals)...) {
		if seen[p.Store] || r.Ctx.Err() != nil || r.flags.DryRun {
			continue
		}
		seen[p.Store] = true
		heads, err := p.Store.Forks(r.Ctx)
		heads = slices.DeleteFunc(heads, func(h change.Head) bool {
			return !r.Sessions[h.Base] && !slices.ContainsFunc(r.forks, func(f show.Proposal) bool { return f.Head.ID == h.ID })
		})
		if left = fail.Worst(left, err); len(heads) > 0 {
			left = fail.Worst(left, also.propose(p.Store, heads))
		}
	}
	left = also.finish(left)
	r.declined = r.declined || also.declined
	return left
}

func (r *repairRun) steps(yield func(frame.Step) bool) {
	for _, p := range nonEmptyPlans(r.proposals) {
		p.Result.Plan.Session = p.Head.ID
		s := frame.Step{
			Store: p.Store, Plan: p.Result.Plan, Name: "repairing " + show.QuotedTitle(p.Head.Title, p.Head.ID),
			Apply: func(*frame.Batch) (change.Entry, error) { return r.Apply(p) },
		}
		if !yield(s) {
			return
		}
	}
}

// show prints the proposals, with --patch also their diffs.
func (r *repairRun) show() {
	for _, p := range r.proposals {
		if p.Store != r.shown {
			r.NextStore(p.Store)
			r.shown = p.Store
		}
		printProposal(r.Terminal, p, r.flags.verbose)
	}
	if r.flags.Patch {
		r.Page(func(t *term.Terminal) { frame.PrintDiff(t, r.steps) })
	}
}

// repairedSessions returns the proposals of all sessions whose repair has not failed.
func (r *repairRun) repairedSessions() []show.Proposal {
	return slices.DeleteFunc(slices.Clone(r.proposals), func(p show.Proposal) bool { return r.stays[sessionKey{p.Store, p.Head.ID}] })
}

// repairRequest converts flags and settings to a [repair.Request]. It also returns the possible readings of
// an error's text, and keeps that text: it is read once.
func repairRequest(ctx context.Context, env *frame.Env, f *repairFlags) (r repair.Request, readings []repair.APIError, err error) {
	r = repair.Request{Latent: f.latent, Force: f.Force, All: f.all, SetAside: f.setAside}
	path := env.Settings
	if path == "" {
		path, _ = config.Path() // without a home folder there is no file
	}
	c, err := frame.LoadSettingsFrom(path, nil)
	if _, ok := errors.AsType[*config.ProblemError](err); err != nil && !ok { // status names the ignored settings
		return r, nil, err
	}
	r.Placeholder = c.Placeholder
	if r.Classes, err = frame.ParseClasses(env, f.classes); err != nil || !f.hasError() {
		return r, nil, err
	}
	if f.errorText == nil {
		if f.errorText, err = readInput(ctx, env.Terminal, f.apiError); err != nil {
			return r, nil, frame.Usagef("reading the error text: %w", err)
		}
	}
	if strings.TrimSpace(string(f.errorText)) == "" {
		return r, nil, frame.Usagef("the error text is empty")
	}
	readings = culprit.Readings(env.Opt.Agents, f.errorText)
	r.Error = &readings[0]
	return r, readings, nil
}

// maxInput is the maximum size of an error text, in bytes.
const maxInput = 16 << 20

// readInput returns the value of a flag: the text itself, the content of @FILE, or standard
// input for "-".
func readInput(ctx context.Context, t *term.Terminal, value string) ([]byte, error) {
	if value == "-" {
		return term.Await(ctx, func() ([]byte, error) { return ownfile.ReadAtMost(t.In, maxInput) })
	}
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return []byte(value), nil
	}
	return term.Await(ctx, func() ([]byte, error) { // the path may be a pipe, as with <(COMMAND)
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return ownfile.ReadAtMost(f, maxInput)
	})
}

// subjectWords describe the class of an error that has none.
var subjectWords = map[request.Subject]string{
	request.AboutUnclear: "not named by this text",
	request.AboutSession: "none that a repair can fix",
	request.AboutStore:   "none: it is about the agent's files, not one session",
	request.AboutOther:   "none: it is about another agent",
	request.AboutService: "none: it is not about a stored session",
}

func printAPIError(env *frame.Env, e repair.APIError) {
	apiError := show.APIErrorJSON(e)
	env.SetAnswers(FixAnswer{APIError: &apiError})
	class := cmp.Or(string(e.Class), subjectWords[e.About])
	if e.Class == "" && e.About == request.AboutSession && e.Rule != "" {
		class = "rule " + e.Rule
	}
	env.Say("%s %s", term.Faint("Error:"), term.OneLine(strings.TrimPrefix(e.Text, "Error: "), 200))
	if e.Explanation == "" && class != "" {
		env.Printf("%s %s", term.Faint("Class:"), class)
		if e.Index >= 0 {
			env.Printf(", at message %d of the request", e.Index)
		}
		env.Printf("\n")
	}
	if e.Explanation != "" {
		env.Say("%s", e.Explanation)
	}
	env.Printf("\n")
}
