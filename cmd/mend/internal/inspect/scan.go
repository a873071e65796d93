// Package inspect has the verbs that show what is stored and what is wrong with it: scan, explain, report, status, and
// ui. They change no session, except by the repairs that a user chooses in ui.
//
// It may import agent, change, cmd/mend/internal/agents, cmd/mend/internal/frame, cmd/mend/internal/show,
// internal/culprit, internal/fail, internal/jsonedit, internal/keep, internal/mend, internal/report, internal/request,
// internal/term, internal/ui, journal and repair. Read runScan first.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

type scanFlags struct {
	all, verbose, request, text, broken bool
	from                                string
	frame.SessionFilter
}

// Scan returns the verb scan.
func Scan(env *frame.Env) *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use:   "scan [SESSION...]",
		Short: "List broken sessions, and why they are broken",
		Long: `List every session with a finding, by agent: this folder's sessions first, and in each group
the broken ones first. With SESSION, show each finding in it; -v does so for all sessions.
SESSION is an id, the start of one, a title or a part of it, . for the newest session of
this folder, or @ for the newest of all.

  broken   unusable now: the provider refuses it, or the agent crashes on it
  at risk  works, but would break if continued in another way, or is shown as running or only
           in part; with --at-risk also what another version, or thinking switched on or off,
           would break
  lost     works, but a prompt, an answer or a result is missing or cannot be read
  note     harmless

Scan writes nothing to the store. It exits with 1 if a session is broken, or if lost data
can be restored from a copy of "mend keep".

With --request, scan shows the next request of one session and marks the refused blocks.
With --text, it prints one conversation as Markdown and marks what cannot be read, even if
the session cannot be repaired. A deleted session is printed from its copy.`,
		Example: `  mend scan              every session
  mend scan --here -v    the findings in the sessions of this folder
  mend scan . --text     the newest conversation of this folder, to read or to save
  mend scan . --request  the next request of the newest session of this folder`,
		RunE: func(cmd *cobra.Command, names []string) error {
			switch {
			case !f.request && !f.text && f.from == "":
				return env.RunPager(func() error { return runScan(cmd.Context(), env, names, f) })
			case f.request && f.text || len(names) > 1 || f.all || f.verbose || f.broken || !f.All():
				return frame.Usagef("--request and --text are for one session, and cannot be combined with flags that select several")
			case f.from != "" && (!f.text || !env.UsesCopies(f.from)):
				return frame.Usagef("--from needs --text, and a folder with copies of mend keep --to")
			case f.text:
				return scanConversation(cmd.Context(), env, names)
			}
			c, head, err := frame.OpenSession(cmd.Context(), env, names, "--request", false)
			if err != nil {
				return err
			}
			return printForecast(cmd.Context(), env, c, head)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.request, "request", false, "show the next request of one session")
	fl.BoolVar(&f.text, "text", false, "print one conversation as Markdown, even a deleted one that was kept")
	fl.StringVar(&f.from, "from", "", "with --text: print the copy in `DIR`, a folder of mend keep --to")
	frame.ThinkingFlag(env, fl)
	frame.ProviderFlag(env, fl)
	frame.AtRiskFlag(fl, &env.Opt.AllSettings, "also judge other versions of the agent, and thinking switched on or off")
	fl.BoolVar(&f.all, "all", false, "show healthy sessions and notes too")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show each finding")
	fl.BoolVar(&f.broken, "broken", false, "only sessions that are broken")
	f.Add(fl)
	return cmd
}

func scanConversation(ctx context.Context, env *frame.Env, names []string) error {
	c, head, err := frame.OpenSession(ctx, env, names, "--text", false)
	if errors.Is(err, mend.ErrNoSession) && len(names) > 0 {
		gone, _, unknown := frame.LookUp(ctx, env, frame.Sources{Gone: true}, names)
		switch {
		case unknown != nil:
			return err
		case gone[0].Store == nil:
			return gone[0].NoStore(env)
		}
		return env.RunPager(func() error { return printKept(ctx, env, gone[0].Store, gone[0].Head) })
	}
	if err != nil {
		return err
	}
	return env.RunPager(func() error { return printConversation(ctx, env, c, head) })
}

