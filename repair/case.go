package repair

import (
	"cmp"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/request"
)

// A Case is a state of a session with the engine's results about it. It does not change. Its methods must not be called
// concurrently. See [New].
type Case struct {
	State
	Context

	settings []Setting
	asked    *APIError // its findings are included; nil for none
	isDraft  bool      // it has edits, which must not break the session in other settings

	sent     []Sent // by setting; nil before the first use and after a release
	findings *Findings
	calls    *Calls
	loop     *openLoop
}

// New returns the case of a session's state.
func New(s State, x Context) *Case {
	if x.Rules == nil {
		x.Rules = &Rules{all: engineRules()}
	}
	if x.Texts == (Texts{}) {
		x.Texts = TextsOf(Request{})
	}
	c := &Case{State: s, Context: x}
	c.State, c.settings = c.settingsFor(nil)
	return c
}

func (c *Case) settingsFor(e *APIError) (State, []Setting) {
	if c.Context.Settings == nil {
		return c.State, []Setting{{}}
	}
	return c.Context.Settings(c.State, e)
}

// withState returns the case of a state, without cached results.
func (c *Case) withState(s State) *Case {
	return &Case{State: s, Context: c.Context, settings: c.settings, asked: c.asked, isDraft: c.isDraft}
}

// Sent returns the request in the setting with the given number, and the request's violations.
func (c *Case) Sent(setting int) (request.Request, []request.Violation) {
	s := c.send(setting)
	return s.Request, s.Refused
}

func (c *Case) send(setting int) *Sent {
	for len(c.sent) <= setting {
		c.sent = append(c.sent, Sent{})
	}
	s := &c.sent[setting]
	if s.Request.Turns == nil {
		*s = c.Send(c.settings[setting])
	}
	return s
}

// Next returns the request in the setting in use, and its violations.
func (c *Case) Next() (request.Request, []request.Violation) { return c.Sent(InUse) }

// Current returns the request that the agent would send for the session now, without further repairs, and the request's
// violations. A violation without a place means that the agent sends no request.
func (c *Case) Current() (request.Request, []request.Violation) {
	if now := c.send(InUse).Now; now != nil {
		return now()
	}
	return c.Next()
}

// UnknownProvider returns the name of the next provider if mend does not know its rules and applied Anthropic's;
// otherwise "".
func (c *Case) UnknownProvider() string { return c.send(InUse).UnknownProvider }

// Window returns the context window of the next model in tokens; 0 if unknown.
func (c *Case) Window() int {
	if c.Context.Window == nil {
		return 0
	}
	q, _ := c.Next()
	return c.Context.Window(q.Model)
}

// Settings returns the settings that a fix is tested in, the one in use first.
func (c *Case) Settings() []Setting { return c.settings }

// Calls returns the tool calls with their results.
func (c *Case) Calls() Calls {
	if c.calls == nil {
		calls := pairCalls(c.storedBlocks)
		c.calls = &calls
	}
	return *c.calls
}

// storedBlocks calls yield for each stored block, including blocks that are not sent.
func (c *Case) storedBlocks(yield func(*request.Block) bool) {
	seen := map[blockKey]bool{} // if an answer has several records, each of them yields the same message
	for _, ref := range c.Messages() {
		for _, b := range c.Stored(ref).Blocks() {
			if at := keyOf(b); !seen[at] {
				if seen[at] = true; !yield(b) {
					return
				}
			}
		}
	}
}

