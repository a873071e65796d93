package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mend/internal/test/faulttest"
	"mend/internal/test/storetest"
)

// binaries are the programs that the tests run.
type binaries struct {
	mend, filtered string
	wrong          bool // the mend has a deliberate bug
}

// built is the real mend, built once for all tests.
var built binaries

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "faulttest-")
	if err == nil {
		built, err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	if len(found.rows) > 0 && level() != "" {
		fmt.Println(found.merge(""))
	}
	if *update && code == 0 {
		if err := found.publish(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// build builds the programs into dir, without cgo and the race detector, even if the tests use them. A plain run needs no
// mend.
func build(dir string, flags ...string) (binaries, error) {
	b := binaries{mend: filepath.Join(dir, "mend"), filtered: filepath.Join(dir, "filtered")}
	env := []string{"CGO_ENABLED=0"}
	err := storetest.Build("mend/internal/test/faulttest/filtered", b.filtered, env, flags...)
	if level() != "" {
		err = errors.Join(err, storetest.Build("mend/cmd/mend", b.mend, env, flags...))
	}
	return b, err
}

// run runs the program, and skips the test if calls cannot be stopped.
func run(t *testing.T, p faulttest.Program, f faulttest.Fault, args ...string) faulttest.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), verbTimeout)
	defer cancel()
	r, err := p.Run(ctx, f, args...)
	if errors.Is(err, faulttest.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