func runScan(ctx context.Context, env *frame.Env, names []string, f scanFlags) error {
	clients, left, err := frame.OpenNamed(ctx, env, false, names)
	if err != nil {
		return err
	}
	var stores []scannedJSON
	var found []sessionJSON
	total := scanReport{Env: env, flags: f, named: len(names) > 0}
	for _, c := range clients {
		r := scanReport{Env: env, flags: f, named: len(names) > 0}
		if err := r.scan(ctx, c); err != nil {
			if ctx.Err() != nil || frame.ExitCode(err) != frame.ExitUnusable {
				return err
			}
			left = env.SkipStore(ctx, left, err)
			continue
		}
		total.join(&r)
		left = fail.Worst(left, r.problems())
		if err := c.CheckAccess(); err != nil {
			left = env.SkipStore(ctx, left, err)
		}
		scanned := scannedJSON{Agent: c.ID().Agent, Store: c.ID().Root, AgentVersion: r.version.Name, Profile: r.version.Profile, VersionNote: r.version.Note(), Elsewhere: r.elsewhere}
		if scanned.Damage = r.summary.Damage; scanned.Damage != "" {
			left = env.SkipStore(ctx, left, r.damaged)
		}
		stores = append(stores, scanned)
		for _, s := range r.json {
			s.Agent = c.ID().Agent
			if slices.Contains(r.restorable, s.Session) {
				s.Command = env.CommandLine("restore", s.Session)
			}
			found = append(found, s)
		}
	}
	total.printNext(len(clients) > 1)
	if env.JSON && len(stores) > 0 {
		env.SetAnswers(ScanAnswer{stores, show.NonNil(found), nil})
	}
	if left == nil && len(names) == 0 && env.HasSkipped() {
		return errors.New("not every store could be examined")
	}
	return left
}

// scan examines the sessions of a store and prints the findings.
func (r *scanReport) scan(ctx context.Context, s frame.StoreSessions) error {
	c := s.WithCache()
	all, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	heads, err := s.Select(all, r.flags.SessionFilter)
	if err != nil {
		return err
	}
	whole := !r.named && r.flags.All()
	r.NextStore(c)
	fixed := c.Changeable(ctx)
	if fixed != nil {
		r.Note(term.ShortenHome(fixed.Error()))
	}
	progress := r.Progress(len(heads), "scanning")
	r.damaged = frame.CheckFile(ctx, r.Terminal, c, frame.LargestChecked)
	for f := range c.Scan(ctx, heads) {
		r.add(f)
		progress.Step()
	}
	progress.Clear()
	for _, h := range r.lost {
		if !r.IsKept(h.ID) {
			continue
		}
		if done, err := frame.ProposeRestore(ctx, r.Env, c, h, mend.RestoreRequest{}); err == nil && len(done.Plan.Ops) > 0 {
			r.restorable = append(r.restorable, h.ID)
		}
	}
	if r.summary.Broken > 0 && r.damaged == nil {
		r.damaged = frame.CheckFile(ctx, r.Terminal, c, 0)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if damaged, ok := errors.AsType[*change.DamagedError](r.damaged); ok {
		r.summary.Damage = damaged.Error()
	}
	r.version = c.Version("")
	if !r.JSON {
		r.print(all)
	}
	if whole && fixed == nil {
		if len(all) == 0 {
			r.findKept(ctx, c)
		}
		return r.findOtherStores(ctx, c, all)
	}
	return nil
}

// findKept counts the copied sessions of a store without sessions.
func (r *scanReport) findKept(ctx context.Context, c *mend.Store) {
	gone := map[string]bool{}
	_ = r.Opt.Journal.Kept(keep.Options{ReadOnly: true, Context: ctx}, func(k *keep.Keep) error { // restore reports the error
		return k.Each(keep.Query{Store: c.HasCopiesOf}, func(s *keep.State) { gone[s.Session] = true })
	})
	if n := len(gone); n > 0 {
		r.Say("%s gone. To list them: %s", term.CountWords(n, "copied session is", "copied sessions are"), term.Command(r.CommandLine("restore")))
	}
}

// findOtherStores finds other stores of the agent with sessions that this one lacks.
func (r *scanReport) findOtherStores(ctx context.Context, c *mend.Store, all []change.Head) error {
	beside, err := c.OtherStores(ctx, all)
	for _, b := range beside {
		if b.Err != nil || b.PromptsOnly {
			continue // "mend restore" lists them
		}
		one := elsewhereJSON{b.Path, len(b.Sessions), r.CommandLine("restore", "--from", b.Path)}
		r.elsewhere = append(r.elsewhere, one)
		r.Say("%s of %s not in this store. To bring them back: %s", term.CountWords(one.Sessions, "session", "sessions"),
			term.ShortenHome(b.Path)+map[bool]string{true: " is", false: " are"}[one.Sessions == 1], term.Command(one.Command))
	}
	return err
}

type scanReport struct {
	*frame.Env
	flags scanFlags
	named bool // the user named the sessions

	summary mend.Summary
	damaged error // the damage of the store's file; nil if it is sound
	shown   []mend.Finding
	json    []sessionJSON
	fixable int // sessions at risk with a known fix
	notes   int // sessions with nothing but notes

	lost       []change.Head // sessions with lost content
	restorable []string      // the ids of these sessions whose copy has the content

	version   agent.Version // of the agent, that the sessions are judged by
	elsewhere []elsewhereJSON
}

func (r *scanReport) add(f mend.Finding) {
	r.summary.Add(&f)
	severity := f.Severity()
	if slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == repair.Lost }) {
		r.lost = append(r.lost, f.Session)
	}
	if severity == repair.Latent && slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Fix != "" }) {
		r.fixable++
	}
	if severity == repair.Note && f.Shown() == repair.Listed {
		r.notes++
	}
	switch {
	case r.flags.broken && severity != repair.Broken:
	case r.JSON:
		j := findingJSON(f)
		if j.Shown = string(f.Shown()); j.Shown != "" {
			j.Command, _ = frame.FirstCommand(r.Env, f)
		}
		r.json = append(r.json, j)
	case r.flags.all || r.named || severity != 0 && severity <= repair.Lost || f.Shown() != repair.Listed:
		r.shown = append(r.shown, f)
	}
}