// Findings returns all findings of the session: those about the request in the setting in use, and those of the
// agent's checks of records. If there are any, it also counts the findings in the other settings, because a fix must
// hold there, too. It computes the findings once.
//
// It releases the requests and their source data, which may be larger than the session and are seldom used again.
func (c *Case) Findings() *Findings {
	if c.findings != nil {
		return c.findings
	}
	fs := &Findings{c: c, at: map[key]int{}, counts: map[place]int{}, fails: map[int]bool{}}
	c.findings = fs
	s := c.send(InUse)
	fs.fails[InUse] = s.Fails
	for _, f := range s.Findings {
		f.Severity = cmp.Or(f.Severity, Broken)
		c.add(InUse, f)
	}
	for _, r := range c.Rules.Own {
		if r.Find != nil && (!r.Asked || c.isAsked(r.Class)) {
			for _, f := range r.Find(c) {
				f.Code, f.Severity = r.Code, cmp.Or(r.Severity, f.Severity)
				c.add(InUse, f)
			}
		}
	}
	for _, e := range c.askedErrors() {
		for _, f := range FindForError(c, e) {
			if c.Ask == nil || c.Ask(c.State, &f, f.candidate) {
				c.add(InUse, f)
			}
		}
	}
	c.openLoop()
	faults := c.Faults()
	if c.isDraft || c.All || len(fs.list)+len(faults) > 0 {
		for i := InUse + 1; i < len(c.settings); i++ {
			fs.fails[i] = c.count(i)
		}
	}
	for _, f := range faults {
		c.add(InUse, f)
	}
	c.sent = nil
	c.Release()
	return fs
}

// count adds or counts the findings of a setting other than the one in use, and reports whether the agent fails before
// it sends the request.
func (c *Case) count(i int) (fails bool) {
	s := c.send(i)
	for _, f := range s.Findings {
		if c.settings[i].Thinking != c.settings[InUse].Thinking && isLoopRule(f.Code) {
			continue
		}
		if c.All {
			f.Severity = Latent
			c.add(i, f)
		} else {
			c.findings.count(i, f)
		}
	}
	return s.Fails
}

// isLoopRule reports whether the rule is about an open tool loop. Every session with an open loop breaks such a rule
// when thinking is switched on or off, so the rule counts only in the setting in use.
func isLoopRule(code string) bool { return code == "R3" || code == "R4" }

// add adds a finding. If it has no severity, it gets its rule's, or else it is a [Note]; over all settings the worst
// counts. Unknown content of a newer version is a note.
func (c *Case) add(setting int, f Finding) {
	fs := c.findings
	if f.CountOnly {
		fs.count(setting, f)
		return
	}
	x := c.Rules.Fault(c, f)
	f.Class, f.Severity = cmp.Or(x.Class, f.Class), cmp.Or(f.Severity, x.Rule.Severity, Note)
	f.Tier = cmp.Or(f.Tier, x.Tier)
	if c.Writing != nil && c.Writing(c.State, f) {
		return
	}
	if f.Unknown = f.Unknown && c.Newer != ""; f.Unknown {
		f.Severity = Note
	}
	fs.count(setting, f)
	i, ok := fs.at[f.key()]
	if !ok {
		i = len(fs.list)
		fs.at[f.key()], fs.list = i, append(fs.list, f)
	}
	fs.list[i].Severity = min(fs.list[i].Severity, f.Severity)
}

// askedErrors returns the error of the case, or one error for each class that the user requests.
func (c *Case) askedErrors() (all []APIError) {
	if c.asked != nil {
		return []APIError{*c.asked}
	}
	for _, class := range c.Asked {
		all = append(all, APIError{Class: class, Index: -1, Block: -1})
	}
	return all
}

func (c *Case) isAsked(class Class) bool {
	return slices.ContainsFunc(c.askedErrors(), func(e APIError) bool { return e.Class == class })
}

// Describe returns the diagnosis of a finding, without a fix. WhyNot explains why there may be no fix.
func (c *Case) Describe(f Finding) Diagnosis {
	x := c.Rules.Fault(c, f)
	d := Diagnosis{
		Rule: x.Code, Class: x.Class, Tier: x.Tier, Severity: x.Severity, Ref: cmp.Or(x.Ref, c.Session),
		Message: x.Ref.Message, Text: x.Text, Why: x.Why(), WhyNot: x.Rule.NoFix, Short: x.Short, Shown: x.Rule.Shown,
	}
	if x.Refusal != nil {
		d.WhyNot = x.Refusal.Why
	}
	if f.Severity == Latent && !x.Rule.Asked { // the version in use works without a repair
		d.Healed = x.Rule.Healed
	}
	if c.Context.Describe != nil {
		c.Context.Describe(x, &d)
	}
	for _, text := range []*string{&d.Why, &d.Text, &d.WhyNot} {
		*text = c.agentText(*text)
	}
	return d
}

func (c *Case) agentText(text string) string {
	if c.Rebrand == nil {
		return text
	}
	return c.Rebrand(text)
}

