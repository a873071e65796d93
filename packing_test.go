package mend

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/repair"
	"mend/session"
)

// filled is a value in which every exported field that a file of the cache keeps
// holds something else.
func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprint("text ", n, " \xff"))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(-n))
		case reflect.Uint8:
			v.SetUint(uint64(n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					fill(v.Field(i))
				}
			}
		default:
			t.Fatalf("a %v is in what the cache keeps", v.Type())
		}
	}
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func TestPacking(t *testing.T) {
	verdicts := indexFile{"with", map[string]verdict{"a": filled[verdict](t), "b": {}}}
	heads := inventory{
		With: "with", State: [32]byte{1},
		Sessions: []session.Session{{ID: "ses_1", Project: "p", Directory: "/d", Title: "p", Version: "1", Created: -1, Updated: 1 << 40}, {}},
		Stamps:   map[string][32]byte{"ses_1": {2}},
		Orphans:  []session.Ref{filled[session.Ref](t)},
	}
	summary := filled[Summary](t)
	packed := map[string]struct {
		data []byte
		take func([]byte) (any, bool)
		want any
	}{
		"index":     {pack(verdicts.fields), func(d []byte) (any, bool) { var f indexFile; ok := unpack(d, f.fields); return f, ok }, verdicts},
		"inventory": {pack(heads.fields), func(d []byte) (any, bool) { var v inventory; ok := unpack(d, v.fields); return v, ok }, heads},
		"summary":   {pack(summary.fields), func(d []byte) (any, bool) { var s Summary; ok := unpack(d, s.fields); return s, ok }, summary},
	}
	for name, r := range packed {
		got, ok := r.take(r.data)
		if diff := cmp.Diff(r.want, got, cmpopts.IgnoreUnexported(repair.Diagnosis{}), cmpopts.IgnoreFields(Summary{}, "Time")); !ok || diff != "" {
			t.Errorf("%s: taken out = %v (-put +taken):\n%s", name, ok, diff)
		}
		for n := range r.data {
			if _, ok := r.take(r.data[:n]); ok {
				t.Errorf("%s: the first %d of %d bytes are taken for all", name, n, len(r.data))
			}
		}
		if _, ok := r.take(append(r.data, 0)); ok {
			t.Errorf("%s: a byte more is taken for nothing", name)
		}
	}
}

// Whatever the bytes are, they are taken out or refused.
func FuzzUnpack(f *testing.F) {
	v := indexFile{"with", map[string]verdict{"a": {Diagnoses: []repair.Diagnosis{{Rule: "R1", Why: "R1"}}}}}
	f.Add(pack(v.fields))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, again indexFile
		if !unpack(data, got.fields) {
			return
		}
		if !unpack(pack(got.fields), again.fields) {
			t.Fatal("what was taken out cannot be put and taken out again")
		}
		if diff := cmp.Diff(got, again, cmpopts.IgnoreUnexported(repair.Diagnosis{})); diff != "" {
			t.Errorf("put and taken out again (-first +second):\n%s", diff)
		}
	})
}

func TestUnseal(t *testing.T) {
	const head = "mend test 1 %d %x\n"
	sealed := seal(head, []byte("a\nb"))
	rows := []struct {
		name string
		data []byte
		rest string
		ok   bool
	}{
		{"as it was sealed", sealed, "", true},
		{"with something behind", append(seal(head, []byte("a\nb")), "c\n"...), "c\n", true},
		{"of another format", seal("mend test 2 %d %x\n", []byte("a\nb")), "", false},
		{"cut short", sealed[:len(sealed)-1], "", false},
		{"empty", nil, "", false},
		{"a length that is no number", []byte("mend test 1 x y\n"), "", false},
		{"a negative length", []byte("mend test 1 -1 y\n"), "", false},
	}
	for _, r := range rows {
		body, rest, ok := unseal(head, r.data)
		if ok != r.ok || ok && (string(body) != "a\nb" || string(rest) != r.rest) {
			t.Errorf("%s: unseal = %q, %q, %v, want %v and the rest %q", r.name, body, rest, ok, r.ok, r.rest)
		}
	}
}
