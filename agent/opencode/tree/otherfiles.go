package tree

import (
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// Files beside the records. OpenCode with a tree reads each regular file below a folder of messages or parts as a
// record, also in subfolders, but no hidden file and nothing in a hidden folder. It skips links, pipes, sockets and
// devices.

// eachRecordAndFile calls yield for each record in a folder of parts of the message, or of messages if message is "",
// and reports other entries that are not hidden.
func (tr *treeReader) eachRecordAndFile(d *safedir.Dir, message string, yield func(name, id string)) {
	for _, name := range tr.names(d, message) {
		switch {
		case tr.hasFailed():
			return
		case name[0] == '.':
		case isRecordName(message, name):
			yield(name, strings.TrimSuffix(name, suffix))
		default:
			tr.addOther(d, name, message)
		}
	}
}

// isRecordName reports whether a part of the message, or a message if message is "", can have that file name. The agent
// never writes a message whose id lacks the prefix, and crashes on such a message.
func isRecordName(message, name string) bool {
	id, ok := strings.CutSuffix(name, suffix)
	return ok && change.ValidateID(id) == nil && (message != "" || strings.HasPrefix(id, record.MessagePrefix))
}

// ignoredByAgent reports whether the agent ignores an entry with the name of a record because it is not a regular
// file. It opens the record of a session or a project without listing the folder, and so does not ignore such an
// entry.
func (tr *treeReader) ignoredByAgent(r change.Ref, e *safedir.Entry) bool {
	return e.Exists && !e.IsFile() && (r.Kind == change.KindMessage || r.Kind == change.KindPart)
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
		if why := tr.filesIn(d, name); why != "" {
			tr.addStray(change.StrayFile, at, message, why)
		}
	case e.IsFile():
		tr.addStray(change.StrayFile, at, message, "it is not a file of a session")
	case e.Exists:
		tr.addStray(change.StrayIgnored, at, message, "it is "+ownfile.KindName(e.Mode)+", which OpenCode ignores")
	}
}

// filesIn returns why the folder may have files that the agent opens, also in subfolders; "" if it has none.
func (tr *treeReader) filesIn(at *safedir.Dir, name string) string {
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
		if name[0] == '.' || tr.hasFailed() {
			continue
		}
		e, err := tr.stat(d, name)
		if err != nil || e.IsFile() || e.IsDir() && tr.filesIn(d, name) != "" {
			return "it is a folder with files"
		}
	}
	return ""
}

// addPlaces reports any entry that takes the place of a folder of records, and any such folder that cannot be opened.
func (tr *treeReader) addPlaces() {
	for _, p := range recordFolders() {
		if !slices.ContainsFunc(tr.stray, func(s change.Stray) bool { return s.Path == p }) {
			tr.openPlace(p)
		}
	}
}

// openPlace reports anything but a link that takes the place of the folder at p, or that the folder cannot be opened. A
// link is reported when the reader follows the path for another reason.
func (tr *treeReader) openPlace(p string) {
	before := len(tr.stray)
	if d := tr.openIn(tr.root, p, "", true); d != nil {
		d.Close()
	}
	if len(tr.stray) > before && tr.stray[before].Kind == change.StrayLink {
		tr.stray = tr.stray[:before]
	}
}
