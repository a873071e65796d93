package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"mend/agent/opencode/record"
	"mend/internal/ownfile"
	"mend/internal/safedir"
	"mend/session"
)

// Files beside the records. OpenCode with a tree lists a folder of messages or parts with
// the pattern **/*, which matches every regular file below it: in all folders but hidden
// ones, without hidden files, links, pipes, sockets and devices. It removes the last five
// characters of the path, the suffix of a record, and opens the path with the suffix
// appended; for messages it uses the first name of the path alone. If the file that it
// opens does not exist, it stops.

// maxDepth is the number of folders below a folder of records in which files are searched.
const maxDepth = 32

// A recordFolder is a folder of records, with the ids in its path.
type recordFolder struct {
	*safedir.Dir
	ref session.Ref
}

// folderRefOf returns the ref of a record without its own id, which names its folder.
func folderRefOf(r session.Ref) session.Ref {
	if r.Kind == session.KindMessage {
		r.Message = ""
	}
	r.Kind, r.Part = 0, ""
	return r
}

// recordKind returns the kind of the records beside the file.
func recordKind(file session.Ref) session.Kind {
	if file.Message == "" {
		return session.KindMessage
	}
	return session.KindPart
}

// fileRef returns the ref of a file, given its path below the folder.
func (b recordFolder) fileRef(rel string) session.Ref {
	r := b.ref
	r.Kind, r.Part = session.KindFile, rel
	return r
}

// recordRef returns the ref of the record with that id.
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

// filePath is Path for the ref of a file.
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

// eachRecordAndFile calls yield for each record in the folder, and reports the other files
// that the agent opens there.
func (tr *treeReader) eachRecordAndFile(d *safedir.Dir, folder session.Ref, yield func(name, id string)) {
	if !tr.layout.opensAllFiles {
		tr.eachRecord(d, folder.Message, yield)
		return
	}
	names := tr.names(d, folder.Message)
	for _, name := range names {
		if !tr.failed() && name[0] != '.' && !isRecordName(folder, name) {
			tr.addOther(recordFolder{d, folder}, d, name)
		}
	}
	for _, name := range names {
		if isRecordName(folder, name) && !tr.failed() {
			yield(name, strings.TrimSuffix(name, suffix))
		}
	}
}

// isRecordName reports whether a record in the folder can have that name. The agent
// crashes on a message whose id does not begin with the prefix, so it wrote none.
func isRecordName(folder session.Ref, name string) bool {
	id, ok := strings.CutSuffix(name, suffix)
	return ok && session.ValidateID(id) == nil && (folder.Message != "" || strings.HasPrefix(id, record.MessagePrefix))
}

// ignoredByAgent reports whether the agent ignores an entry with the name of a record
// because it is not a regular file. The record of a session or a project it opens without
// listing it.
func (tr *treeReader) ignoredByAgent(r session.Ref, e *safedir.Entry) bool {
	return tr.layout.opensAllFiles && e.Exists && !e.IsFile() && (r.Kind == session.KindMessage || r.Kind == session.KindPart)
}

// addOther reports the entry in the folder at with the last name of rel, a path below b.
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
		tr.addStray(b.Path+"/"+rel, b.ref.Message, "it is "+ownfile.KindName(e.Mode)+", which OpenCode ignores")
		tr.stray[len(tr.stray)-1].Unseen = true
	}
}

