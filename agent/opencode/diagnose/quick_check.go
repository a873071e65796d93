package diagnose

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/internal/media"
	"mend/jsonedit"
	"mend/request"
	"mend/session"
)

// A QuickCheck decides from the bytes of a session's records whether no rule can find
// anything in any setting: all records are of the usual form (see
// [schema.Type.Pattern]) and in the usual order. Most sessions are, and the check is
// many times faster than building the session and simulating its requests
// (BenchmarkDiagnoseHealthy). A session that fails the check need not be broken.
//
// Every version makes the same request of a session that passes: its messages have one
// order by ids and by times; an answer follows a prompt, or calls with their results;
// each step has thinking, then text, then calls, and has content. Failed answers are in
// no request.
//
// The zero QuickCheck is ready to use. Messages may be passed concurrently.
type QuickCheck struct {
	// Now is when the next prompt is typed; see [Options].
	Now time.Time
	// Target returns where the requests of a model go; see [Environment].
	Target func(m request.Model) render.Target

	mu     sync.Mutex
	seen   []messageSummary
	stamps map[string][32]byte // of messages seen
	asked  modelID             // the model of the next prompt, of a healthy session
}

// CheckedMessages are what a QuickCheck found of the messages of a healthy session, by their
// ids. A message that still has its stamp needs not be read for the next check.
type CheckedMessages map[string]checkedMessage

type checkedMessage struct {
	stamp [32]byte
	messageSummary
}

// Memory returns the memory of a check that begins now, of a session in which an earlier check
// found these messages.
func (q *QuickCheck) Memory(earlier CheckedMessages, now time.Time) record.Memory {
	q.stamps = map[string][32]byte{}
	m := record.Memory{Learn: func(message string, stamp session.Stamp) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if stamp.Distinct(now) {
			q.stamps[message] = stamp.Sum
		}
	}}
	if len(earlier) == 0 {
		return m
	}
	m.Known = func(message string, stamp [32]byte) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		was, ok := earlier[message]
		if ok = ok && was.stamp == stamp; ok {
			q.seen = append(q.seen, was.messageSummary)
			q.stamps[message] = stamp
		}
		return ok
	}
	return m
}

// Checked returns the messages of a healthy session whose stamps were learned.
func (q *QuickCheck) Checked() CheckedMessages {
	checked := CheckedMessages{}
	for i := range q.seen {
		if stamp, ok := q.stamps[q.seen[i].id]; ok {
			checked[q.seen[i].id] = checkedMessage{stamp, q.seen[i]}
		}
	}
	return checked
}

// A messageSummary is what a QuickCheck keeps of a message.
type messageSummary struct {
	id       string
	prompt   bool
	failed   bool // an answer that has an error
	aborted  bool // failed because the user aborted it
	more     bool // it has parts besides step-starts and thinking
	left     bool // it is in no request
	created  int64
	latest   int64 // the latest time in it
	model    modelID
	parent   string // of an answer, the id of the prompt
	calls    []string
	finished bool
	thinks   bool
	bare     bool   // reasoning without metadata
	subtask  bool   // a prompt with a subtask
	stage    stage  // of its last step
	last     string // the id of its last part
}

type modelID struct{ provider, model string }

// Message checks a message with its parts, which are in the order of their ids. It does
// not use the bytes of a record after the next one is requested. It returns false if
// the session cannot pass.
func (q *QuickCheck) Message(m *session.Record, parts iter.Seq[*session.Record]) bool {
	var sum messageSummary
	if !sum.message(m) || !sum.parts(parts) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = append(q.seen, sum)
	return true
}

