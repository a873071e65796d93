package journal

import (
	"encoding/binary"
	"encoding/json"

	"mend/change"
)

// The encoding of a list of ops. Frozen.
//
//	byte     1, the version
//	uvarint  number of ops, at most maxOpsPerList, and for each:
//	           ref: byte kind, then project, session, message and part, each as uvarint length and bytes
//	           pre and post image, each as byte 0 for nil, or
//	             byte 1, SHA-256, uvarint size, uvarint mode
const (
	opsVersion    = 1
	maxOpsPerList = 1000
)

func encodeOps(ops []change.OpInfo) []byte {
	b := binary.AppendUvarint([]byte{opsVersion}, uint64(len(ops)))
	for _, o := range ops {
		b = change.AppendRef(b, o.Ref)
		b = appendDigest(appendDigest(b, o.Pre), o.Post)
	}
	return b
}

func appendDigest(b []byte, d *change.Digest) []byte {
	if d == nil {
		return append(b, 0)
	}
	b = append(append(b, 1), d.SHA256[:]...)
	b = binary.AppendUvarint(b, uint64(d.Size))
	return binary.AppendUvarint(b, uint64(d.Mode))
}

func decodeOps(b []byte) ([]change.OpInfo, error) {
	d := decoder{change.Decoder{Rest: b}}
	version, n := d.Byte(), d.Uvarint()
	if version != opsVersion || n > maxOpsPerList {
		return nil, damageError("a list of ops has version %d, %d ops", version, n)
	}
	ops := make([]change.OpInfo, 0, n)
	for range n {
		ops = append(ops, change.OpInfo{Ref: d.Ref(), Pre: d.digest(), Post: d.digest()})
	}
	if d.Failed || len(d.Rest) > 0 {
		return nil, damageError("a list of ops is cut short or too long")
	}
	return ops, nil
}

// A decoder also reads digests.
type decoder struct{ change.Decoder }

func (d *decoder) digest() *change.Digest {
	switch d.Byte() {
	case 0:
		return nil
	case 1:
	default:
		d.Failed = true
	}
	var g change.Digest
	copy(g.SHA256[:], d.Bytes(uint64(len(g.SHA256))))
	size, mode := d.Uvarint(), d.Uvarint()
	g.Size, g.Mode = int64(size), uint32(mode)
	d.Failed = d.Failed || g.Size < 0 || uint64(g.Mode) != mode
	return &g
}

// A causeText holds the free text of a begin event. It is stored apart from the event, so that it can
// be forgotten. Strings are stored as bytes. Frozen.
type causeText struct {
	Text      []byte   `json:"text,omitempty"`
	Diagnoses [][]byte `json:"diagnoses,omitempty"`

	// Added later: older versions of mend ignore them, and their entries lack them.
	Live     bool          `json:"live,omitempty"`
	Title    []byte        `json:"title,omitempty"`
	Folder   []byte        `json:"folder,omitempty"`
	Findings []findingText `json:"findings,omitempty"`
	Error    *failureText  `json:"error,omitempty"`

	Bound *change.BoundThinking `json:"boundThinking,omitempty"` // added later
}

// A failureText is a [change.Failure]. Frozen.
type failureText struct {
	Provider  []byte `json:"provider,omitempty"`
	Model     []byte `json:"model,omitempty"`
	Status    int    `json:"status,omitempty"`
	RequestID []byte `json:"requestId,omitempty"`
	Whole     []byte `json:"whole,omitempty"`
}

// A findingText is a [change.Finding]. Frozen.
type findingText struct {
	Rule  []byte `json:"rule"`
	Class []byte `json:"class"`
	Why   []byte `json:"why"`
	Fix   []byte `json:"fix"`
	Loses []byte `json:"loses,omitempty"`
	Count int    `json:"count"`

	Session []byte `json:"session,omitempty"` // added later
}

// An outcomeText holds the free text of a finish event. Frozen.
type outcomeText struct {
	Conflicts []conflictText `json:"conflicts,omitempty"`
	Kept      [][]byte       `json:"kept,omitempty"`
}

type conflictText struct {
	Ref []byte `json:"ref"` // as in a list of ops
	Why []byte `json:"why"`
}

func encodeCause(c change.Cause) []byte {
	t := causeText{Text: []byte(c.Text), Diagnoses: convert[[]byte](c.Diagnoses), Live: c.Live, Title: []byte(c.Title), Folder: []byte(c.Folder), Bound: c.Bound}
	for _, f := range c.Findings {
		t.Findings = append(t.Findings, findingText{
			Rule: []byte(f.Rule), Class: []byte(f.Class), Why: []byte(f.Why), Fix: []byte(f.Fix), Loses: []byte(f.Loses), Count: f.Count, Session: []byte(f.Session),
		})
	}
	if f := c.Error; f != nil {
		t.Error = &failureText{[]byte(f.Provider), []byte(f.Model), f.Status, []byte(f.RequestID), []byte(f.Whole)}
	}
	return encodeText(t)
}

// encodeText encodes a causeText or outcomeText; nil if it is empty.
func encodeText(t any) []byte {
	b, _ := json.Marshal(t) // bytes and numbers always marshal
	if string(b) == "{}" {
		return nil
	}
	return b
}

// addTo copies the texts into a cause.
func (t causeText) addTo(c *change.Cause) {
	c.Text, c.Diagnoses, c.Live, c.Title, c.Folder = string(t.Text), convert[string](t.Diagnoses), t.Live, string(t.Title), string(t.Folder)
	for _, f := range t.Findings {
		c.Findings = append(c.Findings, change.Finding{
			Rule: string(f.Rule), Class: string(f.Class), Why: string(f.Why), Fix: string(f.Fix), Loses: string(f.Loses), Count: f.Count, Session: string(f.Session),
		})
	}
	c.Bound = t.Bound
	if f := t.Error; f != nil {
		c.Error = &change.Failure{Provider: string(f.Provider), Model: string(f.Model), Status: f.Status, RequestID: string(f.RequestID), Whole: string(f.Whole)}
	}
}

func encodeOutcome(o change.Outcome) []byte {
	t := outcomeText{Kept: convert[[]byte](o.Kept)}
	for _, c := range o.Conflicts {
		t.Conflicts = append(t.Conflicts, conflictText{Ref: change.AppendRef(nil, c.Ref), Why: []byte(c.Why)})
	}
	return encodeText(t)
}

// conflicts returns the conflicts in the form of a [change.Entry].
func (t outcomeText) conflicts() ([]change.ConflictInfo, error) {
	var all []change.ConflictInfo
	for _, c := range t.Conflicts {
		d := change.Decoder{Rest: c.Ref}
		all = append(all, change.ConflictInfo{Ref: d.Ref(), Why: string(c.Why)})
		if d.Failed || len(d.Rest) > 0 {
			return nil, damageError("a conflict names no record")
		}
	}
	return all, nil
}

// convert converts each element of a list; an empty list becomes nil.
func convert[To, From string | []byte](list []From) (all []To) {
	for _, x := range list {
		all = append(all, To(x))
	}
	return all
}