// Fixes returns the ways to fix a finding, the one that loses least first. The error is nil or a [*RefusalError].
func (c *Case) Fixes(f Finding) ([]Fix, error) {
	if r := cmp.Or(f.Refusal, c.Refuses(f)); r != nil {
		n := *r
		n.Why = c.agentText(r.Why)
		return nil, &n
	}
	all := c.Rules.Fault(c, f).Fixes()
	for i := range all {
		all[i].Text, all[i].Loses = c.agentText(all[i].Text), c.agentText(all[i].Loses)
	}
	return all, nil
}

// WithError returns the case in the settings of an error, with the findings that only the error reveals.
func (c *Case) WithError(e APIError) *Case { return c.withSettings(&e) }

// Reset returns the case in the session's current settings, without the additions of [Case.WithError]. The settings
// stay the same during a search, because the search compares findings.
func (c *Case) Reset() *Case {
	if s, settings := c.settingsFor(nil); c.asked == nil && settings[InUse] == c.settings[InUse] {
		n := *c
		n.State, n.settings = s, settings
		return &n
	}
	return c.withSettings(nil)
}

// withSettings returns the case in the settings of the error, or in the session's own if e is nil.
func (c *Case) withSettings(e *APIError) *Case {
	n := &Case{Context: c.Context, asked: e, isDraft: c.isDraft}
	n.State, n.settings = c.settingsFor(e)
	return n
}

// Draft returns a new draft of the session.
func (c *Case) Draft() *Draft { return &Draft{c.Edit(), c} }

// A Draft is a copy of a session that fixes edit.
type Draft struct {
	Editor

	c *Case
}

// Apply edits the draft. After an error the draft is as before; a [*RefusalError] explains why the fix must not be
// applied.
func (d *Draft) Apply(x Fix) error {
	d.Begin(x)
	err := x.Edit(d.Editor)
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		d.Undo()
	}
	return err
}

// Case returns the case of the edited session.
func (d *Draft) Case() *Case {
	n := d.c.withState(d.State())
	n.isDraft = true
	return n
}

// FindingsOf returns a finding for each violation, at its first record and its block, if it has any. It ignores
// violations in content that the agent adds to the request.
func FindingsOf(q request.Request, refused []request.Violation) (fs []Finding) {
	for _, v := range refused {
		f := Finding{Code: v.Rule, Text: v.Message, Severity: Broken, Unknown: IsNearUnknown(q, v)}
		switch {
		case len(v.Refs) > 0:
			f.Ref = v.Refs[0]
		case v.Block != nil && v.Block.Source == nil:
			continue // content that the agent adds
		}
		b := v.Block
		if outer := q.BlockAt(v.N, v.M); outer != nil && outer.Ref() == f.Ref {
			b = outer // v.Block may be inside a result
		}
		if b != nil {
			f.Block, f.Detail = b.Index, fmt.Sprint(b.Index)
		}
		fs = append(fs, f)
	}
	return fs
}

// RecordsOf returns the records of a case.
func RecordsOf(c *Case) (all []change.Record) {
	for r := range c.Records {
		all = append(all, *r)
	}
	return all
}

// A Fix is one way to fix a finding.
type Fix struct {
	Text  string // what it does, for a person
	Loses string // what the user loses; "" for nothing

	// Whole means that the edit changes more than the message of the finding. Such a fix is tried alone, unless Alike is
	// set.
	Whole bool
	// Alike means that the same fix applies independently to other findings with the same code in the message, so these
	// fixes may be tried together. With Whole they may also be in other messages: each edit moves or removes its
	// message, or gives a call and its results another id.
	Alike bool

	// Edit edits a copy of the session, with the editor of the agent that made the fix. After an error the next fix is
	// tried.
	Edit func(Editor) error

	aside asideItems // content that it sets aside; nil for another fix
}

// A RefusalError explains why a finding is not fixed, or not by this fix.
type RefusalError struct {
	Why   string // a sentence or two for a person
	Helps bool   // Why also explains what the user can do
	Final bool   // no other fix of the finding is tried

	EditOnly bool // the record must not be edited, but can be set aside
}

func (r *RefusalError) Error() string { return r.Why }
