package show

import (
	"encoding/hex"
	"io/fs"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/repair"
)

// A DiagnosisJSON is a finding.
type DiagnosisJSON struct {
	Rule     string `json:"rule"`
	Class    string `json:"class"`
	Severity string `json:"severity"`
	Record   string `json:"record"`
	Why      string `json:"why"`
	Says     string `json:"says,omitempty"` // the provider's error, or the finding
	Fix      string `json:"cure"`
	Loses    string `json:"loses"`
	WhyNot   string `json:"whyNot,omitempty"`   // the reason if there is no fix
	SetAside bool   `json:"setAside,omitempty"` // the fix sets the record aside, or --set-aside can
	Healed   string `json:"healed,omitempty"`   // the first version of the agent that needs no repair, and what it does
}

// A RepairsAnswer is the answer of a verb that lists or makes repairs.
type RepairsAnswer struct {
	Repairs []RepairJSON `json:"repairs"`
}

// A RepairJSON is an entry of the journal, or a plan.
type RepairJSON struct {
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
	Digest    string          `json:"digest,omitempty"` // the same for the same changes, see docs/audit.md
	Operation string          `json:"operation,omitempty"`
	Store     string          `json:"store,omitempty"`
	Cause     *causeJSON      `json:"cause,omitempty"`
	Ops       []opJSON        `json:"ops"`
	Conflicts []ConflictJSON  `json:"conflicts,omitempty"`
	Kept      []string        `json:"kept,omitempty"`
	UndoneBy  string          `json:"undoneBy,omitempty"`
	Resolved  string          `json:"resolved,omitempty"`
	Forgotten bool            `json:"forgotten,omitempty"`
	InForce   *bool           `json:"inForce,omitempty"`
	Follows   []string        `json:"follows,omitzero"` // entries that changed the same records before, the newest first
	Again     []string        `json:"again,omitzero"`   // entries that changed the same records afterwards
	Now       *mend.Effect    `json:"now,omitempty"`
	Last      string          `json:"lastRepair,omitempty"` // if there is nothing to do: the newest repair in force
	Remaining []DiagnosisJSON `json:"remaining,omitempty"`
	Suspects  []DiagnosisJSON `json:"suspects,omitempty"`
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
func (r *RepairJSON) setCause(c change.Cause) {
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

// A ConflictJSON is a record in conflict.
type ConflictJSON struct {
	Record string   `json:"record"`
	Why    string   `json:"why"`
	Later  []string `json:"later,omitempty"`
	Did    []string `json:"did,omitempty"`   // diff of the repair
	Since  []string `json:"since,omitempty"` // diff from the repair to the current state
}

// DiagnosesJSON converts findings.
func DiagnosesJSON(ds []repair.Diagnosis) []DiagnosisJSON {
	out := make([]DiagnosisJSON, len(ds))
	for i, d := range ds {
		out[i] = DiagnosisJSON{
			Rule: d.Rule, Class: string(d.Class), Severity: d.Severity.String(), Record: d.Ref.String(),
			Why: d.Why, Says: d.Text, Fix: d.Fix, Loses: d.Loses, WhyNot: d.WhyNot, SetAside: d.SetAside || d.CanSetAside, Healed: d.Healed,
		}
	}
	return out
}

// EntryJSON converts an entry. ops, if given, are its ops with images, and add diffs.
func EntryJSON(e change.Entry, ops []change.Op) RepairJSON {
	r := RepairJSON{
		ID: e.ID, Session: e.Session, State: string(e.State), Damage: e.Damage,
		Version: e.Version, Actor: e.Actor, Digest: e.Digest, Operation: mend.OperationOf(e), Store: e.Store.Root, UndoneBy: e.UndoneBy, Resolved: e.Resolved, Forgotten: e.Forgotten,
		Kept: e.Kept, Ops: opsJSON(e.Ops, ops), InForce: new(e.State == change.Committed && e.UndoneBy == ""),
	}
	if !e.Time.IsZero() { // otherwise nothing of the entry can be read
		r.Time = e.Time.UTC().Format(time.RFC3339)
		r.setCause(e.Cause)
	}
	for _, c := range e.Conflicts {
		r.Conflicts = append(r.Conflicts, ConflictJSON{Record: c.Ref.String(), Why: c.Why})
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

// EntriesJSON converts entries, without diffs.
func EntriesJSON(es []change.Entry) []RepairJSON {
	list := []RepairJSON{}
	for _, e := range es {
		list = append(list, EntryJSON(e, nil))
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
		i.Mode = fs.FileMode(d.Mode).String()
	}
	return i
}

// PlanJSON converts a plan that is not applied.
func PlanJSON(p change.Plan) RepairJSON {
	infos := change.InfosOf(p.Ops)
	r := RepairJSON{Session: p.Session, State: "planned", Ops: opsJSON(infos, p.Ops)}
	r.setCause(p.Cause)
	if len(infos) > 0 {
		r.Digest = change.PlanDigest(infos)
	}
	return r
}

// ProposalsJSON converts proposals: each to its entry in done, or to its plan if it was not applied.
func ProposalsJSON(ps []Proposal, done []change.Entry) []RepairJSON {
	repairs := []RepairJSON{}
	entries := map[string][]change.Entry{} // by session, in the order of its proposals
	for _, e := range done {
		entries[e.Session] = append(entries[e.Session], e)
	}
	for _, p := range ps {
		r := PlanJSON(p.Result.Plan)
		if len(p.Result.Plan.Ops) == 0 {
			r.State = "nothing to do"
			if p.Last != nil {
				r.Last = p.Last.ID
			}
		} else if es := entries[p.Head.ID]; len(es) > 0 {
			r, entries[p.Head.ID] = EntryJSON(es[0], p.Result.Plan.Ops), es[1:]
		}
		r.Session = p.Head.ID
		r.Remaining, r.Suspects = DiagnosesJSON(p.Result.Remaining), DiagnosesJSON(p.Result.Suspects)
		for _, q := range p.Result.Proof {
			r.Proof = append(r.Proof, proofJSON{q.Version, q.Thinking, NonNil(q.Rules)})
		}
		repairs = append(repairs, r)
	}
	return repairs
}

// ConflictsJSON converts conflicts, with diffs.
func ConflictsJSON(cs []change.Conflict) []ConflictJSON {
	var out []ConflictJSON
	for _, c := range cs {
		out = append(out, ConflictJSON{c.Ref.String(), c.Why, c.Later, diffLines(c.Pre, c.Post), diffLines(c.Post, c.Now)})
	}
	return out
}

// NonNil returns the list, or an empty one for nil, so that its JSON is [].
func NonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// A KeptStateJSON is a copy that was made.
type KeptStateJSON struct {
	ID       string `json:"id"`
	Session  string `json:"session"`
	Agent    string `json:"agent"`
	Title    string `json:"title"`
	Time     string `json:"time"`
	Messages int    `json:"messages"`
	Complete bool   `json:"complete"`
	Bytes    int64  `json:"bytes"` // of its records
}

// KeptState converts a copy.
func KeptState(s *keep.State) KeptStateJSON {
	return KeptStateJSON{s.ID, s.Session, s.Agent, s.Title, s.Time.UTC().Format(time.RFC3339), s.Messages, s.Complete(), s.Size}
}

// A GoneJSON is a folder of sessions that no longer exists.
type GoneJSON struct {
	Folder    string   `json:"folder"`
	Sessions  int      `json:"sessions"`
	Proposals []string `json:"proposals"` // folders where it may be now, best first
	Certain   bool     `json:"certain"`   // only the first proposal is of the same repository
}

// A PluginJSON is the state of an installation.
type PluginJSON struct {
	Agent string `json:"agent"`
	Path  string `json:"path"`
	Why   string `json:"why,omitempty"` // the reason if unreadable
	agent.Status
}

// Relate sets the entries that changed the same records before and after.
func (r *RepairJSON) Relate(related mend.Related) {
	r.Follows, r.Again = entryIDs(related.Follows), entryIDs(related.Again)
}

// APIErrorJSON returns an error in the form of a JSON answer.
func APIErrorJSON(e repair.APIError) APIErrorAnswer {
	return APIErrorAnswer{string(e.Class), e.Rule, string(e.About), e.Text, e.Explanation}
}

// An APIErrorAnswer is an error that an agent showed, and how mend understands it.
type APIErrorAnswer struct {
	Class       string `json:"class"` // "" for an error that no repair fixes
	Rule        string `json:"rule"`  // the provider's rule that the error is about, "" for none
	About       string `json:"about,omitempty"`
	Text        string `json:"text"`
	Explanation string `json:"explanation"`
}

// A RestoreJSON describes a restore.
type RestoreJSON struct {
	Session  string    `json:"session"`
	Agent    string    `json:"agent"`
	Title    string    `json:"title"`
	State    string    `json:"state"`            // before the restore
	Restored string    `json:"restored"`         // the restored session; another one if both stay
	Joined   bool      `json:"joined"`           // the present content stays, and the missing content is added
	From     *copyJSON `json:"from"`             // the copy that is used; null if none is needed
	Store    string    `json:"store,omitempty"`  // the store that the session is taken from, if that is another one
	Unread   string    `json:"unread,omitempty"` // content that is not restored
	Messages struct {
		Now  int `json:"now"`
		Then int `json:"then"`
	} `json:"messages"`
}

// A copyJSON is a copy of a session.
type copyJSON struct {
	State    string    `json:"state"`
	Time     time.Time `json:"time"`
	Messages int       `json:"messages"`
}

// NewRestoreJSON converts the plan of a restore.
func NewRestoreJSON(c *mend.Store, head change.Head, done mend.Restored) RestoreJSON {
	j := RestoreJSON{Session: head.ID, Agent: c.ID().Agent, Title: head.Title, State: done.State, Restored: done.Session.ID, Joined: done.Joined}
	j.Store, j.Unread, j.Messages.Now, j.Messages.Then = done.Other, done.Unread, done.Now, done.Messages
	if done.From != nil {
		j.From = &copyJSON{done.From.ID, done.From.Time, done.From.Messages}
	}
	return j
}

// A SalvageParts has the result of a salvage except its sessions.
type SalvageParts struct {
	Tables   []agent.SalvagedTable `json:"tables,omitempty"`
	Notes    []string              `json:"notes,omitempty"`
	Complete bool                  `json:"complete,omitempty"` // no message of a conversation is lost
}

// An OutputJSON is a trimmed output of a tool.
type OutputJSON struct {
	Record string `json:"record"`
	Tool   string `json:"tool"`
	Tokens int    `json:"tokens"`
	Copy   bool   `json:"copy"`
}

// TrimmedJSON converts trimmed outputs.
func TrimmedJSON(outputs []repair.TrimmedOutput) []OutputJSON {
	all := []OutputJSON{}
	for _, o := range outputs {
		all = append(all, OutputJSON{o.Ref.String(), o.Tool, o.Tokens, o.Copy})
	}
	return all
}
