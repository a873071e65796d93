package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
)

// repairFlags are the flags of repair and fix.
type repairFlags struct {
	writeFlags
	latent, all, verbose, setAside bool
	classes                        []string
	apiError                       string
	errorText                      []byte // instead of apiError
	asksError                      bool   // ask for the text of an error if no session is broken
	sessionFilter

	finish *finish
}

// finish has the other verbs with which a fix can end.
type finish struct {
	list    func(ctx context.Context, env *environment, f writeFlags, r mend.RestoreRequest) error // what can be restored
	restore func(ctx context.Context, env *environment, c *mend.Store, head change.Head, f writeFlags, r mend.RestoreRequest) error
	move    func(ctx context.Context, env *environment, f writeFlags) error // missing folders
	salvage func(ctx context.Context, env *environment, f writeFlags) error
	trim    func(ctx context.Context, env *environment, names []string, f writeFlags, r repair.TrimRequest) error
}

// repairs reports whether a repair of all sessions would write, after a question.
func (f *repairFlags) repairs() bool {
	return !f.dryRun && !f.yes && !f.latent && len(f.classes) == 0 && f.sessionFilter.all()
}

// hasError reports whether the repair is about an API error.
func (f *repairFlags) hasError() bool { return f.apiError != "" || f.errorText != nil }

func addRepairFlags(env *environment, cmd *cobra.Command, f *repairFlags) {
	f.writeFlags.add(cmd, "repair even if the agent is using the session")
	f.addPatch(cmd)
	fl := cmd.Flags()
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show each finding, with its code and its place in the store")
	atRiskFlag(fl, &f.latent, "also fix sessions that work, but would break if the version or thinking changed")
	fl.BoolVar(&f.setAside, "set-aside", false, "remove faults that have no fix from the named session; undo restores them")
	thinkingFlag(env, fl)
	providerFlag(env, fl)
	f.sessionFilter.add(fl)
	fl.StringSliceVar(&f.classes, "class", nil, "fix only these classes: "+classList(env))
	fl.BoolVar(&f.all, "all", false, "repair all faults of the error's kind, not only the place that it names")
	fl.StringVar(&f.apiError, "error", "", "use the error you got to decide what to fix: its text, @FILE, or - for standard input")
}

// repairVerb is the former name of fix; its argument can only be a session.
func repairVerb(env *environment, with finish) *cobra.Command {
	f := repairFlags{finish: &with}
	cmd := &cobra.Command{
		Use: "repair [SESSION]", Short: "Repair one session, or all broken ones: mend fix", Args: atMostOne("session"),
		RunE: func(cmd *cobra.Command, ids []string) error { return startRepair(cmd.Context(), env, ids, f) },
	}
	addRepairFlags(env, cmd, &f)
	return cmd
}

func startRepair(ctx context.Context, env *environment, names []string, f repairFlags) error {
	switch {
	case f.all && f.apiError == "":
		return usagef("--all needs --error, or the text of an error")
	case f.setAside && len(names) == 0 && f.apiError == "":
		return usagef("--set-aside needs a session")
	}
	return runRepair(ctx, env, names, f)
}

const setAsideHelp = `For a fault without a fix, --set-aside removes the faulty message, part or line from the
session; a tool call is removed together with its result. Fix shows what would be removed,
and "mend undo" restores it. On a terminal, fix asks a separate question about this if you
name a session. Nothing is set aside by --yes without --set-aside, or by the plugin, the
hooks and watch.`

