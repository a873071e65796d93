package fsstore

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"mend/internal/ownfile"
	"mend/internal/safedir"
	"mend/session"
)

// What lies beside the records. OpenCode with a tree lists a folder of messages or of
// parts with the pattern **/*, which leads to every plain file below it: into all
// folders but hidden ones, and past hidden files, links, pipes, sockets and devices. It
// cuts five characters off the path, which are the suffix of a record, and opens what
// is called so with the suffix, of messages by the first name of the path alone. What
// it opens and is not there ends it.

// maxBelow is how many folders deep files are looked for below a folder of records.
const maxBelow = 32

// besides is a folder of records, with the ids that lead to it.
type besides struct {
	*safedir.Dir
	of session.Ref
}

// folderOf is the ref of a record without its own id: what names the folder that it is in.
func folderOf(r session.Ref) session.Ref {
	if r.Kind == session.KindMessage {
		r.Message = ""
	}
	r.Kind, r.Part = 0, ""
	return r
}

// recordsBeside is the kind of the records that the file lies beside.
func recordsBeside(file session.Ref) session.Kind {
	if file.Message == "" {
		return session.KindMessage
	}
	return session.KindPart
}

// file is a ref for a file, by its path below the folder.
func (b besides) file(rel string) session.Ref {
	r := b.of
	r.Kind, r.Part = session.KindFile, rel
	return r
}

// record is a ref for the record of that id.
func (b besides) record(id string) session.Ref {
	r := b.of
	r.Kind = recordsBeside(r)
	if r.Kind == session.KindMessage {
		r.Message = id
	} else {
		r.Part = id
	}
	return r
}

// filePath is path for the ref of a file.
func (l *layout) filePath(r session.Ref) (string, session.Ref, error) {
	name := r.Part
	r.Part = ""
	p, r, err := l.folderPath(r)
	if r.Part = name; name != "" {
		p += "/" + name
	}
	if err == nil && isRecordName(r, name) {
		err = fmt.Errorf("file %s: layout %s keeps a record there", r, l.name)
	}
	return p, r, err
}

// recordsAndMore is records for the folder that of names, and notes what else the
// agent opens there.
func (v *view) recordsAndMore(d *safedir.Dir, of session.Ref, yield func(name, id string)) {
	if !v.layout.takesAll {
		v.records(d, of.Message, yield)
		return
	}
	names := v.names(d, of.Message)
	for _, name := range names {
		if !v.failed() && name[0] != '.' && !isRecordName(of, name) {
			v.other(besides{d, of}, d, name)
		}
	}
	for _, name := range names {
		if isRecordName(of, name) && !v.failed() {
			yield(name, strings.TrimSuffix(name, suffix))
		}
	}
}

// isRecordName reports whether a record has that name in the folder that of names. The
// agent ends at a message whose id does not begin as it should, so it wrote none.
func isRecordName(of session.Ref, name string) bool {
	id, ok := strings.CutSuffix(name, suffix)
	return ok && session.ValidateID(id) == nil && (of.Message != "" || strings.HasPrefix(id, session.MessagePrefix))
}

// seesNoRecord reports whether the agent passes over what has the name of a record,
// since it is no plain file. That of a session or a project it opens without listing it.
func (v *view) seesNoRecord(r session.Ref, t *safedir.Entry) bool {
	return v.layout.takesAll && t.Exists && !t.IsFile() && (r.Kind == session.KindMessage || r.Kind == session.KindPart)
}

// other notes what the last name of rel, the path below the folder b, is in the
// folder at.
func (v *view) other(b besides, at *safedir.Dir, rel string) {
	t, err := v.look(at, path.Base(rel))
	v.otherThing(b, at, rel, &t, err)
}

func (v *view) otherThing(b besides, at *safedir.Dir, rel string, t *safedir.Entry, err error) {
	why, hidden := safedir.ReadFailure(err)
	switch {
	case hidden:
		v.file(b, rel, t, why)
	case err != nil:
		v.err = err
	case t.IsDir():
		v.below(b, at, rel)
	case t.IsFile():
		v.file(b, rel, t, t.ReplaceProblem())
	case t.Exists:
		v.note(b.Path+"/"+rel, b.of.Message, "it is "+ownfile.KindName(t.Mode)+", which the agent passes over")
		v.stray[len(v.stray)-1].Unseen = true
	}
}

// below notes what is in a folder in which no record has its place.
func (v *view) below(b besides, at *safedir.Dir, rel string) {
	if strings.Count(rel, "/") == maxBelow {
		v.note(b.Path+"/"+rel, b.of.Message, fmt.Sprintf("it is more than %d folders deep, and was not looked into", maxBelow))
		return
	}
	in := new(safedir.Buffer) // the names in at are still needed
	d, err := at.Sub(path.Base(rel))
	var names []string
	if err == nil {
		defer d.Close()
		names, err = d.Names(in)
	}
	if why, ok := safedir.ReadFailure(err); ok {
		v.note(b.Path+"/"+rel, b.of.Message, "the folder cannot be read: "+why)
		return
	}
	if err != nil {
		v.err = err
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if name[0] != '.' && !v.failed() {
			v.other(b, d, rel+"/"+name)
		}
	}
}

