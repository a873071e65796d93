package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"mend/change"
)

// rowChanges are the ops of a change by row.
type rowChanges struct {
	rows  []rowChange
	index map[key]int

	allowMissingParent bool // see [change.Plan]
}

// A key identifies a row.
type key struct {
	kind change.Kind
	id   string
}

// A rowChange is the change of one row. A Pre or Post is nil if the row does not exist.
type rowChange struct {
	key
	ref                 change.Ref
	preImage, postImage *change.Image
}

// pre returns the row before the change, nil if it does not exist.
func (r *rowChange) pre() *change.Record { return r.decode(r.preImage) }

// post returns the row after the change, nil if it does not exist.
func (r *rowChange) post() *change.Record { return r.decode(r.postImage) }

// decode decodes an image that [newRowChange] has checked. The row is not cached: it takes several
// times the memory of the image.
func (r *rowChange) decode(i *change.Image) *change.Record {
	row, _ := decodeImage(r.ref, i)
	return row
}

// newRowChanges decodes the images of ops. Two ops that move a record to another message under the
// same id become one row. The error wraps [change.ErrInvalid].
func newRowChanges(specs []TableSpec, ops []change.Op) (*rowChanges, error) {
	if err := change.Validate(ops); err != nil {
		return nil, err
	}
	changes := &rowChanges{index: map[key]int{}}
	for _, o := range ops {
		r, err := newRowChange(specs, o)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
		}
		i, again := changes.index[r.key]
		if !again {
			changes.index[r.key] = len(changes.rows)
			changes.rows = append(changes.rows, r)
			continue
		}
		if changes.rows[i], err = merge(changes.rows[i], r); err != nil {
			return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
		}
	}
	return changes, nil
}

func newRowChange(specs []TableSpec, o change.Op) (rowChange, error) {
	r := rowChange{key: key{o.Ref.Kind, o.Ref.ID()}, ref: o.Ref, preImage: o.Pre, postImage: o.Post}
	if o.Ref.Kind == change.KindFolder || o.Ref.Kind == change.KindFile {
		return r, fmt.Errorf("%s: a database has no records of kind %v", o.Ref, o.Ref.Kind)
	}
	if _, err := decodeImage(o.Ref, o.Pre); err != nil {
		return r, err
	}
	post, err := decodeImage(o.Ref, o.Post)
	if err != nil || post == nil {
		return r, err
	}
	return r, checkIDColumns(specs, o.Ref, post)
}

func decodeImage(ref change.Ref, i *change.Image) (*change.Record, error) {
	if i == nil {
		return nil, nil
	}
	r, err := change.RowOf(ref, i)
	return &r, err
}

// checkIDColumns returns an error if the row could not be found again under its ref.
func checkIDColumns(specs []TableSpec, ref change.Ref, r *change.Record) error {
	ids := map[string]string{}
	for _, spec := range specs {
		if spec.Kind != ref.Kind {
			continue
		}
		ids[spec.key()] = ref.ID()
		if spec.Parent != "" {
			ids[spec.Parent] = parentID(ref)
		}
	}
	for name, id := range ids {
		c, _ := r.Col(name)
		if c.Class != change.ClassText || string(c.Bytes) != id {
			return fmt.Errorf("%s: its column %s holds %q, want %q", ref, name, c.Bytes, id)
		}
	}
	return nil
}

// merge combines two ops on one row: one removes it, the other creates it.
func merge(a, b rowChange) (rowChange, error) {
	if a.preImage == nil {
		a, b = b, a
	}
	if a.preImage == nil || a.postImage != nil || b.preImage != nil {
		return a, fmt.Errorf("two ops on the row %v %s", a.kind, a.id)
	}
	b.preImage = a.preImage
	return b, nil
}

// parentExists reports whether the parent row exists after the plan; known is false if the plan does not contain it.
func (changes *rowChanges) parentExists(parent *Table, l foreignKey, id []Value) (exists, known bool) {
	if changes == nil || parent == nil || !slices.Equal(l.parentColumns, []string{parent.key()}) {
		return false, false
	}
	i, known := changes.index[key{parent.Kind, string(id[0].Bytes)}]
	return known && changes.rows[i].postImage != nil, known
}

