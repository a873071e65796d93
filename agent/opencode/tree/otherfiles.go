package tree

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
const maxDepth = 32

// besides is a folder of records, with the ids that lead to it.
type recordFolder struct {
	*safedir.Dir
	ref session.Ref
}

// folderRefOf is the ref of a record without its own id: what names the folder that it is in.
func folderRefOf(r session.Ref) session.Ref {
	if r.Kind == session.KindMessage {
		r.Message = ""
	}
	r.Kind, r.Part = 0, ""
	return r
}

// recordKind is the kind of the records that the file lies beside.
func recordKind(file session.Ref) session.Kind {
	if file.Message == "" {
		return session.KindMessage
	}
	return session.KindPart
}

// fileRef is a ref for a file, by its path below the folder.
func (b recordFolder) fileRef(rel string) session.Ref {
	r := b.ref
	r.Kind, r.Part = session.KindFile, rel
	return r
}

// recordRef is a ref for the record of that id.
func (b recordFolder) recordRef(id string) session.Ref {
	r := b.ref
	r.Kind = recordKind(r)
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

// eachRecordAndFile is records for the folder that of names, and notes what else the
// agent opens there.
func (tr *treeReader) eachRecordAndFile(d *safedir.Dir, of session.Ref, yield func(name, id string)) {
	if !tr.layout.opensAllFiles {
		tr.eachRecord(d, of.Message, yield)
		return
	}
	names := tr.names(d, of.Message)
	for _, name := range names {
		if !tr.failed() && name[0] != '.' && !isRecordName(of, name) {
			tr.addOther(recordFolder{d, of}, d, name)
		}
	}
	for _, name := range names {
		if isRecordName(of, name) && !tr.failed() {
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

// ignoredByAgent reports whether the agent passes over what has the name of a record,
// since it is no plain file. That of a session or a project it opens without listing it.
func (tr *treeReader) ignoredByAgent(r session.Ref, e *safedir.Entry) bool {
	return tr.layout.opensAllFiles && e.Exists && !e.IsFile() && (r.Kind == session.KindMessage || r.Kind == session.KindPart)
}

// addOther notes what the last name of rel, the path below the folder b, is in the
// folder at.
func (tr *treeReader) addOther(b recordFolder, at *safedir.Dir, rel string) {
	e, err := tr.readEntry(at, path.Base(rel))
	tr.addOtherEntry(b, at, rel, &e, err)
}

func (tr *treeReader) addOtherEntry(b recordFolder, at *safedir.Dir, rel string, e *safedir.Entry, err error) {
	why, hidden := safedir.ReadFailure(err)
	switch {
	case hidden:
		tr.addFile(b, rel, e, why)
	case err != nil:
		tr.err = err
	case e.IsDir():
		tr.addFolder(b, at, rel)
	case e.IsFile():
		tr.addFile(b, rel, e, e.ReplaceProblem())
	case e.Exists:
		tr.addStray(b.Path+"/"+rel, b.ref.Message, "it is "+ownfile.KindName(e.Mode)+", which the agent passes over")
		tr.stray[len(tr.stray)-1].Unseen = true
	}
}

// addFolder notes what is in a folder in which no record has its place.
func (tr *treeReader) addFolder(b recordFolder, at *safedir.Dir, rel string) {
	if strings.Count(rel, "/") == maxDepth {
		tr.addStray(b.Path+"/"+rel, b.ref.Message, fmt.Sprintf("it is more than %d folders deep, and was not looked into", maxDepth))
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
		tr.addStray(b.Path+"/"+rel, b.ref.Message, "the folder cannot be read: "+why)
		return
	}
	if err != nil {
		tr.err = err
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if name[0] != '.' && !tr.failed() {
			tr.addOther(b, d, rel+"/"+name)
		}
	}
}

// addFile notes a file. fixed says why it cannot be moved away.
func (tr *treeReader) addFile(b recordFolder, rel string, e *safedir.Entry, fixed string) {
	f := newFile(b.fileRef(rel), b.Path+"/"+rel, e, fixed)
	opens := tr.openedPath(b.ref, rel)
	f.Opens = b.Path + opens
	if f.Reads = tr.openedRef(b, strings.TrimPrefix(opens, "/")); tr.err == nil {
		tr.files = append(tr.files, f)
	}
}

func newFile(ref session.Ref, at string, e *safedir.Entry, fixed string) session.File {
	f := session.File{Record: session.Record{Ref: ref, Data: e.Data, Mode: e.Mode.Perm(), Locked: fixed}, Path: at}
	if e.ReadProblem() != "" {
		f.Defect = &session.Defect{Kind: session.Unreadable, Why: fixed}
	}
	return f
}

// openedPath is what the agent opens for a file, seen from the folder; if that is the folder
// itself with the suffix there is no slash in front.
func (tr *treeReader) openedPath(of session.Ref, rel string) string {
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

// openedRef is what a path below the folder leads to, the zero Ref for nothing.
func (tr *treeReader) openedRef(b recordFolder, rel string) session.Ref {
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
	e, err := at.Stat(name)
	switch {
	case err != nil || !e.IsFile():
		return session.Ref{}
	case rel == name && isRecordName(b.ref, name):
		return b.recordRef(strings.TrimSuffix(name, suffix))
	}
	return b.fileRef(rel)
}

// addFileInPlace notes a plain file that stands where the folder of records at p should be.
func (tr *treeReader) addFileInPlace(p string, of session.Ref) {
	d, err := tr.root.Sub(path.Dir(p))
	if err != nil {
		return // what stands in the way there is told elsewhere
	}
	defer d.Close()
	e, err := tr.readEntry(d, path.Base(p))
	why, hidden := safedir.ReadFailure(err)
	var strange *safedir.NotFolderError
	switch {
	case err != nil && !hidden && !errors.As(err, &strange):
		tr.err = err
	case hidden, e.IsFile():
		if !hidden {
			why = e.ReplaceProblem()
		}
		of.Kind = session.KindFile
		tr.files = append(tr.files, newFile(of, p, &e, why))
	}
}

// addAbandonedFiles notes what the agent would open besides the records in the folder of
// a message that is not there.
func (tr *treeReader) addAbandonedFiles(message session.Ref) {
	ref := tr.partRef(message)
	d := tr.openParts(ref)
	if d == nil {
		return
	}
	defer d.Close()
	before := len(tr.files)
	tr.eachRecordAndFile(d, folderRefOf(ref), func(string, string) {})
	for _, f := range tr.files[before:] {
		tr.addStray(f.Path, message.Message, "its message is not there")
	}
	tr.files = tr.files[:before]
}

// addFilesAmongProjects notes the files for which the agent opens the record of a project
// that is not there, as it does among parts: it then lists no project.
func (tr *treeReader) addFilesAmongProjects() {
	if !tr.layout.opensAllFiles {
		return
	}
	in := treeReader{Store: tr.Store, ctx: tr.ctx, root: tr.root, buf: tr.buf, statOnly: true}
	d := in.open("project", "")
	if d == nil {
		return
	}
	defer d.Close()
	in.eachRecordAndFile(d, session.Ref{Message: d.Path}, func(string, string) {})
	if tr.err == nil {
		tr.err = in.err
	}
	for _, f := range in.files {
		if f.Reads == (session.Ref{}) {
			tr.addStray(f.Path, "", fmt.Sprintf("the agent opens %s for it, which is not there, so it lists no projects; its sessions work", f.Opens))
		}
	}
}

// addFilesAtFolders notes the plain files that stand where a folder of all records of a
// kind should be.
func (tr *treeReader) addFilesAtFolders() {
	seen := map[string]bool{}
	for _, p := range tr.layout.patterns {
		if top := p.names[0]; !seen[top] {
			seen[top] = true
			tr.addFileAtFolder(top)
		}
	}
}

func (tr *treeReader) addFileAtFolder(p string) {
	d, err := tr.root.Sub(path.Dir(p))
	if err != nil {
		return // what stands in the way there is told elsewhere
	}
	defer d.Close()
	if e, err := d.Stat(path.Base(p)); err == nil && e.IsFile() {
		tr.addHidden(p, "", "it is a file, and a folder of records should be there: the agent reads and stores none; move it away by hand")
	}
}

// filesAtMessageFolders does the same for the folders of the messages of sessions: what these
// were is not known.
func (tr *treeReader) filesAtMessageFolders(inv *inventory) {
	has := map[string]bool{}
	for _, k := range inv.messageFolders {
		has[k.ref.Session] = true
	}
	for id := range inv.sessions {
		for _, p := range tr.layout.patterns {
			if p.kind == session.KindMessage && !slices.Contains(p.names, "{project}") && !has[id] {
				tr.addFileAtFolder(strings.Join(fill(p.names[:len(p.names)-1], session.Ref{Session: id}), "/"))
			}
		}
	}
}
