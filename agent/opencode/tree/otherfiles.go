package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// Files beside the records. OpenCode with a tree takes each regular file below a folder of
// messages or parts for a record, also in the folders there, but no hidden file and nothing in
// a hidden folder. It passes over links, pipes, sockets and devices.

// maxDepth is the number of folders below a folder of records in which files are searched.
const maxDepth = 32

// eachRecordAndFile calls yield for each record in a folder of parts of the message, or of
// messages if that is "", and reports what else is there and not hidden.
func (tr *treeReader) eachRecordAndFile(d *safedir.Dir, message string, yield func(name, id string)) {
	if !tr.layout.opensAllFiles {
		tr.eachRecord(d, message, yield)
		return
	}
	for _, name := range tr.names(d, message) {
		switch {
		case tr.failed():
			return
		case name[0] == '.':
		case isRecordName(message, name):
			yield(name, strings.TrimSuffix(name, suffix))
		default:
			tr.addOther(d, name, message)
		}
	}
}

// isRecordName reports whether a part of the message, or a message if that is "", can be
// stored under that name. The agent crashes on a message whose id does not begin with the
// prefix, so it wrote none.
func isRecordName(message, name string) bool {
	id, ok := strings.CutSuffix(name, suffix)
	return ok && change.ValidateID(id) == nil && (message != "" || strings.HasPrefix(id, record.MessagePrefix))
}

// ignoredByAgent reports whether the agent ignores an entry with the name of a record
// because it is not a regular file. The record of a session or a project it opens without
// listing it.
func (tr *treeReader) ignoredByAgent(r change.Ref, e *safedir.Entry) bool {
	return tr.layout.opensAllFiles && e.Exists && !e.IsFile() && (r.Kind == change.KindMessage || r.Kind == change.KindPart)
}

// addOther reports an entry that is not a record, unless it is a folder without files.
func (tr *treeReader) addOther(d *safedir.Dir, name, message string) {
	at := d.Path + "/" + name
	e, err := tr.stat(d, name)
	why, hidden := safedir.ReadFailure(err)
	switch {
	case hidden:
		tr.addStray(change.StrayFile, at, message, why)
	case err != nil:
		tr.err = err
	case e.IsDir():
		if why := tr.filesIn(d, name, 1); why != "" {
			tr.addStray(change.StrayFile, at, message, why)
		}
	case e.IsFile():
		tr.addStray(change.StrayFile, at, message, "it is none of a session")
	case e.Exists:
		tr.addStray(change.StrayIgnored, at, message, "it is "+ownfile.KindName(e.Mode)+", which OpenCode ignores")
	}
}

// filesIn says that the folder of that name has files, also in the folders in it, or that
// they are not known; "" if it has none.
func (tr *treeReader) filesIn(at *safedir.Dir, name string, depth int) string {
	if depth > maxDepth {
		return fmt.Sprintf("it is more than %d folders deep, and was not examined", maxDepth)
	}
	d, err := at.Sub(name)
	var names []string
	if err == nil {
		defer d.Close()
		names, err = d.Names()
	}
	if why, ok := safedir.ReadFailure(err); ok {
		return "the folder cannot be read: " + why
	}
	if err != nil {
		tr.err = err
		return ""
	}
	slices.Sort(names)
	for _, name := range names {
		if name[0] == '.' || tr.failed() {
			continue
		}
		e, err := tr.stat(d, name)
		if err != nil || e.IsFile() {
			return "it is a folder with files"
		}
		if e.IsDir() {
			if why := tr.filesIn(d, name, depth+1); why != "" {
				return why
			}
		}
	}
	return ""
}

// addFileInPlace reports a regular file in the place of the folder of records at p; for
// the message if it is a folder of parts.
func (tr *treeReader) addFileInPlace(p, message string) {
	d, err := tr.root.Sub(p)
	if err == nil {
		d.Close()
		return
	}
	var strange *safedir.NotFolderError
	if errors.As(err, &strange) && strange.Path == p && strange.Mode.IsRegular() {
		tr.addNotFolder(strange, message)
	}
}

// addFilesAmongProjects reports the files that the agent takes for records of projects.
func (tr *treeReader) addFilesAmongProjects() {
	if !tr.layout.opensAllFiles {
		return
	}
	in := treeReader{Store: tr.Store, ctx: tr.ctx, root: tr.root, buf: tr.buf}
	d := in.open("project", "")
	if d == nil {
		return
	}
	defer d.Close()
	in.eachRecordAndFile(d, d.Path, func(string, string) {})
	if tr.err == nil {
		tr.err = in.err
	}
	for _, s := range in.stray {
		if s.Kind == change.StrayFile {
			tr.addStray(change.StrayOther, s.Path, "", "OpenCode takes it for a project, and may list no projects; the sessions work")
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
		tr.addStray(change.StrayHidden, p, "", "the folder cannot be opened: "+why)
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
	tr.stray = append(tr.stray, slices.DeleteFunc(before, func(s change.Stray) bool { return found[s.Path] })...)
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
			if p.kind == change.KindMessage && !slices.Contains(p.names, "{project}") && !has[id] {
				tr.addPlace(path.Join(fill(p.names[:len(p.names)-1], change.Ref{Session: id})...))
			}
		}
	}
}