// join adds the findings of another store.
func (r *scanReport) join(s *scanReport) {
	r.summary, r.shown = r.summary.Plus(s.summary), append(r.shown, s.shown...)
	r.fixable, r.notes = r.fixable+s.fixable, r.notes+s.notes
	r.restorable = append(r.restorable, s.restorable...)
}

// print prints the sessions with findings, this folder's first, and in each group the worst first, then the totals. all
// are the sessions of the store.
func (r *scanReport) print(all []change.Head) {
	defer r.Buffer()()
	slices.SortStableFunc(r.shown, func(a, b mend.Finding) int {
		return cmp.Or(cmp.Compare(badness(a), badness(b)), cmp.Compare(b.Session.Updated, a.Session.Updated))
	})
	if !r.named && len(r.shown) > 1 {
		here := mend.Here(all, show.WorkingFolder())
		request.MoveFirst(r.shown, func(f mend.Finding) bool { return here(f.Session) })
	}
	if r.flags.verbose || r.named {
		for _, f := range r.shown {
			printFinding(r.Env, f, r.flags.all || r.named)
		}
	} else {
		r.printTable(all)
	}
	r.printSummary()
}

// badness orders findings: broken sessions first, then sessions that cannot be examined, then the others.
func badness(f mend.Finding) int {
	switch s := f.Severity(); {
	case f.Err != nil:
		return 2 * int(repair.Broken)
	case s == 0:
		return 2*int(repair.Note) + 1
	default:
		return 2*int(s) - 1
	}
}

// printTable prints one line for each session.
func (r *scanReport) printTable(all []change.Head) {
	if len(r.shown) == 0 {
		return
	}
	short := show.ShortIDs(r.Terminal, all)
	alike := map[string]int{}
	for _, f := range r.shown {
		alike[sameFault(f)]++
	}
	var rows [][]any
	for _, f := range r.shown {
		key := sameFault(f)
		if n := alike[key]; key != "" && n > mostAlike(f) { // one line for all of them
			about := term.Sprintf("to list them: %s", term.Command(r.CommandLine("scan", "-v")))
			switch {
			case f.Err != nil:
				about = term.Escape(term.OneLine(key, 500))
			case f.Shown() == repair.NoFolder:
				about = term.Sprintf("%s is gone: %s", term.ShortenHome(f.Session.Directory), term.Command("mend move "+frame.ShellWord(f.Session.Directory)+" NEW"))
			}
			rows = append(rows, []any{show.SeverityWord(f.Severity()), term.Bold(term.Count(n, "session")), r.whatIsWrong(f), "", "", about})
			alike[key] = 0
			continue
		} else if key != "" && n == 0 {
			continue
		}
		word, what := show.SeverityWord(f.Severity()), r.whatIsWrong(f)
		cells := show.SessionCells(r.Terminal, f.Session)
		if f.Err != nil {
			cells[len(cells)-1] = term.Sprintf("%s: %s", show.SessionTitle(f.Session), term.OneLine(f.Err.Error(), 500))
		}
		rows = append(rows, append([]any{word, term.Bold(short[f.Session.ID]), what}, cells...))
	}
	r.PrintRows(rows, "")
	r.Printf("\n")
}