func (changes *rowChanges) contains(t *Table, id string) bool {
	if changes == nil {
		return false
	}
	_, ok := changes.index[key{t.Kind, id}]
	return ok
}

// conflict returns the conflict of a row that does not have the expected content.
func (r rowChange) conflict(now *change.Image, why string) change.Conflict {
	return change.Conflict{Ref: r.ref, Pre: r.preImage, Post: r.postImage, Now: now, Why: why}
}

// describeDiff explains how the row differs from the expected image.
func describeDiff(want, now *change.Image) string {
	switch {
	case want == nil:
		return "it is there already"
	case now == nil:
		return "it is gone"
	}
	return "it was changed meanwhile"
}

// checkTables returns an error if the rows do not fit the current tables.
func (c *Conn) checkTables(changes *rowChanges) error {
	for _, r := range changes.rows {
		t := c.Table(r.kind)
		if i := slices.IndexFunc(t.triggers, func(name string) bool { return !slices.Contains(t.Triggers, name) }); i >= 0 {
			return Unusable("table %s has the trigger %s, which might change more than is planned", t.Name, t.triggers[i])
		}
		if r.postImage == nil {
			continue
		}
		cols := r.post().Cols.Names()
		added := slices.DeleteFunc(slices.Clone(t.others), func(name string) bool { return slices.Contains(cols, name) })
		if len(added) > 0 {
			return fmt.Errorf("%v %s: it cannot be written: its table has the new columns %s, and the row has no value for them", r.kind, r.ref, strings.Join(added, ", "))
		}
		if !slices.Equal(cols, t.others) {
			return fmt.Errorf("%v %s: the row has the columns %v, its table now has %v", r.kind, r.ref, cols, t.others)
		}
	}
	return nil
}

// comparePre returns a [*change.ConflictError] with the rows that differ from their Pre.
func (c *Conn) comparePre(changes *rowChanges) error {
	var conflicts []change.Conflict
	for _, r := range changes.rows {
		t := c.Table(r.kind)
		if t == nil {
			return Unusable("it has no table of %vs", r.kind)
		}
		same, err := c.rowEquals(t, r.id, r.pre())
		if err == nil && !same {
			var now *change.Image
			now, err = c.image(t, r.id)
			conflicts = append(conflicts, r.conflict(now, describeDiff(r.preImage, now)))
		}
		if err != nil {
			return err
		}
	}
	return conflictError(conflicts)
}

// checkForeignKeys returns a [*change.ConflictError] with the rows that would lack their parent, or would leave a child
// without a parent, after changes; changes is nil if they are already written.
func (c *Conn) checkForeignKeys(rows []rowChange, changes *rowChanges) error {
	var conflicts []change.Conflict
	for _, r := range rows {
		t := c.Table(r.kind)
		why := "it refers to %s, which does not exist"
		var other string
		var err error
		if r.postImage != nil {
			other, err = c.missingParent(t, r.post(), changes, r.preImage != nil)
		} else {
			why = "%s still refers to it"
			other, err = c.remainingChild(t, r.pre(), changes)
		}
		if err != nil {
			return err
		}
		if other != "" {
			conflicts = append(conflicts, r.conflict(r.preImage, fmt.Sprintf(why, other)))
		}
	}
	return conflictError(conflicts)
}

// conflictError returns an error with the conflicts, nil for none.
func conflictError(conflicts []change.Conflict) error {
	if len(conflicts) == 0 {
		return nil
	}
	return &change.ConflictError{Conflicts: conflicts}
}

// checkedRows returns the rows for the check of foreign keys: all except created rows, if the plan allows a missing
// parent.
func (changes *rowChanges) checkedRows() []rowChange {
	if !changes.allowMissingParent {
		return changes.rows
	}
	return slices.DeleteFunc(slices.Clone(changes.rows), func(r rowChange) bool { return r.postImage != nil })
}
