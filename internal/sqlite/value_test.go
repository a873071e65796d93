package sqlite

import (
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// TestValues: values of each class are bound and read unchanged, and a number of another size than eight bytes is refused.
func TestValues(t *testing.T) {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	s := NewStatements(db)
	defer func() {
		s.CloseStatements()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, v := range []Value{
		{Class: change.ClassNull},
		Int(-1 << 63), Int(0), ColValue(change.RealCol("", -0.5)), Text(""), Text("half \xed\xa0\x80"),
		{change.ClassBlob, []byte{}},
		{change.ClassBlob, []byte{0, 1}},
	} {
		var got Value
		err := s.Query("SELECT ?", []Value{v}, func(st *sqlite3.Stmt) error { got = CopyColumn(st, 0); return nil })
		if err != nil || !got.Equal(v) {
			t.Errorf("%+v is read as %+v, %v", v, got, err)
		}
	}
	for _, v := range []Value{{change.ClassInteger, []byte{1}}, {change.ClassReal, nil}} {
		if _, err := s.Has("SELECT ?", v); err == nil {
			t.Errorf("%+v was bound", v)
		}
		if v.Int() != 0 || v.Float() != 0 {
			t.Errorf("%+v is %d, %g", v, v.Int(), v.Float())
		}
	}
	if Text("7").Int() != 0 || Int(7).Text() != "" || Int(7).Float() != 7 {
		t.Error("a value is read as another class")
	}
}