// classList lists the classes that users can name, for the help.
func classList(env *environment) string {
	var names []string
	for _, c := range env.opt.Agents.Classes() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// A proposal is a session with its plan.
type proposal struct {
	store   *mend.Store
	storeID change.StoreID
	head    change.Head
	result  repair.Result
	last    *change.Entry // the newest change in force, if there is nothing to do; nil for none
	reload  string        // what loads the session again in the agent that has it open; "" if none has
}

func runRepair(ctx context.Context, env *environment, names []string, f repairFlags) error {
	req, readings, err := repairRequest(ctx, env, f)
	if err != nil {
		return err
	}
	if req.Error != nil && len(names) == 0 {
		if done, err := fixLost(ctx, env, f, readings); done {
			return err
		}
		return repairCulprit(ctx, env, f, req, readings)
	}
	if req.Error != nil {
		printAPIError(env, readings[0])
	}
	env.opt.Journal.Join()
	clients, left, err := openNamed(ctx, env, !f.dryRun, names)
	if err != nil {
		return err
	}
	r := repairRun{repairs: repairs{batch: newBatch(ctx, env, 0), request: req}, flags: f, named: len(names) > 0}
	declined := false
	for _, c := range clients {
		var all []change.Head
		if !r.named {
			if all, err = c.Sessions(ctx); err != nil {
				left = env.skipStore(ctx, left, err)
				continue
			}
		}
		heads, err := c.selected(all, f.sessionFilter)
		if err != nil {
			return err
		}
		if err = r.propose(c.Store, heads); errors.Is(err, term.ErrDeclined) {
			declined, err = true, nil
		}
		if left = env.both(ctx, left, err); ctx.Err() != nil {
			return left
		}
	}
	left = r.finish(left)
	switch {
	case declined && len(r.done) > 0:
		left = fail.Worst(left, errProblems)
	case declined:
		left = fail.Worst(left, term.ErrDeclined)
	case f.asksError && left == nil && len(r.done) == 0 && env.CanAsk && !env.JSON: // nothing is broken
		if f.errorText, err = askForError(ctx, env); err != nil {
			return err
		}
		return runRepair(ctx, env, nil, f)
	}
	return left
}

// repairCulprit repairs the session that an error came from, or shows other help.
func repairCulprit(ctx context.Context, env *environment, f repairFlags, req repair.Request, readings []repair.APIError) error {
	e := req.Error
	prose := wayOf(readings)
	if prose != nil {
		env.setAnswers(fixAnswer{Ways: []way{*prose}})
		env.Say("%s: this is how mend understands it.", prose.What)
		env.Printf("\n")
	} else {
		printAPIError(env, *e)
	}
	switch {
	case prose != nil && prose.Name != "forgotten" && prose.Name != "each_prompt": // these may be broken sessions
		return runWay(ctx, env, f, *prose)
	case e.About == request.AboutService, e.About == request.AboutOther:
		return errProblems // it was printed
	}
	clients, unread := openAll(ctx, env, !f.dryRun)
	switch {
	case e.About == request.AboutStore:
		printHolders(ctx, env, *e)
		if strings.Contains(e.Explanation, "mend salvage") {
			unread = fail.Worst(unread, checkDatabases(ctx, env, clients, f))
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
		return err
	}
	if isHealthyByName(x) && !f.latent {
		printHealthy(env, c, x.Session)
		return nil
	}
	if x.Error.Class != req.Error.Class || x.Error.Rule != req.Error.Rule { // another error of several
		printAPIError(env, x.Error)
	}
	req.Error = &x.Error
	if x.Match.Degree == repair.IsBroken || x.Error.Class == "" && !x.Failed { // the error does not select a repair
		req.Error = nil
	}
	env.Printf("\n")
	return repairOne(ctx, env, c, x.Session, f, req)
}

// repairOne repairs a session that the user has named, or its error.
func repairOne(ctx context.Context, env *environment, c *mend.Store, head change.Head, f repairFlags, req repair.Request) error {
	r := repairRun{repairs: repairs{batch: newBatch(ctx, env, 0), request: req}, flags: f, named: true}
	return r.finish(r.propose(c, []change.Head{head}))
}

// offersAside reports whether to ask about setting aside content without a fix.
func (r *repairRun) offersAside() bool {
	if !r.named || r.flags.setAside || r.flags.dryRun || r.flags.yes || !r.CanAsk || r.JSON || len(r.failed) > 0 || r.ctx.Err() != nil {
		return false
	}
	return slices.ContainsFunc(r.repaired(), func(p proposal) bool {
		return slices.ContainsFunc(p.result.Remaining, func(d repair.Diagnosis) bool { return d.CanSetAside })
	})
}

// propose plans the repair of sessions of one store. It reports sessions whose planning fails, and returns
// their worst error.
func (r *repairRun) propose(c *mend.Store, heads []change.Head) error {
	ctx, env, req, named := r.ctx, r.environment, r.request, r.named
	if err := c.Changeable(ctx); err != nil { // the same for all sessions
		return err
	}
	r.stores = append(r.stores, c)
	var failed error
	if !named && !req.Latent && len(req.Classes) == 0 {
		if heads = notHealthy(ctx, env.Terminal, c, heads); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	most := int64(0)
	switch {
	case named: // the other conditions are checked before the change
		most = 1
	case len(heads) == 0: // like scan if nothing needs a repair
		most = largestChecked
	}
	if err := checkFile(ctx, env.Terminal, c, most); err != nil {
		return err
	}
	bar := env.Progress(len(heads), "planning")
	defer bar.Clear()
	for _, h := range heads {
		result, err := c.ProposeRepair(ctx, h, req)
		bar.Step()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		reload := ""
		if errors.Is(err, repair.ErrBusy) {
			if !named && !needsRepair(ctx, c, h, req) {
				continue
			}
			reload = agentNamed(c.ID().Agent).Reload(h.ID)
			bar.Clear()
			if result, err = repairOpen(ctx, env, c, h, r.flags, req, reload, err); errors.Is(err, term.ErrDeclined) {
				return err
			}
		}
		if err != nil {
			if !named {
				bar.Clear()
				env.printError(err)
				err = &reportedError{err}
			}
			failed = fail.Worst(failed, err)
			continue
		}
		if named || len(result.Plan.Ops) > 0 || hasBroken(result.Remaining) || hasUnfixed(result, req) {
			p := proposal{store: c, storeID: c.ID(), head: h, result: result, reload: reload}
			if named && len(result.Plan.Ops) == 0 {
				id := c.ID()
				last, _ := c.Log(ctx, journal.Query{Store: &id, Session: h.ID, State: change.Committed, InForce: true, Limit: 1}) // the journal is optional here
				if len(last) > 0 {
					p.last = &last[0]
				}
			}
			r.proposals = append(r.proposals, p)
		}
	}
	return failed
}

// repairOpen plans the repair of a session that is open in its agent, if the user agrees to reload it there.
// busy is the error of the plan without that consent.
func repairOpen(ctx context.Context, env *environment, c *mend.Store, h change.Head, f repairFlags, req repair.Request, reload string, busy error) (r repair.Result, err error) {
	if reload == "" {
		return r, busy
	}
	if f.yes || f.dryRun || !env.CanAsk || env.JSON {
		return r, fail.WithHint(busy, "end that process, or use --force and then "+reload)
	}
	_, why, _ := strings.Cut(busy.Error(), repair.ErrBusy.Error()+": ")
	question := fmt.Sprintf("%s. Repair it now, then %s?", term.Escape(why), reload)
	key, err := env.Ask(ctx, question, []term.Answer{{"yes", "plan the repair and show it"}, {"no", "leave the session"}})
	if err == nil && key != "y" {
		err = term.ErrDeclined
	}
	if err != nil {
		return r, err
	}
	req.Force = true
	return c.ProposeRepair(ctx, h, req)
}

// notHealthy returns the sessions that are broken or cannot be examined. Finding them is faster than planning
// nothing for each of the others.
func notHealthy(ctx context.Context, t *term.Terminal, c *mend.Store, heads []change.Head) (some []change.Head) {
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

// needsRepair reports whether a busy session needs a repair.
func needsRepair(ctx context.Context, c *mend.Store, h change.Head, req repair.Request) bool {
	req.Force = true
	r, err := c.ProposeRepair(ctx, h, req)
	return err != nil || len(r.Plan.Ops) > 0
}

// nonEmptyPlans returns the proposals that change something.
func nonEmptyPlans(ps []proposal) []proposal {
	var todo []proposal
	for _, p := range ps {
		if len(p.result.Plan.Ops) > 0 {
			todo = append(todo, p)
		}
	}
	return todo
}

// remainingError returns errProblems if something broken or a requested fix remains, or if nothing matches
// the provider's error.
func remainingError(ps []proposal, r repair.Request) error {
	for _, p := range ps {
		if hasBroken(p.result.Remaining) || hasUnfixed(p.result, r) || r.Error != nil && len(p.result.Plan.Ops) == 0 {
			return errProblems
		}
	}
	return nil
}

// hasUnfixed reports whether a finding that was requested by class or error has no fix.
func hasUnfixed(result repair.Result, r repair.Request) bool {
	return len(result.Unfixable) > 0 && (r.Error != nil || len(r.Classes) > 0)
}

// hasBroken reports whether a finding breaks the session.
func hasBroken(ds []repair.Diagnosis) bool {
	return slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
}

// A repairRun shows planned repairs, asks, applies them, and prints the results.
type repairRun struct {
	repairs
	stores    []*mend.Store // stores that were examined
	flags     repairFlags
	named     bool // the user named the session, or its error
	proposals []proposal

	shown *mend.Store         // store of the last proposal shown
	stays map[stayedBack]bool // sessions that were skipped, or whose repair failed
}

// A repairs applies planned repairs.
type repairs struct {
	*batch
	request repair.Request

	shared []sharedOp // applied ops on rows of projects, which sessions share
}

// A sharedOp is an op on a row that several sessions of a store share.
type sharedOp struct {
	store *mend.Store
	change.Op
}

type stayedBack struct {
	store *mend.Store
	id    string
}

// finish completes a repair. left is the worst error of planning.
func (r *repairRun) finish(left error) error {
	todo := nonEmptyPlans(r.proposals)
	if r.ctx.Err() != nil {
		return left
	}
	if len(r.proposals) == 0 {
		for _, c := range r.stores {
			r.nextStore(c)
		}
	}
	if len(todo) == 0 {
		r.show(r.proposals)
		return r.end(left)
	}
	r.one, r.stays = len(todo) == 1, map[stayedBack]bool{}
	err := r.run(r.flags.writeFlags, job{
		n: len(todo), each: true, dry: "Run again without --dry-run to repair.", steps: r.steps,
		show: func() {
			if r.show(r.proposals); r.flags.dryRun {
				r.printVerdict()
			}
		},
		ended: func(s step, _ change.Entry, err error) {
			if err != nil && !errors.Is(err, errProblems) {
				r.stays[stayedBack{s.store, s.plan.Session}] = true
			}
		},
	})
	if errors.Is(err, term.ErrCannotAsk) {
		if r.setRepairs(); !r.JSON && !r.named {
			err = fail.WithHint(err, "pass --yes; name a session to repair only that one")
		}
		return err
	}
	if err = r.end(fail.Worst(left, err)); !r.offersAside() {
		return err
	}
	also := repairRun{repairs: repairs{batch: newBatch(r.ctx, r.environment, 1), request: r.request}, flags: r.flags, named: true}
	also.flags.setAside, also.request.SetAside = true, true
	asideErr := also.finish(also.propose(r.proposals[0].store, []change.Head{r.proposals[0].head}))
	if r.done = append(r.done, also.done...); len(also.done) > 0 || !errors.Is(asideErr, term.ErrDeclined) {
		return asideErr
	}
	return err
}

// steps yields a step for each proposal. Those that change nothing are included, because they are shown, too.
func (r *repairRun) steps(yield func(step) bool) {
	for _, p := range r.proposals {
		p.result.Plan.Session = p.head.ID
		s := step{
			store: p.store, plan: p.result.Plan, name: "repairing " + quotedTitle(p.head.Title, p.head.ID),
			apply: func(*batch) (change.Entry, error) { return r.apply(p) },
			show: func() {
				if r.show([]proposal{p}); len(p.result.Plan.Ops) > 0 {
					r.printProof([]proposal{p})
				}
			},
			ask: func(more bool) (string, error) { return r.askRepair(p, more) },
		}
		if !yield(s) {
			return
		}
	}
}

// show prints proposals, with diffs if requested.
func (r *repairRun) show(ps []proposal) {
	for _, p := range ps {
		if p.store != r.shown {
			r.nextStore(p.store)
			r.shown = p.store
		}
		printProposal(r.Terminal, p, r.flags.verbose)
	}
	if r.flags.patch {
		r.Page(func(t *term.Terminal) {
			for _, p := range ps {
				printOps(t, p.result.Plan.Ops)
			}
		})
	}
}

// The answers to the question whether a session is to be repaired.
var (
	repairAnswers  = []term.Answer{{"yes", "repair this session"}, {"no", "leave this session"}, {"diff", "show the diff of every change"}, {"quit", "leave this session and the rest"}}
	repairAnswersN = []term.Answer{{"yes", "repair this session"}, {"no", "leave this session"}, {"diff", "show the diff of every change"}, {"all", "repair this session and the rest"}, {"quit", "leave this session and the rest"}}
)

// repaired returns the proposals of sessions that were repaired.
func (r *repairRun) repaired() []proposal {
	return slices.DeleteFunc(slices.Clone(r.proposals), func(p proposal) bool { return r.stays[stayedBack{p.store, p.head.ID}] })
}

// askRepair asks whether to repair a session, until the user decides.
func (r *repairRun) askRepair(p proposal, more bool) (string, error) {
	question := fmt.Sprintf("Repair %s?", quotedTitle(p.head.Title, p.head.ID))
	if len(p.result.LeftOut) > 0 {
		question = fmt.Sprintf("Set aside what has no fix in %s?", quotedTitle(p.head.Title, p.head.ID))
	}
	answers := repairAnswers
	if more {
		answers = repairAnswersN
	}
	return askChange(r.ctx, r.Terminal, question, answers, diffOf(p.result.Plan.Ops))
}

// apply applies a plan, and prints its repair id when the change is durable.
func (r *repairs) apply(p proposal) (e change.Entry, err error) {
	plan := p.result.Plan
	plan.Ops = slices.DeleteFunc(slices.Clone(plan.Ops), func(o change.Op) bool {
		return slices.ContainsFunc(r.shared, func(s sharedOp) bool {
			return s.store == p.store && s.Ref == o.Ref && s.Pre.Equal(o.Pre) && s.Post.Equal(o.Post)
		})
	})
	if len(plan.Ops) == 0 {
		return e, nil
	}
	e, err = r.batch.apply(p.store, plan)
	if code, _ := fail.Of(err); code == fail.Conflict {
		err = changedMeanwhile(err, r.cmdline("fix", p.head.ID))
		if r.one { // otherwise each is named
			err = fmt.Errorf("repairing %s: %w", quotedTitle(p.head.Title, p.head.ID), err)
		}
	}
	if err != nil {
		return e, err
	}
	for _, o := range plan.Ops {
		if o.Ref.Kind == change.KindProject {
			r.shared = append(r.shared, sharedOp{p.store, o})
		}
	}
	how := ""
	if proof := proven([]proposal{p}); r.one && proof != "" && !hasBroken(p.result.Remaining) {
		how = ": " + proof
	}
	printCommitted(r.Terminal, e, p.head.Title, how)
	return e, r.checkRepaired(p)
}

// checkRepaired examines a repaired session as scan does. It returns errProblems if the session is broken
// although the plan left nothing: only a scan confirms success.
func (r *repairs) checkRepaired(p proposal) error {
	if len(r.request.Classes) > 0 || hasBroken(p.result.Remaining) {
		return nil // it was shown
	}
	x, err := p.store.Examine(r.ctx, p.head, repair.Request{})
	if err != nil { // the repair may have moved the session's record
		return nil
	}
	for _, d := range x.Diagnoses {
		if d.Severity == repair.Broken {
			r.Say("%s %s Repair it again: %s", term.Bad("It is still broken:"), term.Escape(d.Why), term.Command(r.cmdline("fix", p.head.ID)))
			return errProblems
		}
	}
	return nil
}

// changedMeanwhile returns the error for a session that changed during its repair. again is the command that
// plans the repair again.
func changedMeanwhile(err error, again string) error {
	what := "another program changed it meanwhile: "
	if _, ok := errors.AsType[*mend.StaleError](err); ok {
		what = ""
	}
	return fail.New(fail.Conflict, "nothing in it was changed; to plan again, run "+again, "%s%w", what, err)
}
