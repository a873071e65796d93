package rollout

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/semver"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// Faults implements [repair.State].
func (c *State) Faults() (all []repair.Finding) {
	add := func(code, detail string, args ...any) {
		all = append(all, repair.Finding{
			Code: code, Ref: c.src.Ref, Text: rules().Rule(code).Meaning + fmt.Sprintf(detail, args...),
			Unknown: code == "record-member" || code == "unknown-type",
		})
	}
	if NameID(c.path) != c.src.Ref.Session {
		add("rollout-name", " It is named %s.", path.Base(c.path))
	}
	switch at, id := metaOf(c.lines); {
	case id == c.src.Ref.Session, c.newer() != "":
	case len(c.items) == 0 && (at < 0 || c.lines[at].kind != "session_meta"):
		add("rollout-empty", "")
	default:
		add("session-meta", "")
	}
	if c.src.Partial && len(c.items) > 0 {
		add("rollout-packed", "")
	}
	if code, id, why := c.forkFault(); code != "" {
		add(code, " It was forked from %s.", id)
		if why != "" {
			all[len(all)-1].Refusal = &repair.RefusalError{Helps: true, Final: true, Why: why}
		}
	}
	c.findRow(add)
	all = append(all, c.findProvider()...)
	if missing, known := c.newOrdinals(); isPaginated(c.lines) && !known {
		add("ordinal-missing", "")
	} else if isPaginated(c.lines) && len(missing) > 0 {
		add("ordinal-order", "")
	}
	last := c.compaction() // Codex reads no record before it
	numbers, unknown := c.lineFaults(last)
	if c.row == nil && slices.ContainsFunc(c.lines[max(last, 0):], func(l line) bool { return !utf8.Valid(l.raw) }) {
		add("rollout-encoding", "")
		delete(numbers, "line-encoding")
	}
	if len(numbers["line-shared"]) > 0 { // a fix moves the rest to lines of their own, which do not count as new findings
		for _, code := range []string{"line-scrap", "line-torn"} {
			all = append(all, repair.Finding{Code: code, CountOnly: true})
		}
	}
	for _, code := range []string{
		"line-encoding", "record-member", "line-shared", "line-torn", "line-scrap",
		"meta-again", "encrypted-marker",
	} {
		if lines := numbers[code]; len(lines) > 0 {
			if c.src.joined {
				add(code, " There are %d of them, also in earlier rollouts of the session.", len(lines))
			} else {
				add(code, " Lines of the file: %s (%d in all).", strings.Join(lines[:min(len(lines), 10)], ", "), len(lines))
			}
			for i := range lines {
				all[len(all)-1].Records = append(all[len(all)-1].Records, c.ref("line-"+lines[i]))
			}
		}
	}
	if len(unknown) > 0 {
		add("unknown-type", " Here they are %.200s.", strings.Join(unknown, ", "))
	}
	if last > 1 && string(c.lines[last].payload.Get("replacement_history").Raw()) == "[]" {
		add("compacted-empty", "")
	}
	return all
}

// forkFault returns the code of the rule that is broken because of a session that this one was forked from, "" for
// none, and the id of that session. If a repair of this session does not help, why names what the user can do.
func (c *State) forkFault() (code, id, why string) {
	base, _, _ := baseOf(c.lines)
	if id = c.src.Base.missing(base); id != "" {
		return "fork-base", id, "Bring that session back: mend undo, if mend removed it, or mend restore " + id +
			", if mend kept it."
	}
	id, moved := c.baseFault()
	switch {
	case id != "":
		id, why = c.refusedBase(id, "")
		return "fork-refused", id, why
	case moved:
		return "fork-offset", c.baseSession(base), ""
	case c.src.Unreadable && c.needsBase() && c.src.Base.encrypted != "":
		id, why = c.refusedBase(c.src.Base.encrypted, " --error TEXT")
		return "fork-refused", id, why
	}
	return "", "", ""
}

// refusedBase returns the session that has the rollout with that id, and what the user can do about its content.
func (c *State) refusedBase(id, flags string) (session, why string) {
	session = c.baseSession(id)
	if session == c.src.Ref.Session {
		return session, "It is in the rollout from before the user went back, which cannot be read in full. Go back further, " +
			"or begin a new session."
	}
	return session, "Repair that session: mend fix " + session + flags + ". Then mend fix repairs its forks."
}

// baseSession returns the session of the rollout with that id, which has a part of this one's beginning.
func (c *State) baseSession(id string) (session string) {
	for b := c.src.Base; b != nil; b = b.Base {
		p, _ := PathOf(b.Ref)
		if named, own := NameIDs(p); own == id {
			session = named
		}
	}
	return session
}