// Healthy reports whether the session passes, whose messages were passed to Message. It
// does not use the messages of s.
func (q *QuickCheck) Healthy(s *record.Session) bool {
	slices.SortFunc(q.seen, func(a, b messageSummary) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
	ids, calls := make(map[string]bool, len(q.seen)), map[string]bool{}
	times := record.Session{Head: session.Head{Created: s.Created, Updated: s.Updated}}
	var former, prompt, sent *messageSummary // the message before, the newest prompt, the last one that is sent
	pending := false                         // a subtask may not have been run
	for i := range q.seen {
		m := &q.seen[i]
		if former != nil && m.id <= former.id || !m.prompt && !ids[m.parent] || !m.follows(sent) {
			return false
		}
		for _, id := range m.calls {
			if calls[id] {
				return false
			}
			calls[id] = true
		}
		ids[m.id] = true
		times.Updated = max(times.Updated, m.latest)
		former = m
		if m.prompt {
			prompt = m
			pending = pending || m.subtask
		} else if !m.failed {
			pending = false
		}
		if !m.left {
			sent = m
		}
	}
	if prompt == nil || pending || len(s.Stray)+len(s.Files) > 0 || !usualInfo(s, prompt.model) || !q.isKnown(prompt.model) {
		return false
	}
	q.asked = prompt.model
	at, id := render.NextPrompt(&times, q.Now)
	return q.ended() && former.created < at && former.id < id // else the next prompt would not be the newest message
}

// isKnown reports whether the normal form is all that the provider of the model requires.
// Bedrock also requires something of outputs, OpenAI of metadata if it stores items, and a model
// with a field for reasoning, in old versions of the agent, reasoning with each call.
// Reasoning has a signature for those who check it.
func (q *QuickCheck) isKnown(asked modelID) bool {
	m := request.Model{ProviderID: asked.provider, ModelID: asked.model}
	target := render.WellKnown
	if q.Target != nil {
		target = q.Target
	}
	switch t := target(m); t.API(m) {
	case render.Anthropic:
		return !slices.ContainsFunc(q.seen, func(m messageSummary) bool { return m.bare })
	case render.Chat:
		return t.Field == ""
	case render.OpenRouter, render.Copilot, render.Gemini:
		return true
	case render.OpenAI:
		return !t.Store
	default:
		return false
	}
}

// Decides reports whether a healthy session is healthy for the model of [repair.Options]: what
// another model wrote is sent in another form.
func (q *QuickCheck) Decides(m request.Model) bool {
	return m == (request.Model{}) || m == request.Model{ProviderID: q.asked.provider, ModelID: q.asked.model}
}

// Asked returns the model of the next prompt in a healthy session, and where that goes.
func (q *QuickCheck) Asked() (request.Model, render.Target) {
	m := request.Model{ProviderID: q.asked.provider, ModelID: q.asked.model}
	if q.Target == nil {
		return m, render.WellKnown(m)
	}
	return m, q.Target(m)
}

// follows reports whether a request may have the message after the one before it, nil
// for none.
func (m *messageSummary) follows(before *messageSummary) bool {
	return m.left || m.prompt || before != nil && (before.prompt || before.stage == stepCalled)
}

// StableUntil returns until when a healthy session stays healthy, see [render.StableUntil].
func (q *QuickCheck) StableUntil() time.Time {
	s := record.Session{Messages: make([]record.Message, 0, 1)}
	if n := len(q.seen); n > 0 {
		newest := &q.seen[n-1]
		s.Messages = append(s.Messages, record.Message{ID: newest.id, Created: newest.created})
	}
	return render.StableUntil(&s, q.Now)
}

// newest returns the newest answer, nil if there is none.
func (q *QuickCheck) newest() *messageSummary {
	for i := range slices.Backward(q.seen) {
		if m := &q.seen[i]; !m.prompt {
			return m
		}
	}
	return nil
}

// ended reports whether the newest answer is finished and its tool loop is closed.
func (q *QuickCheck) ended() bool {
	m := q.newest()
	return m == nil || m.left || m.finished && m.stage != stepCalled
}

// Thinks returns the result of the function [Thinks] for a healthy session.
func (q *QuickCheck) Thinks() bool {
	newest := q.newest()
	return newest != nil && slices.ContainsFunc(q.seen, func(m messageSummary) bool {
		return !m.prompt && m.thinks && m.model == newest.model
	})
}

// newQuickCheck returns the quick check of a session, nil if it does not pass.
func newQuickCheck(s *record.Session, now time.Time, target func(request.Model) render.Target) *QuickCheck {
	q := &QuickCheck{Now: now, Target: target}
	for i := range s.Messages {
		m := &s.Messages[i]
		parts := func(yield func(*session.Record) bool) {
			for j := range m.Parts {
				if !yield(&m.Parts[j].Record) {
					return
				}
			}
		}
		if !q.Message(&m.Record, parts) {
			return nil
		}
	}
	if !q.Healthy(s) {
		return nil
	}
	return q
}

// usualInfo reports whether nothing in the session's own record changes the request,
// which is sent to the model asked.
func usualInfo(s *record.Session, asked modelID) bool {
	_, reverted := s.Field("revert")
	if s.InfoMissing || s.Info.Defect != nil || s.Newer != "" || len(s.Others) > 0 || s.ProjectMissing || s.Events.Clash > 0 || s.IndexFault != "" || isArchived(s) || reverted || len(schema.SessionFaults(s, true)) > 0 || len(schema.ProjectFaults(s, true)) > 0 {
		return false
	}
	model, ok := s.Field("model")
	if !ok {
		return true
	}
	var v values
	return v.read(modelForm(), model.Raw()) && asked == modelID{string(v.text(schema.CaptureProvider)), string(v.text(schema.CaptureModel))}
}

// values are those of a record that a pattern captured.
type values struct {
	had   uint64
	texts [schema.Captures][]byte
}

// read reports whether data matches the pattern, and captures its values.
func (v *values) read(p *jsonedit.Pattern, data []byte) (ok bool) {
	v.had, ok = p.Match(data, v.texts[:])
	return ok
}

func (v *values) has(place int) bool { return v.had>>place&1 == 1 }

// text returns the text of a captured string without quotes and with its escapes, nil
// for none.
func (v *values) text(place int) []byte {
	if !v.has(place) {
		return nil
	}
	return v.texts[place][1 : len(v.texts[place])-1]
}

// count returns a captured number of few digits, 0 for none.
func (v *values) count(place int) (n int64) {
	if v.has(place) {
		for _, c := range v.texts[place] {
			n = 10*n + int64(c-'0')
		}
	}
	return n
}

func (v *values) isTrue(place int) bool { return v.has(place) && v.texts[place][0] == 't' }

var (
	messageForm = sync.OnceValue(schema.Message.Pattern)
	partForm    = sync.OnceValue(schema.Part.Pattern)
	modelForm   = sync.OnceValue(schema.SessionModel.Pattern)
)

// message reports whether the record is a message that a healthy session may have.
func (m *messageSummary) message(r *session.Record) bool {
	var v values
	m.id = r.Ref.Message
	if !strings.HasPrefix(m.id, "msg") || !usualRecord(r) || !v.read(messageForm(), r.Data) || !usualID(r, &v, m.id) {
		return false
	}
	m.created = v.count(schema.CaptureCreated)
	if c, isRow := r.Col("time_created"); isRow { // by which the agent sorts rows
		if sorted, ok := c.Int(); !ok || sorted != m.created {
			return false // newer versions use both
		}
	}
	m.latest = max(m.created, v.count(schema.CaptureCompleted))
	m.model = modelID{string(v.text(schema.CaptureProvider)), string(v.text(schema.CaptureModel))}
	m.prompt = string(v.text(schema.CaptureRole)) == session.RoleUser
	if m.prompt {
		return true
	}
	m.parent = string(v.text(schema.CaptureParent))
	m.failed = v.has(schema.CaptureError)
	m.aborted = string(v.text(schema.CaptureErrorName)) == abortedError
	finish := v.text(schema.CaptureFinish)
	m.finished = string(finish) != "tool-calls" && bytes.IndexByte(finish, '\\') < 0
	return v.has(schema.CaptureCompleted) && (m.failed || len(finish) > 0) && (!m.failed || !v.isTrue(schema.CaptureSummary))
}

func usualRecord(r *session.Record) bool {
	return r.Defect == nil && r.Class == 0 && len(r.Data) <= largestUsual
}

// The limits of the strictest provider: of the length of the id of a call, and of a text in
// characters, of which a record has no more than it has bytes.
const (
	shortestIDLimit = 64
	largestUsual    = 10485760
)

// usualID reports whether the id in a file is that of its name.
func usualID(r *session.Record, v *values, id string) bool {
	return r.IsRow() || v.has(schema.CaptureID) && string(v.text(schema.CaptureID)) == id
}

// parts reports whether a prompt, or each step of an answer, has content.
func (m *messageSummary) parts(parts iter.Seq[*session.Record]) bool {
	for r := range parts {
		if !m.part(r) {
			return false
		}
	}
	m.left = m.failed && (!m.aborted || !m.more) // see [sent]
	return m.left || m.stage == stepSaid || m.stage == stepCalled
}

func (m *messageSummary) part(r *session.Record) bool {
	var v values
	id := r.Ref.Part
	if id <= m.last || !strings.HasPrefix(id, "prt") || !usualRecord(r) || !v.read(partForm(), r.Data) || !usualID(r, &v, id) {
		return false
	}
	m.last = id
	m.latest = max(m.latest, v.count(schema.CaptureStart), v.count(schema.CaptureEnd))
	kind := string(v.text(schema.CaptureType))
	if m.prompt {
		return m.promptPart(kind, &v)
	}
	return m.answerPart(kind, &v)
}

// promptPart reports whether a healthy prompt may have the part.
func (m *messageSummary) promptPart(kind string, v *values) bool {
	switch kind {
	case record.TypeText, "subtask", "compaction":
		m.stage = stepSaid
		m.subtask = m.subtask || kind == "subtask"
	case record.TypeFile:
		mime := string(v.text(schema.CaptureMIME))
		if mime == "text/plain" || mime == "application/x-directory" {
			return true // not sent
		}
		m.stage = stepSaid
		return isUsualImage(mime, v.text(schema.CaptureURL))
	case "agent":
	default:
		return false
	}
	return true
}

// answerPart reports whether a healthy answer may have the part: each step has
// thinking, then text, then calls that have ended.
func (m *messageSummary) answerPart(kind string, v *values) bool {
	m.more = m.more || kind != record.TypeStepStart && kind != record.TypeReasoning
	switch kind {
	case record.TypeText, record.TypeStepStart, record.TypeStepFinish, "patch":
	case record.TypeReasoning:
		m.bare = m.bare || !v.has(schema.CaptureMetadata)
		m.thinks = true
	case record.TypeTool:
		status := string(v.text(schema.CaptureStatus))
		if status != record.StatusCompleted && status != record.StatusError || !isName(v.text(schema.CaptureCallID)) || len(v.text(schema.CaptureCallID)) > shortestIDLimit || !isToolName(v.text(schema.CaptureTool)) || v.has(schema.CaptureFiles) {
			return false
		}
		m.calls = append(m.calls, string(v.text(schema.CaptureCallID)))
	case "retry":
		return m.failed
	default:
		return false
	}
	return m.stage.next(kind)
}

// Limits of an image that every provider accepts: bytes of its data: URL, and pixels a
// side.
const (
	maxUsualImage = 1 << 20
	maxUsualSide  = 2000
)

// isUsualImage reports whether the URL is of an image of that type that every provider
// accepts.
func isUsualImage(mime string, url []byte) bool {
	data, ok := bytes.CutPrefix(url, []byte("data:"+mime+";base64,"))
	if !ok || len(data)%4 != 0 || len(url) > maxUsualImage || bytes.ContainsAny(data, "-_%") || !render.IsBase64(data) {
		return false
	}
	info := media.Inspect(data)
	return info.Image() && info.Type == mime && max(info.Width, info.Height) <= maxUsualSide
}

// A stage is the progress of a step of an answer.
type stage uint8

const (
	stepBegun stage = iota
	stepThought
	stepSaid
	stepCalled
)

// next advances to the next part of an answer, and reports whether it may follow.
func (at *stage) next(kind string) bool {
	to := *at
	switch kind {
	case record.TypeStepStart:
		if to == stepThought || to == stepSaid {
			return false
		}
		*at, to = stepBegun, stepBegun
	case record.TypeReasoning:
		to = stepThought
	case record.TypeText:
		to = stepSaid
	case record.TypeTool:
		to = stepCalled
	}
	ok := to >= *at
	*at = to
	return ok
}

// isName reports whether the name is made of letters, digits, _ and -.
func isName(s []byte) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0
}
