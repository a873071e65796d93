package tree

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// A treeReader reads the tree once. It collects problems of single files in stray, and an error that would
// affect every other file, too, in err.
type treeReader struct {
	*Store
	ctx   context.Context
	root  *safedir.Dir
	stray []change.Stray
	err   error

	budget   int64         // bytes of the session that may still be loaded; counts only if loads is set
	loads    bool          // a session is loaded
	parts    []record.Part // memory for the parts of one message
	stamp    *stampHasher  // stamp of the records; nil if it is not needed
	statOnly bool          // records are not read
	raw      bool          // records are not decoded
	partsDir *safedir.Dir  // has the part folders of the messages; nil if it could not be opened
}

func (s *Store) newReader(ctx context.Context) (*treeReader, error) {
	root, err := safedir.OpenRoot(s.ID().Root)
	if err != nil {
		return nil, err
	}
	return &treeReader{Store: s, ctx: ctx, root: root}, nil
}

func (tr *treeReader) close() { tr.root.Close() }

// hasFailed reports whether an error occurred or ctx ended.
func (tr *treeReader) hasFailed() bool {
	if tr.err == nil {
		tr.err = tr.ctx.Err()
	}
	return tr.err != nil
}

// ids returns the names in a folder that are valid ids and may be folders, sorted.
func (tr *treeReader) ids(path string) (ids []string) {
	d := tr.open(path)
	if d == nil {
		return nil
	}
	defer d.Close()
	for _, name := range tr.names(d, "") {
		if err := change.ValidateID(name); err == nil {
			ids = append(ids, name)
		} else if e, serr := d.Stat(name); serr == nil && e.Exists && !e.IsFile() && name[0] != '.' {
			tr.addStray(change.StrayOther, d.Path+"/"+name, "", err.Error())
		}
	}
	return ids
}

// open opens the folder at path, nil if it does not exist. It ignores a regular file of that name, and reports
// anything else.
func (tr *treeReader) open(path string) *safedir.Dir { return tr.openIn(tr.root, path, "", false) }

// openIn is like open, for a path below at, a folder. Its reports belong to the given message. If file is set, it also
// reports a regular file of that name.
func (tr *treeReader) openIn(at *safedir.Dir, name, message string, file bool) *safedir.Dir {
	d, err := at.Sub(name)
	if err == nil {
		return d
	}
	var strange *safedir.NotFolderError
	if errors.As(err, &strange) {
		if !strange.Mode.IsRegular() || file && strange.Path == path.Join(at.Path, name) {
			tr.addNotFolder(strange, message)
		}
	} else if why, ok := safedir.ReadFailure(err); ok {
		tr.addStray(change.StrayHidden, path.Join(at.Path, name), message, "the folder cannot be opened: "+why)
	} else if !errors.Is(err, fs.ErrNotExist) {
		tr.err = err
	}
	return nil
}

// names returns the sorted names in the folder.
func (tr *treeReader) names(d *safedir.Dir, message string) []string {
	names, err := d.Names()
	if why, ok := safedir.ReadFailure(err); ok {
		tr.addStray(change.StrayHidden, d.Path, message, "the folder cannot be read: "+why)
	} else if err != nil {
		tr.err = err
	}
	slices.Sort(names)
	return names
}

func (tr *treeReader) addStray(kind change.StrayKind, path, message, why string) {
	tr.stray = append(tr.stray, change.Stray{Kind: kind, Path: path, Message: message, Why: why})
}

// addNotFolder reports an entry that takes the place of a folder: of a message's parts, or of records without
// which the agent answers no prompt.
func (tr *treeReader) addNotFolder(e *safedir.NotFolderError, message string) {
	kind := change.StrayOther
	switch {
	case e.Mode.Type() == fs.ModeSymlink:
		kind = change.StrayLink
	case message == "":
		kind = change.StrayPlace
	}
	tr.addStray(kind, e.Path, message, "it is "+ownfile.KindName(e.Mode)+", not a folder")
}

// eachRecord calls yield for each record in the folder, in order. It ignores hidden names and names that do not end in
// .json, and reports other names that are not ids.
func (tr *treeReader) eachRecord(d *safedir.Dir, yield func(id string)) {
	for _, name := range tr.names(d, "") {
		id, ok := strings.CutSuffix(name, suffix)
		if !ok || name[0] == '.' {
			continue
		}
		if tr.hasFailed() {
			return
		}
		if err := change.ValidateID(id); err != nil {
			tr.addStray(change.StrayOther, d.Path+"/"+name, "", err.Error())
			continue
		}
		yield(id)
	}
}

func (tr *treeReader) recordIDs(path string) (ids []string) {
	if tr.hasFailed() {
		return nil
	}
	if d := tr.open(path); d != nil {
		tr.eachRecord(d, func(id string) { ids = append(ids, id) })
		d.Close()
	}
	return ids
}

// readRecord reads one record, and reports whether it exists. An unreadable record has the defect Unreadable. A
// record with several hard links is read, but cannot be replaced.
func (tr *treeReader) readRecord(d *safedir.Dir, ref change.Ref) (change.Record, bool) {
	r := change.Record{Ref: ref}
	return r, tr.fillRecord(&r, d, ref.ID()+suffix)
}

// fillRecord is readRecord for a record that has only a ref.
func (tr *treeReader) fillRecord(r *change.Record, d *safedir.Dir, name string) bool {
	e, err := tr.readEntry(d, name)
	if why, ok := safedir.ReadFailure(err); ok {
		r.Defect = &change.Defect{Kind: change.Unreadable, Why: why}
		return true
	}
	if err != nil {
		tr.err = err
		return false
	}
	if tr.ignoredByAgent(r.Ref, &e) {
		tr.addOther(d, name, messageOfPart(r.Ref))
		return false
	}
	r.Mode = e.Mode.Perm()
	if why := e.ReadProblem(); e.Exists && why != "" {
		r.Defect = &change.Defect{Kind: change.Unreadable, Why: why}
		return true
	}
	r.Data = e.Data
	return e.Exists
}

// readEntry returns the entry of that name, without content if the reader is statOnly.
func (tr *treeReader) readEntry(d *safedir.Dir, name string) (safedir.Entry, error) {
	if tr.statOnly {
		return tr.stat(d, name)
	}
	e, err := tr.readWithinBudget(d, name)
	if tr.stamp != nil {
		tr.stamp.add(name, &e, err)
	}
	return e, err
}

// stat returns the entry of that name without content.
func (tr *treeReader) stat(d *safedir.Dir, name string) (safedir.Entry, error) {
	e, err := d.Stat(name)
	if tr.stamp != nil {
		tr.stamp.add(name, &e, err)
	}
	return e, err
}

// readWithinBudget reads an entry if the session still fits into memory. The error may be
// a [*change.SizeError].
func (tr *treeReader) readWithinBudget(d *safedir.Dir, name string) (safedir.Entry, error) {
	left := tr.opt.MaxSession
	if tr.loads {
		left = max(tr.budget, 0)
	}
	e, err := d.Read(name, min(left, change.MaxText))
	if err != nil || !tr.loads {
		return e, err
	}
	if e.TooLarge && e.Size <= change.MaxText {
		return safedir.Entry{}, &change.SizeError{Most: tr.opt.MaxSession}
	}
	tr.budget -= int64(len(e.Data))
	return e, nil
}