// lineFaults returns the numbers of the lines with a fault, by code, and the unknown types after line last.
func (c *State) lineFaults(last int) (numbers map[string][]string, unknown []string) {
	numbers = map[string][]string{}
	for i := range c.lines {
		l := &c.lines[i]
		if code := l.fault(i > last); code != "" {
			numbers[code] = append(numbers[code], strconv.Itoa(l.n))
		}
		if kind := l.unknownKind(); kind != "" && i > last && !slices.Contains(unknown, kind) {
			unknown = append(unknown, kind)
		}
	}
	for _, it := range c.items {
		if it.isMarked() {
			numbers["encrypted-marker"] = append(numbers["encrypted-marker"], strconv.Itoa(c.lines[it.at].n))
		}
	}
	return numbers, unknown
}

// newer returns "Codex" and the version that began the session, if that is newer than the known versions; otherwise
// "".
func (c *State) newer() string {
	at, _ := metaOf(c.lines)
	if at < 0 || c.lines[at].payload.TextAt("id") != c.src.Ref.Session {
		return ""
	}
	version := c.lines[at].payload.TextAt("cli_version")
	if semver.Compare("v"+version, "v"+Version) <= 0 {
		return ""
	}
	return fmt.Sprintf("Codex %.20s", version)
}

// fault returns the code of the rule that says why Codex does not read the line, "" if it reads it. current means that
// no compaction follows.
func (l *line) fault(current bool) string {
	switch {
	case l.again:
		return "meta-again"
	case l.kind != "" || l.isBlank():
	case current && slices.ContainsFunc(markInvalid(l.raw), isWhole):
		return "line-encoding"
	case l.value.Kind() == '{':
		if current && isMissed(l.value.TextAt("type")) {
			return "record-member"
		}
	case splitRecords(l.raw) != nil:
		return "line-shared"
	case current && isPart(l.raw):
		return "line-torn"
	default:
		return "line-scrap"
	}
	return ""
}