// mostAlike returns up to how many sessions with the same finding have a line each.
func mostAlike(f mend.Finding) int {
	if f.Err != nil || f.Shown() == repair.NoFolder {
		return 1
	}
	return 5
}

// sameFault returns a text that is equal for sessions with the same only finding: a damaged database, a missing folder,
// or a finding with a short name. For other sessions it returns "".
func sameFault(f mend.Finding) string {
	if d, ok := errors.AsType[*change.DamagedError](f.Err); ok {
		return d.Error()
	}
	if len(f.Diagnoses) == 1 && f.Shown() == repair.NoFolder {
		return f.Diagnoses[0].Rule + " " + f.Session.Directory
	}
	if len(f.Diagnoses) != 1 || f.Diagnoses[0].Short == "" {
		return ""
	}
	return f.Diagnoses[0].Rule + f.Diagnoses[0].Short
}

// whatIsWrong returns the class of the worst finding in words, and on a wide terminal the number of further findings
// and the verb that helps.
func (r *scanReport) whatIsWrong(f mend.Finding) string {
	var words []string
	if i := slices.IndexFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == f.Severity() }); i >= 0 {
		word := cmp.Or(term.OneLine(f.Diagnoses[i].Short, 40), show.ClassWords(string(f.Diagnoses[i].Class)))
		if n := len(f.Diagnoses) - 1; n > 0 && !r.IsNarrow() {
			word += fmt.Sprintf(" and %d more", n)
		}
		words = append(words, word)
	}
	if f.Err != nil {
		words = append(words, "cannot be examined")
	}
	restorable := slices.Contains(r.restorable, f.Session.ID)
	switch s := f.Shown(); {
	case r.IsNarrow():
	case s == repair.NoFolder && !restorable:
		words = append(words, "mend move")
	case !restorable && (s == repair.Listed && f.Severity() == repair.Lost || s == repair.NotLoaded && !r.IsKept(f.Session.ID)):
		words = append(words, "no copy")
	case restorable || s != repair.Listed && s != repair.TakenOver:
		words = append(words, "mend restore")
	}
	if f.Busy {
		words = append(words, "busy")
	}
	return strings.Join(words, ", ")
}

// problems returns an error if a session is broken, cannot be examined, or lost content that can be restored.
func (r *scanReport) problems() error {
	switch {
	case r.summary.Failed > 0:
		return errors.New("reading the store: " + term.Count(r.summary.Failed, "session") + " could not be examined")
	case r.summary.Broken > 0, len(r.restorable) > 0:
		return frame.ErrProblems
	}
	return nil
}

// printFinding prints a session and its findings; with all, also notes and the rules that it was checked by.
func printFinding(env *frame.Env, f mend.Finding, all bool) {
	defer env.Buffer()()
	env.Printf("%s\n", term.Cut(show.SeverityWord(f.Severity())+"  "+show.SessionLine(f.Session), env.Width))
	if f.Err != nil {
		env.SayAt(6, "%s %s", term.Bad("cannot be examined:"), f.Err.Error())
		if h := env.Hint(f.Err); h != "" {
			env.SayAt(6, "%s", term.Faint(h))
		}
	}
	if f.Busy {
		env.Printf("    %s\n", term.Warn("busy: the agent is using it"))
	}
	if all && f.Err == nil {
		env.Printf("    %s\n", term.Faint("checked by the rules of "+cmp.Or(f.Provider, "anthropic")+", with thinking "+show.OnOrOff(f.Thinking)))
	}
	for _, d := range f.Diagnoses {
		if all || d.Severity <= repair.Lost {
			show.Diagnosis(env.Terminal, d)
		}
	}
	env.Printf("\n")
}

func (r *scanReport) printSummary() {
	s := r.summary
	text := countsText(&s)
	if s.NoFolder > 0 && s.Sessions > 1 {
		text += term.Sprintf(", %d whose folder is gone", s.NoFolder)
	}
	if r.notes > 0 {
		text += term.Sprintf(", %s", term.Count(r.notes, "note"))
	}
	switch {
	case s.Busy > 0 && s.Sessions == 1:
		text += " (an agent may still be writing it)"
	case s.Busy > 0:
		text += term.Sprintf(" (an agent may still be writing %d of them)", s.Busy)
	}
	r.Say("%s", show.SentenceCase(text))
}

