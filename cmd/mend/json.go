package main

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/mend"
	"mend/repair"
)

// The types of the JSON answers. docs/output.schema.json is generated from them.

// schemaVersion is increased if a member of an answer is removed or changes its meaning. Members may be added
// at any time.
const schemaVersion = 1

// commandName returns the name of a command in JSON answers, such as "plugin install".
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "mend ")
}

type scanAnswer struct {
	Store        string        `json:"store,omitempty"` // of the first of stores, like the next three members
	AgentVersion string        `json:"agentVersion,omitempty"`
	Profile      string        `json:"profile,omitempty"`
	VersionNote  string        `json:"versionNote,omitempty"`
	Stores       []scannedJSON `json:"stores,omitempty"`
	Sessions     []sessionJSON `json:"sessions,omitempty"`
	*requestAnswer
}

// A requestAnswer is the answer of scan --request, and of scan --text.
type requestAnswer struct {
	Text       string            `json:"text,omitempty"` // of scan --text: the conversation as Markdown
	Session    string            `json:"session,omitempty"`
	Provider   string            `json:"provider,omitempty"` // the API of the request
	Thinking   bool              `json:"thinking,omitempty"`
	Model      map[string]string `json:"model,omitempty"`   // the model of the request: modelID and providerID
	Request    map[string]any    `json:"request,omitempty"` // the simulated request in mend's own form: turns of content blocks
	Violations []violationJSON   `json:"violations,omitempty"`
	Diagnoses  []diagnosisJSON   `json:"diagnoses,omitempty"`
}

// A scannedJSON is a scanned store.
type scannedJSON struct {
	Agent        string `json:"agent"`
	Store        string `json:"store"`
	AgentVersion string `json:"agentVersion"`
	Profile      string `json:"profile"`
	VersionNote  string `json:"versionNote"`      // "" if mend was verified with the version
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
	Agent     string          `json:"agent,omitempty"`
	Session   string          `json:"session"`
	Title     string          `json:"title"`
	Directory string          `json:"directory"`
	Updated   int64           `json:"updated"` // milliseconds since 1970
	Severity  string          `json:"severity"`
	Busy      bool            `json:"busy"`
	Provider  string          `json:"provider,omitempty"` // the API of the diagnosis
	Thinking  bool            `json:"thinking"`           // the setting of the diagnosis
	Error     string          `json:"error,omitempty"`
	Shown     string          `json:"shown,omitempty"`   // how the agent shows it, if not as usual
	Command   string          `json:"command,omitempty"` // shows it as usual again
	Diagnoses []diagnosisJSON `json:"diagnoses"`
}

// A diagnosisJSON is a finding.
type diagnosisJSON struct {
	Rule     string `json:"rule"`
	Class    string `json:"class"`
	Severity string `json:"severity"`
	Record   string `json:"record"`
	Why      string `json:"why"`
	Says     string `json:"says,omitempty"` // the provider's error, or the finding
	Fix      string `json:"cure"`
	Loses    string `json:"loses"`
	WhyNot   string `json:"whyNot,omitempty"`   // if there is no fix
	SetAside bool   `json:"setAside,omitempty"` // the fix sets it aside, or --set-aside can
	Healed   string `json:"healed,omitempty"`   // the version of the agent that needs no repair of it
}

// A repairsAnswer is the answer of a verb that lists or makes repairs.
type repairsAnswer struct {
	Repairs []repairJSON `json:"repairs"`
}

