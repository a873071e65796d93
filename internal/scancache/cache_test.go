package scancache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/repair"
)

// fill sets every exported field of v to a different value.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n, " \x00\xff\"é"))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), n)
			}
		}
	default:
		t.Fatalf("fill cannot set a %v", v.Type())
	}
}

// filledFile returns a file without an empty field.
func filledFile(t *testing.T) *File {
	t.Helper()
	f, n := &File{}, 0
	fill(t, reflect.ValueOf(f).Elem(), &n)
	return f
}

var compare = cmp.Options{cmp.AllowUnexported(File{}), cmpopts.IgnoreUnexported(repair.Diagnosis{})}

func newCache(t *testing.T) *Cache {
	t.Helper()
	return New(filepath.Join(t.TempDir(), "cache"), "json", "/store", func(s string) { t.Error(s) })
}

func wantLoad(t *testing.T, when string, c *Cache, want *File) {
	t.Helper()
	if diff := cmp.Diff(want, c.Load(time.Now()), compare); diff != "" {
		t.Errorf("%s: Load (-want +got):\n%s", when, diff)
	}
}

// TestSave: a saved file is loaded unchanged, unless its time lies in the future.
func TestSave(t *testing.T) {
	c, f := newCache(t), filledFile(t)
	wantLoad(t, "without a file", c, &File{})
	c.Save(f)
	wantLoad(t, "saved", c, f)
	if info, err := os.Stat(c.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	f.Written = time.Now().Add(time.Hour)
	c.Save(f)
	wantLoad(t, "saved in the future", c, &File{})
}

// TestForget: a forgotten session no longer has a result, and the forgotten ids are counted.
func TestForget(t *testing.T) {
	c, f := newCache(t), filledFile(t)
	c.Forget("1") // there is no file
	c.Save(f)
	c.Forget("another")
	f.Damage, f.State, f.forgotten = "", "", map[string]int{"another": 1}
	wantLoad(t, "after another session was forgotten", c, f)
	id := f.Sessions[1].Head.ID
	c.Forget(id)
	c.Forget(id)
	f.forgotten[id], f.Sessions[1].Result = 2, nil
	wantLoad(t, "after a session was forgotten", c, f)
}

// TestUnusableFile: a file that cannot be used counts as empty, and nothing is written through a link.
func TestUnusableFile(t *testing.T) {
	rows := map[string]func(path string) error{
		"missing":         os.Remove,
		"empty":           func(path string) error { return os.Truncate(path, 0) },
		"huge":            func(path string) error { return os.Truncate(path, maxSize+1) },
		"an older format": func(path string) error { return os.WriteFile(path, []byte("mend scan 5\n\x01\x00"), 0o600) },
		"a link": func(path string) error {
			if err := os.Rename(path, path+".victim"); err != nil {
				return err
			}
			return os.Symlink(path+".victim", path)
		},
		"a folder": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
	}
	for name, spoil := range rows {
		c, f := newCache(t), filledFile(t)
		c.Save(f)
		if err := spoil(c.path); err != nil {
			t.Fatal(err)
		}
		victim, _ := os.ReadFile(c.path + ".victim") // exists only in some cases
		wantLoad(t, name, c, &File{})
		c.Forget("1")
		var warnings []string
		c.warn = func(s string) { warnings = append(warnings, s) }
		c.Save(f)
		if now, _ := os.ReadFile(c.path + ".victim"); string(now) != string(victim) {
			t.Errorf("%s: the target of the link was changed", name)
		}
		if unsafe := name == "a link" || name == "a folder"; unsafe != (len(warnings) == 1 && strings.HasPrefix(warnings[0], "the cache is not used: ")) {
			t.Errorf("%s: warnings %q", name, warnings)
		} else if !unsafe {
			wantLoad(t, name+", saved again", c, f)
		}
	}
}

// TestNoFolder: without a folder nothing is cached, and nothing is written.
func TestNoFolder(t *testing.T) {
	c := New("", "json", "/store", func(s string) { t.Error(s) })
	c.Save(filledFile(t))
	c.Forget("1")
	wantLoad(t, "without a folder", c, &File{})
}

func block(t testing.TB, v any) []byte {
	t.Helper()
	data, err := appendBlock(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDecodeDamaged: a file that is damaged at any byte is refused.
func TestDecodeDamaged(t *testing.T) {
	whole := block(t, filledFile(t))
	data := append(bytes.Clone(whole), block(t, "1")...)
	refused := func(data []byte) bool {
		_, err := decode(data)
		return err != nil
	}
	if refused(data) {
		t.Fatal("the undamaged file is refused")
	}
	for n := range data {
		if !refused(data[:n]) && n != len(whole) {
			t.Errorf("the first %d of %d bytes are accepted", n, len(data))
		}
		flipped := bytes.Clone(data)
		flipped[n] ^= 1
		if !refused(flipped) {
			t.Errorf("a wrong bit in byte %d is accepted", n)
		}
	}
	for name, v := range map[string]any{
		"another value":            []string{"x"},
		"a member of another type": struct{ Sessions string }{"x"},
	} {
		if !refused(block(t, v)) {
			t.Errorf("%s is accepted", name)
		}
	}
}