// printNext prints the command that the user should run next; apart puts a blank line before it.
func (r *scanReport) printNext(apart bool) {
	s, which := r.summary, []string{}
	if r.named && len(r.shown) == 1 {
		which = append(which, r.shown[0].Session.ID)
	}
	if r.flags.Here {
		which = append(which, "--here")
	}
	if r.flags.Since != "" {
		which = append(which, "--since", r.flags.Since)
	}
	s.Latent = r.fixable
	for _, f := range r.shown {
		if f.Shown() == repair.NotLoaded && !r.IsKept(f.Session.ID) { // nothing can be restored
			s.NotLoaded--
		}
	}
	words, why := nextOf(s, which...)
	switch {
	case len(r.restorable) == 1 && s.Broken == 0:
		words, why = []string{"restore", r.restorable[0]}, "bring back what is lost (asks first)"
	case len(r.restorable) > 0 && s.Broken == 0:
		words, why = []string{"restore"}, "bring back what is lost (asks first)"
	case len(words) == 0, words[0] == "scan" && (r.named || r.flags.verbose):
		return
	}
	if apart {
		r.Printf("\n")
	}
	r.Say("Next: %s  %s", term.Command(r.CommandLine(words...)), term.Faint(why))
}

// A ScanAnswer is the answer of scan.
type ScanAnswer struct {
	Stores   []scannedJSON `json:"stores,omitempty"`
	Sessions []sessionJSON `json:"sessions,omitempty"`
	*requestAnswer
}

// A requestAnswer is the answer of scan --request, and of scan --text.
type requestAnswer struct {
	Text       string               `json:"text,omitempty"` // of scan --text: the conversation as Markdown
	Session    string               `json:"session,omitempty"`
	Profile    string               `json:"profile,omitempty"` // the known version of the agent that builds this request
	Note       string               `json:"versionNote,omitempty"`
	Provider   string               `json:"provider,omitempty"` // the API of the request
	Thinking   bool                 `json:"thinking,omitempty"`
	Model      map[string]string    `json:"model,omitempty"`   // the model of the request: modelID and providerID
	Request    map[string]any       `json:"request,omitempty"` // the simulated request in mend's own form: turns of content blocks
	Violations []violationJSON      `json:"violations,omitempty"`
	Diagnoses  []show.DiagnosisJSON `json:"diagnoses,omitempty"`
}

type scannedJSON struct {
	Agent        string `json:"agent"`
	Store        string `json:"store"`
	AgentVersion string `json:"agentVersion"`
	Profile      string `json:"profile"`
	VersionNote  string `json:"versionNote"`      // "" if mend was verified with this version of the agent
	Damage       string `json:"damage,omitempty"` // of its file as a whole

	Elsewhere []elsewhereJSON `json:"elsewhere,omitempty"`
}

// An elsewhereJSON is another store of the agent with sessions that the scanned one lacks.
type elsewhereJSON struct {
	Store    string `json:"store"`
	Sessions int    `json:"sessions"`
	Command  string `json:"command"`
}

type sessionJSON struct {
	Agent     string               `json:"agent,omitempty"`
	Session   string               `json:"session"`
	Title     string               `json:"title"`
	Directory string               `json:"directory"`
	Updated   int64                `json:"updated"` // milliseconds since 1970
	Severity  string               `json:"severity"`
	Busy      bool                 `json:"busy"`
	Provider  string               `json:"provider,omitempty"` // the API whose rules were used
	Thinking  bool                 `json:"thinking"`           // whether it was checked with thinking on
	Error     string               `json:"error,omitempty"`
	Shown     string               `json:"shown,omitempty"`   // why the agent does not list it as usual
	Command   string               `json:"command,omitempty"` // after which the agent lists it as usual
	Diagnoses []show.DiagnosisJSON `json:"diagnoses"`
}

func findingJSON(f mend.Finding) sessionJSON {
	s := sessionJSON{
		Session: f.Session.ID, Title: f.Session.Title, Directory: f.Session.Directory,
		Updated: max(f.Session.Updated, f.Session.Created), Busy: f.Busy, Provider: f.Provider, Thinking: f.Thinking,
		Severity: severityName(f), Diagnoses: show.DiagnosesJSON(f.Diagnoses),
	}
	if f.Err != nil {
		s.Error = f.Err.Error()
	}
	return s
}

func severityName(f mend.Finding) string {
	if s := f.Severity(); s != 0 {
		return s.String()
	}
	return "healthy"
}