// file notes a file. fixed says why it cannot be moved away.
func (v *view) file(b besides, rel string, t *safedir.Entry, fixed string) {
	f := newFile(b.file(rel), b.Path+"/"+rel, t, fixed)
	opens := v.opens(b.of, rel)
	f.Opens = b.Path + opens
	if f.Reads = v.reads(b, strings.TrimPrefix(opens, "/")); v.err == nil {
		v.files = append(v.files, f)
	}
}

func newFile(ref session.Ref, at string, t *safedir.Entry, fixed string) session.File {
	f := session.File{Record: session.Record{Ref: ref, Data: t.Data, Mode: t.Mode.Perm(), Locked: fixed}, Path: at}
	if t.ReadProblem() != "" {
		f.Defect = &session.Defect{Kind: session.Unreadable, Why: fixed}
	}
	return f
}

// opens is what the agent opens for a file, seen from the folder; if that is the folder
// itself with the suffix there is no slash in front.
func (v *view) opens(of session.Ref, rel string) string {
	name := utf16.Encode([]rune(rel)) // the agent counts in these, and has others for what is no UTF-8
	cut := string(utf16.Decode(name[:max(0, len(name)-len(suffix))]))
	if of.Message == "" {
		cut, _, _ = strings.Cut(cut, "/")
	}
	if cut = strings.TrimSuffix(cut, "/"); cut != "" {
		cut = "/" + cut
	}
	return cut + suffix
}

// reads is what a path below the folder leads to, the zero Ref for nothing.
func (v *view) reads(b besides, rel string) session.Ref {
	if rel == suffix {
		return session.Ref{} // it would be beside the folder, where nothing belongs
	}
	at, name := b.Dir, path.Base(rel)
	if rel != name {
		d, err := b.Sub(path.Dir(rel))
		if err != nil {
			return session.Ref{}
		}
		defer d.Close()
		at = d
	}
	t, err := at.Stat(name)
	switch {
	case err != nil || !t.IsFile():
		return session.Ref{}
	case rel == name && isRecordName(b.of, name):
		return b.record(strings.TrimSuffix(name, suffix))
	}
	return b.file(rel)
}

// inPlaceOf notes a plain file that stands where the folder of records at p should be.
func (v *view) inPlaceOf(p string, of session.Ref) {
	d, err := v.root.Sub(path.Dir(p))
	if err != nil {
		return // what stands in the way there is told elsewhere
	}
	defer d.Close()
	t, err := v.look(d, path.Base(p))
	why, hidden := safedir.ReadFailure(err)
	var strange *safedir.NotFolderError
	switch {
	case err != nil && !hidden && !errors.As(err, &strange):
		v.err = err
	case hidden, t.IsFile():
		if !hidden {
			why = t.ReplaceProblem()
		}
		of.Kind = session.KindFile
		v.files = append(v.files, newFile(of, p, &t, why))
	}
}

// abandonedFiles notes what the agent would open besides the records in the folder of
// a message that is not there.
func (v *view) abandonedFiles(message session.Ref) {
	ref := v.partRef(message)
	d := v.openParts(ref)
	if d == nil {
		return
	}
	defer d.Close()
	before := len(v.files)
	v.recordsAndMore(d, folderOf(ref), func(string, string) {})
	for _, f := range v.files[before:] {
		v.note(f.Path, message.Message, "its message is not there")
	}
	v.files = v.files[:before]
}

// filesAmongProjects notes the files for which the agent opens the record of a project
// that is not there, as it does among parts: it then lists no project.
func (v *view) filesAmongProjects() {
	if !v.layout.takesAll {
		return
	}
	in := view{Store: v.Store, ctx: v.ctx, root: v.root, buf: v.buf, blind: true}
	d := in.open("project", "")
	if d == nil {
		return
	}
	defer d.Close()
	in.recordsAndMore(d, session.Ref{Message: d.Path}, func(string, string) {})
	if v.err == nil {
		v.err = in.err
	}
	for _, f := range in.files {
		if f.Reads == (session.Ref{}) {
			v.note(f.Path, "", fmt.Sprintf("the agent opens %s for it, which is not there, so it lists no projects; its sessions work", f.Opens))
		}
	}
}

// filesInTheWay notes the plain files that stand where a folder of all records of a
// kind should be.
func (v *view) filesInTheWay() {
	seen := map[string]bool{}
	for _, p := range v.layout.patterns {
		if top := p.names[0]; !seen[top] {
			seen[top] = true
			v.fileInTheWay(top)
		}
	}
}

func (v *view) fileInTheWay(p string) {
	d, err := v.root.Sub(path.Dir(p))
	if err != nil {
		return // what stands in the way there is told elsewhere
	}
	defer d.Close()
	if t, err := d.Stat(path.Base(p)); err == nil && t.IsFile() {
		v.hidden(p, "", "it is a file, and a folder of records should be there: the agent reads and stores none; move it away by hand")
	}
}

// talksInTheWay does the same for the folders of the messages of sessions: what these
// were is not known.
func (v *view) talksInTheWay(t *skeleton) {
	has := map[string]bool{}
	for _, k := range t.talks {
		has[k.ref.Session] = true
	}
	for id := range t.sessions {
		for _, p := range v.layout.patterns {
			if p.kind == session.KindMessage && !slices.Contains(p.names, "{project}") && !has[id] {
				v.fileInTheWay(strings.Join(fill(p.names[:len(p.names)-1], session.Ref{Session: id}), "/"))
			}
		}
	}
}