// addFolder reports the files in a folder in which no record has its place.
func (tr *treeReader) addFolder(b recordFolder, at *safedir.Dir, rel string) {
	if strings.Count(rel, "/") == maxDepth {
		tr.addStray(b.Path+"/"+rel, b.ref.Message, fmt.Sprintf("it is more than %d folders deep, and was not examined", maxDepth))
		return
	}
	in := new(safedir.Buffer) // the caller still uses the names in its buffer
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

// addFile reports a file. fixed says why it cannot be moved away.
func (tr *treeReader) addFile(b recordFolder, rel string, e *safedir.Entry, fixed string) {
	f := newFile(b.fileRef(rel), b.Path+"/"+rel, e, fixed)
	opens := tr.openedPath(b.ref, rel)
	f.Opens = b.Path + opens
	if f.Reads = tr.openedRef(b, strings.TrimPrefix(opens, "/")); tr.err == nil {
		tr.files = append(tr.files, f)
	}
}

func newFile(ref session.Ref, at string, e *safedir.Entry, fixed string) record.File {
	f := record.File{Record: session.Record{Ref: ref, Data: e.Data, Mode: e.Mode.Perm(), Locked: fixed}, Path: at}
	if e.ReadProblem() != "" {
		f.Defect = &session.Defect{Kind: session.Unreadable, Why: fixed}
	}
	return f
}

// openedPath returns the path that the agent opens for a file, relative to the folder. It
// starts with a slash unless the agent appends the suffix to the path of the folder
// itself.
func (tr *treeReader) openedPath(folder session.Ref, rel string) string {
	name := utf16.Encode([]rune(rel)) // the agent counts UTF-16 units, and decodes invalid UTF-8 differently
	cut := string(utf16.Decode(name[:max(0, len(name)-len(suffix))]))
	if folder.Message == "" {
		cut, _, _ = strings.Cut(cut, "/")
	}
	if cut = strings.TrimSuffix(cut, "/"); cut != "" {
		cut = "/" + cut
	}
	return cut + suffix
}

// openedRef returns the ref of what is at a path below the folder; the zero Ref if nothing
// is.
func (tr *treeReader) openedRef(b recordFolder, rel string) session.Ref {
	if rel == suffix {
		return session.Ref{} // it would be beside the folder, where no record has its place
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

// addFileInPlace reports a regular file in the place of the folder of records at p.
func (tr *treeReader) addFileInPlace(p string, folder session.Ref) {
	d, err := tr.root.Sub(path.Dir(p))
	if err != nil {
		return // reported elsewhere
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
		folder.Kind = session.KindFile
		tr.files = append(tr.files, newFile(folder, p, &e, why))
	}
}

// addAbandonedFiles reports the files that the agent would open beside the records in the
// part folder of a message that does not exist.
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
		tr.addStray(f.Path, message.Message, "its message does not exist")
	}
	tr.files = tr.files[:before]
}

// addFilesAmongProjects reports the files for which the agent opens the record of a
// project that does not exist, as among parts: it then lists no project.
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
			tr.addStray(f.Path, "", fmt.Sprintf("OpenCode opens %s for it, which does not exist, so it lists no projects; the sessions work", f.Opens))
		}
	}
}

// addPlaces reports what is in the place of a folder of all records of a kind, or that it
// cannot be opened.
func (tr *treeReader) addPlaces() {
	seen := map[string]bool{}
	for _, p := range tr.layout.patterns {
		if top := p.names[0]; !seen[top] {
			seen[top] = true
			tr.addPlace(top)
		}
	}
}

// addPlace reports what is in the place of the folder at p, or that it cannot be opened. A
// link is reported where it is met.
func (tr *treeReader) addPlace(p string) {
	d, err := tr.root.Sub(p)
	if err == nil {
		d.Close()
		return
	}
	var strange *safedir.NotFolderError
	if errors.As(err, &strange) && strange.Path == p && strange.Mode.Type() != fs.ModeSymlink {
		tr.addNotFolder(strange, "")
	} else if why, ok := safedir.ReadFailure(err); ok {
		tr.addHidden(p, "", "the folder cannot be opened: "+why)
		tr.stray[len(tr.stray)-1].Place = true
	}
}

// addPlacesOnce is addPlaces, and drops what was already reported of the same paths, perhaps
// for each message.
func (tr *treeReader) addPlacesOnce() {
	before := tr.stray
	tr.stray = nil
	tr.addPlaces()
	found := map[string]bool{}
	for _, s := range tr.stray {
		found[s.Path] = true
	}
	tr.stray = append(tr.stray, slices.DeleteFunc(before, func(s session.Stray) bool { return found[s.Path] })...)
}

// filesAtMessageFolders reports the regular files in the place of the message folders of
// sessions. What these contained is not known.
func (tr *treeReader) filesAtMessageFolders(inv *inventory) {
	has := map[string]bool{}
	for _, k := range inv.messageFolders {
		has[k.ref.Session] = true
	}
	for id := range inv.sessions {
		for _, p := range tr.layout.patterns {
			if p.kind == session.KindMessage && !slices.Contains(p.names, "{project}") && !has[id] {
				tr.addPlace(strings.Join(fill(p.names[:len(p.names)-1], session.Ref{Session: id}), "/"))
			}
		}
	}
}