// findRow finds the problems of the index row. Codex rebuilds a missing row.
func (c *State) findRow(add func(code, detail string, args ...any)) {
	if c.row.Int("archived") != 0 || strings.HasPrefix(c.path, Archived+"/") {
		add("thread-archived", "")
	}
	switch stale := c.row.Text("rollout_path"); {
	case c.row == nil, plainPath(strings.TrimPrefix(stale, `\\?\`)) == c.fileAt(c.path), c.src.Linked &&
		c.path == c.src.path:
	case c.src.Located && stale != "" && c.path == c.src.path:
		add("thread-elsewhere", " That file is %s.", stale)
	default:
		add("thread-path", " That path is %s.", stale)
	}
	isSubagent := strings.HasPrefix(c.row.Text("source"), "{")
	if c.row != nil && c.firstPrompt() != "" && !isSubagent && (c.row.Text("preview") == "" ||
		c.row.Text("first_user_message") == "") {
		add("thread-unlisted", "")
	}
}

// provider returns the model provider with which Codex continues the session, "" if unknown: for a paginated
// rollout it is in the index, or else in the rollout's newest settings; for another in the first record.
func (c *State) provider() string {
	at, id := metaOf(c.lines)
	switch name := c.row.Text("model_provider"); {
	case id != "" && !isPaginated(c.lines):
		return c.lines[at].payload.TextAt("model_provider")
	case name != "":
		return name
	}
	return cmp.Or(c.lastText("event_msg", "thread_settings", "model_provider_id"), c.lastText("session_meta",
		"model_provider"))
}

func (c *State) findProvider() []repair.Finding {
	own, now, code := c.provider(), c.src.Providers.Current, "provider-gone"
	if own == "" || now == "" || own == now {
		return nil
	}
	if slices.Contains(c.src.Providers.All, own) {
		code = "provider-other"
	}
	text := fmt.Sprintf("%s Its provider is %s, and the settings name %s.", rules().Rule(code).Meaning, own, now)
	return []repair.Finding{{Code: code, Ref: c.src.Ref, Text: text, Short: "provider " + own}}
}

// setProvider sets the session's provider to the provider of new sessions.
func (d *draft) setProvider() error {
	provider := jsonedit.Quote(d.c.src.Providers.Current)
	if at, id := metaOf(d.lines); id != "" {
		_ = d.set(at, provider, "payload", "model_provider") // it is an object
	}
	newest := lastLine(d.lines, func(l *line) bool {
		return l.payload.TextAt("thread_settings", "model_provider_id") != ""
	})
	if newest >= 0 {
		_ = d.set(newest, provider, "payload", "thread_settings", "model_provider_id") // it exists
	}
	if d.row.Text("model_provider") != "" {
		d.setCol(change.TextCol("model_provider", d.c.src.Providers.Current))
	}
	return nil
}

func (c *State) firstPrompt() string {
	for i := range c.lines {
		if s := c.lines[i].prompt(); s != "" {
			return s
		}
	}
	return ""
}

// newOrdinals returns, by the index of its line, a new ordinal for each record that has none, or one that is not higher
// than the previous. It also returns whether the last record has an ordinal.
func (s *content) newOrdinals() (missing map[int]int64, known bool) {
	missing, known = map[int]int64{}, true
	last := int64(-1)
	for i := range s.lines {
		if s.lines[i].kind == "" {
			continue
		}
		n, ok := s.lines[i].ordinal()
		if known = ok; !ok || n <= last {
			n = last + 1
			missing[i] = n
		}
		last = n
	}
	return missing, known
}

// compaction returns the index of the last compaction, or -1.
func (s *content) compaction() int {
	return lastLine(s.lines, func(l *line) bool { return l.kind == "compacted" })
}

// isMissed reports whether the model lacks content if Codex skips a record of the given type.
func isMissed(kind string) bool { return kind == "response_item" || kind == "compacted" }

func isWhole(raw []byte) bool { return isMissed(newLine(0, raw).kind) }

// isPart reports whether a line is part of a record without which the model lacks content. A line without the type of a
// record counts as such a part only if it has the beginning of a record that ends before the type.
func isPart(raw []byte) bool {
	_, rest, begun := bytes.Cut(raw, begin)
	return bytes.Contains(raw, []byte(`"response_item"`)) || begun && !bytes.Contains(rest, []byte(`"type":"`))
}

var begin = []byte(`{"timestamp":`)

// splitRecords splits a line at each beginning of a record. It returns nil unless one of the parts is a complete record
// that the model lacks.
func splitRecords(raw []byte) [][]byte {
	all := jsonedit.Split(raw, begin)
	if len(all) < 2 || !slices.ContainsFunc(all, isWhole) {
		return nil
	}
	return all
}

// isMarked reports whether the encrypted content of an item is not encrypted, but, for example, another program's
// marker: it has characters that base64 lacks, or is shorter than a cipher's initialization vector and checksum.
func (it *item) isMarked() bool {
	s := it.value.TextAt("encrypted_content")
	return s != "" && (len(s) < 20 || strings.ContainsAny(s, " <>*…"))
}

// setMeta makes the first line the session_meta record. It uses an existing one, or else makes a new one from the
// readable part of the first line, the row and other records.
func (d *draft) setMeta() error {
	at, _ := metaOf(d.c.lines)
	d.renumber = true
	isMeta := func(l line) bool { return l.kind == "session_meta" && l.payload.TextAt("id") == d.c.src.Ref.Session }
	if i := slices.IndexFunc(d.lines, isMeta); i > 0 && d.lines[at].kind != "session_meta" {
		l := d.lines[i]
		d.lines = slices.Insert(slices.Delete(d.lines, i, i+1), 0, l)
		return nil
	}
	if at < 0 || !d.lines[at].isMetaPart() {
		d.lines = slices.Insert(d.lines, 0, line{})
		at = 0
	}
	read := jsonedit.ParsePartial(d.lines[at].raw)
	old := jsonedit.Parse(read.Data)
	raw := d.c.newMeta(cmp.Or(old.TextAt("timestamp"), d.c.startTime()))
	for name, v := range old.Get("payload").Children() {
		isWrong := func(m member) bool { return m.name == string(name) && !m.accepts(v) }
		if string(name) != "id" && !slices.ContainsFunc(schemas()[[2]string{"session_meta"}], isWrong) &&
			read.Intact("payload", string(name)) {
			raw, _ = jsonedit.Set(raw, v.Raw(), "payload", string(name)) // it is an object
		}
	}
	d.lines[at] = newLine(0, raw)
	if id, _, _ := baseOf(d.lines); id == "" && d.startsLater() {
		return repair.ErrNoEdit // the lost record named the beginning, which is in another rollout
	}
	return nil
}

// startsLater reports whether the rollout lacks the beginning of the conversation, as the rollout of a fork does.
func (s *content) startsLater() bool {
	session, own := NameIDs(s.path)
	for i := range s.lines {
		if n, ok := s.lines[i].ordinal(); ok && i > 0 {
			return own != session || n > int64(i)
		}
	}
	return own != session
}

// isMetaPart reports whether the line is a record that begins a session, or a part of one.
func (l *line) isMetaPart() bool {
	return l.kind == "session_meta" || l.kind == "" && (bytes.Contains(l.raw, []byte(`"session_meta"`)) ||
		len(bytes.Trim(l.raw, "\x00 \r\t")) == 0)
}

// newMeta returns a record of the session with the required fields.
func (c *State) newMeta(stamp string) []byte {
	mode := "legacy"
	raw := fmt.Appendf(nil, `{"timestamp":%s,"type":"session_meta","payload":{}}`, jsonedit.Quote(stamp))
	if isPaginated(c.lines) {
		mode = "paginated"
		raw, _ = jsonedit.Set(raw, []byte("0"), "ordinal") // it is an object
	}
	for _, m := range [][2]string{
		{"id", c.src.Ref.Session},
		{"session_id", c.src.Ref.Session},
		{"timestamp", stamp},
		{"cwd", cmp.Or(c.row.Text("cwd"), c.lastText("turn_context", "cwd"), c.lastText("event_msg", "thread_settings",
			"cwd"), "/")},
		{"source", cmp.Or(c.row.Text("source"), "cli")},
		{"originator", cmp.Or(c.row.Text("originator"), "codex_cli_rs")},
		{"cli_version", cmp.Or(c.row.Text("cli_version"), Version)},
		{"model_provider", cmp.Or(c.row.Text("model_provider"), c.lastText("event_msg", "thread_settings",
			"model_provider_id"), c.src.Providers.Current, "openai")},
		{"history_mode", mode},
	} {
		value := []byte(m[1])
		if !jsonedit.IsObject(value) { // for example the source of a subagent
			value = jsonedit.Quote(m[1])
		}
		raw, _ = jsonedit.Set(raw, value, "payload", m[0])
	}
	return raw
}

// lastText returns the text at a path in the payload of the last record of a type.
func (c *State) lastText(kind string, path ...string) string {
	for _, l := range slices.Backward(c.lines) {
		if l.kind == kind && l.payload.TextAt(path...) != "" {
			return l.payload.TextAt(path...)
		}
	}
	return ""
}

// startTime returns the time at which the session began, according to the row or else to the first record.
func (c *State) startTime() string {
	ms := c.row.Int("created_at_ms")
	if i := slices.IndexFunc(c.lines, func(l line) bool { return l.kind != "" }); i >= 0 && ms == 0 {
		return c.lines[i].value.TextAt("timestamp")
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// setName gives the file the name that Codex searches for.
func (d *draft) setName() error {
	t, err := time.Parse(time.RFC3339, d.c.startTime())
	if err != nil {
		return repair.ErrNoEdit
	}
	d.path = t.UTC().Format("sessions/2006/01/02/rollout-2006-01-02T15-04-05-") + d.c.src.Ref.Session + Suffix
	return d.setPath()
}

// unarchive moves the rollout back, as codex unarchive does.
func (d *draft) unarchive() error {
	if m := nameForm.FindStringSubmatch(path.Base(plainPath(d.path))); m != nil {
		d.path = path.Join(Sessions, m[1], m[2], m[3], path.Base(d.path))
	}
	d.setCol(change.IntCol("archived", 0))
	d.setCol(change.Col{Name: "archived_at", Class: change.ClassNull})
	return d.setPath()
}

func (s *content) setCol(c change.Col) {
	if s.row != nil {
		row := s.row.WithCol(c)
		s.row = &row
	}
}

func (d *draft) setPath() error {
	d.setCol(change.TextCol("rollout_path", d.c.fileAt(d.path)))
	return nil
}

func (d *draft) setFirst() error {
	for _, name := range []string{"first_user_message", "preview", "title"} {
		if d.row.Text(name) == "" {
			d.setCol(change.TextCol(name, d.c.firstPrompt()))
		}
	}
	return nil
}

// setOrdinals gives each record without a valid ordinal the next higher one.
func (d *draft) setOrdinals() error {
	missing, _ := d.newOrdinals()
	for i, n := range missing {
		_ = d.set(i, fmt.Append(nil, n), "ordinal") // it is an object
	}
	return nil
}

// setForkOffset makes the fork name the byte where its beginning ends.
func (d *draft) setForkOffset() error {
	at, _ := metaOf(d.lines)
	return d.set(at, fmt.Append(nil, d.c.src.Base.end), "payload", "history_base", "end_byte_offset")
}

// reread returns an edit that replaces each line that Codex does not read by the lines that read returns for it. If read
// returns nil, the line stays.
func reread(read func(raw []byte) [][]byte) func(d *draft) error {
	return func(d *draft) error {
		var all []line
		for _, l := range d.lines {
			var records [][]byte
			if l.value.Kind() == 0 {
				records = read(l.raw)
			}
			if records == nil {
				all = append(all, l)
			}
			for _, raw := range records {
				all = append(all, newLine(0, raw))
			}
		}
		d.lines, d.renumber = all, true
		return nil
	}
}
