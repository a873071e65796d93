package sqlstore

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
)

// FuzzRow: values keep their classes and bytes when SQLite returns them and an image encodes them.
func FuzzRow(f *testing.F) {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	st, _, err := db.Prepare("SELECT ?, ?, ?")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = st.Close() })
	f.Add("prt_1", byte(change.ClassText), []byte(`{"type":"text"}`))
	f.Add("\xff\x00", byte(change.ClassBlob), []byte{0, 1, 0xff})
	f.Add("", byte(change.ClassNull), []byte{})
	f.Add("7", byte(change.ClassInteger), []byte{0x80, 0, 0, 0, 0, 0, 0, 0})
	f.Add("pi", byte(change.ClassReal), binary.BigEndian.AppendUint64(nil, math.Float64bits(math.Pi)))
	f.Add("short", byte(change.ClassInteger), []byte{1})
	tab := &Table{TableSpec: TableSpec{Name: "part", Data: "data"}, Cols: []string{"id", "extra", "data"}, others: []string{"id", "extra"}, DataIndex: 2}
	ref := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: "prt_1"}
	f.Fuzz(func(t *testing.T, id string, class byte, data []byte) {
		in := []Value{Text(id), {Class: change.Class(class), Bytes: data}, {Class: change.ClassText, Bytes: data}}
		if !storable(in[1]) {
			return
		}
		if err := st.Reset(); err != nil {
			t.Fatal(err)
		}
		for i, v := range in {
			if err := v.Bind(st, i+1); err != nil {
				t.Fatalf("binding %+v: %v", v, err)
			}
		}
		if !st.Step() {
			t.Fatal(st.Err())
		}
		r := tab.CopyRow(st)
		r.Ref = ref
		back, err := change.RowOf(ref, change.ImageOf(&r))
		if err != nil {
			t.Fatalf("RowOf(ImageOf(%+v)) = %v", r, err)
		}
		for i, col := range tab.Cols {
			if got := tab.valueOf(&back, col); !got.Equal(in[i]) {
				t.Errorf("%s is %+v, want %+v", col, got, in[i])
			}
		}
	})
}

// storable reports whether a row can have the value: its class is one of the five, a number has eight bytes, and it is not
// NaN, which SQLite stores as NULL.
func storable(v Value) bool {
	switch v.Class {
	case change.ClassText, change.ClassBlob:
		return true
	case change.ClassNull:
		return len(v.Bytes) == 0
	case change.ClassInteger:
		return len(v.Bytes) == 8
	case change.ClassReal:
		return len(v.Bytes) == 8 && !math.IsNaN(math.Float64frombits(binary.BigEndian.Uint64(v.Bytes)))
	}
	return false
}