// A repairJSON is an entry of the journal, or a plan.
type repairJSON struct {
	ID        string          `json:"id"` // "" if only planned
	Session   string          `json:"session"`
	Title     string          `json:"title,omitempty"`
	Class     string          `json:"class,omitempty"` // of the first finding
	Rule      string          `json:"rule,omitempty"`
	State     string          `json:"state"`
	Damage    string          `json:"damage,omitempty"` // the part that cannot be read
	Folder    string          `json:"directory,omitempty"`
	Time      string          `json:"time,omitempty"`
	Version   string          `json:"version,omitempty"`
	Actor     *change.Actor   `json:"actor,omitempty"`
	Digest    string          `json:"digest,omitempty"` // see [change.PlanDigest]
	Operation string          `json:"operation,omitempty"`
	Store     string          `json:"store,omitempty"`
	Cause     *causeJSON      `json:"cause,omitempty"`
	Ops       []opJSON        `json:"ops"`
	Conflicts []conflictJSON  `json:"conflicts,omitempty"`
	Kept      []string        `json:"kept,omitempty"`
	UndoneBy  string          `json:"undoneBy,omitempty"`
	Resolved  string          `json:"resolved,omitempty"`
	Forgotten bool            `json:"forgotten,omitempty"`
	InForce   *bool           `json:"inForce,omitempty"`
	Follows   []string        `json:"follows,omitzero"` // the entries that changed the same records before, the nearest first
	Again     []string        `json:"again,omitzero"`   // and afterwards
	Now       *effectJSON     `json:"now,omitempty"`
	Last      string          `json:"lastRepair,omitempty"` // if there is nothing to do
	Remaining []diagnosisJSON `json:"remaining,omitempty"`
	Suspects  []diagnosisJSON `json:"suspects,omitempty"`
	Proof     []proofJSON     `json:"proof,omitempty"`
}

type proofJSON struct {
	Version  string   `json:"version"` // of the agent
	Thinking bool     `json:"thinking"`
	Rules    []string `json:"rules"` // broken rules
}

type causeJSON struct {
	Kind      string   `json:"kind"`
	Text      string   `json:"text,omitempty"`
	Diagnoses []string `json:"diagnoses,omitempty"`

	Live     bool             `json:"live,omitempty"` // made for a running agent
	Findings []change.Finding `json:"findings,omitempty"`
	Error    *change.Failure  `json:"error,omitempty"`

	Bound *change.BoundThinking `json:"boundThinking,omitempty"`
}

// setCause sets the members that follow from the cause.
func (r *repairJSON) setCause(c change.Cause) {
	r.Cause, r.Title = &causeJSON{string(c.Kind), c.Text, c.Diagnoses, c.Live, c.Findings, c.Error, c.Bound}, c.Title
	r.Folder = c.Folder
	if len(c.Findings) > 0 {
		r.Class, r.Rule = c.Findings[0].Class, c.Findings[0].Rule
	}
}

type opJSON struct {
	Record string     `json:"record"`
	Kind   string     `json:"kind"`
	Verb   string     `json:"verb"`
	Pre    *imageJSON `json:"pre"`
	Post   *imageJSON `json:"post"`
	Diff   []string   `json:"diff,omitempty"`
}

type imageJSON struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Mode   string `json:"mode,omitempty"`
}

// A conflictJSON is a record in conflict.
type conflictJSON struct {
	Record string   `json:"record"`
	Why    string   `json:"why"`
	Later  []string `json:"later,omitempty"`
	Did    []string `json:"did,omitempty"`   // diff of the repair
	Since  []string `json:"since,omitempty"` // diff from the repair to the current state
}

func findingJSON(f mend.Finding) sessionJSON {
	s := sessionJSON{
		Session: f.Session.ID, Title: f.Session.Title, Directory: f.Session.Directory,
		Updated: max(f.Session.Updated, f.Session.Created), Busy: f.Busy, Provider: f.Provider, Thinking: f.Thinking,
		Severity: severityName(f), Diagnoses: diagnosesJSON(f.Diagnoses),
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

// diagnosesJSON converts findings.
func diagnosesJSON(ds []repair.Diagnosis) []diagnosisJSON {
	out := make([]diagnosisJSON, len(ds))
	for i, d := range ds {
		out[i] = diagnosisJSON{
			Rule: d.Rule, Class: string(d.Class), Severity: d.Severity.String(), Record: d.Ref.String(),
			Why: d.Why, Says: d.Text, Fix: d.Fix, Loses: d.Loses, WhyNot: d.WhyNot, SetAside: d.SetAside || d.CanSetAside, Healed: d.Healed,
		}
	}
	return out
}

// entryJSON converts an entry. ops, if given, are its ops with images, and add diffs.
func entryJSON(e change.Entry, ops []change.Op) repairJSON {
	r := repairJSON{
		ID: e.ID, Session: e.Session, State: string(e.State), Damage: e.Damage,
		Version: e.Version, Actor: e.Actor, Digest: e.Digest, Operation: mend.OperationOf(e), Store: e.Store.Root, UndoneBy: e.UndoneBy, Resolved: e.Resolved, Forgotten: e.Forgotten,
		Kept: e.Kept, Ops: opsJSON(e.Ops, ops), InForce: new(e.State == change.Committed && e.UndoneBy == ""),
	}
	if !e.Time.IsZero() { // otherwise nothing of the entry can be read
		r.Time = e.Time.UTC().Format(time.RFC3339)
		r.setCause(e.Cause)
	}
	for _, c := range e.Conflicts {
		r.Conflicts = append(r.Conflicts, conflictJSON{Record: c.Ref.String(), Why: c.Why})
	}
	return r
}

// opsJSON converts ops. Ops with images, if given, add diffs.
func opsJSON(infos []change.OpInfo, ops []change.Op) []opJSON {
	all := make([]opJSON, len(infos))
	for i, o := range infos {
		all[i] = opJSON{Record: o.Ref.String(), Kind: o.Ref.Kind.String(), Verb: opVerb(o.Pre == nil, o.Post == nil), Pre: digestJSON(o.Pre), Post: digestJSON(o.Post)}
		if i < len(ops) && hasDiff(o.Ref) {
			all[i].Diff = diffLines(ops[i].Pre, ops[i].Post)
		}
	}
	return all
}

// entriesJSON converts entries, without diffs.
func entriesJSON(es []change.Entry) []repairJSON {
	list := []repairJSON{}
	for _, e := range es {
		list = append(list, entryJSON(e, nil))
	}
	return list
}

func opVerb(create, remove bool) string {
	switch {
	case create:
		return "create"
	case remove:
		return "delete"
	}
	return "change"
}

func digestJSON(d *change.Digest) *imageJSON {
	if d == nil {
		return nil
	}
	i := &imageJSON{SHA256: hex.EncodeToString(d.SHA256[:]), Size: d.Size}
	if d.Mode != 0 {
		i.Mode = modeText(d.Mode)
	}
	return i
}

// planJSON converts a plan that is not applied.
func planJSON(p change.Plan) repairJSON {
	infos := change.InfosOf(p.Ops)
	r := repairJSON{Session: p.Session, State: "planned", Ops: opsJSON(infos, p.Ops)}
	r.setCause(p.Cause)
	if len(infos) > 0 {
		r.Digest = change.PlanDigest(infos)
	}
	return r
}

// repairAnswer returns the answer of a repair: for each proposal its entry, or its plan if it was not
// applied.
func repairAnswer(ps []proposal, done []change.Entry) []repairJSON {
	repairs := []repairJSON{}
	entries := map[string][]change.Entry{} // by session, in the order of its proposals
	for _, e := range done {
		entries[e.Session] = append(entries[e.Session], e)
	}
	for _, p := range ps {
		r := planJSON(p.result.Plan)
		if len(p.result.Plan.Ops) == 0 {
			r.State = "nothing to do"
			if p.last != nil {
				r.Last = p.last.ID
			}
		} else if es := entries[p.head.ID]; len(es) > 0 {
			r, entries[p.head.ID] = entryJSON(es[0], p.result.Plan.Ops), es[1:]
		}
		r.Session = p.head.ID
		r.Remaining, r.Suspects = diagnosesJSON(p.result.Remaining), diagnosesJSON(p.result.Suspects)
		for _, q := range p.result.Proof {
			r.Proof = append(r.Proof, proofJSON{q.Version, q.Thinking, nonNil(q.Rules)})
		}
		repairs = append(repairs, r)
	}
	return repairs
}

// conflictsJSON converts conflicts, with diffs.
func conflictsJSON(cs []change.Conflict) []conflictJSON {
	var out []conflictJSON
	for _, c := range cs {
		out = append(out, conflictJSON{c.Ref.String(), c.Why, c.Later, diffLines(c.Pre, c.Post), diffLines(c.Post, c.Now)})
	}
	return out
}

// nonNil returns the list, or an empty one for nil, so that its JSON is [].
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
