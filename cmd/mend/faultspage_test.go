package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultsPage checks that every test that docs/found-faults.md and docs/origin.md name exists, and
// that each of their rows names one.
func TestFaultsPage(t *testing.T) {
	tests := testNames(t)
	names := regexp.MustCompile("`([^`]+)`")
	for _, name := range []string{"found-faults.md", "origin.md"} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(page)) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if len(cells) < 3 || strings.HasPrefix(cells[0], "|--") || strings.HasSuffix(line, "| tests |\n") {
				continue
			}
			rows++
			found := names.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(found) == 0 {
				t.Errorf("%s: %s: no test is named", name, cells[0])
			}
			for _, test := range found {
				if !tests[test[1]] {
					t.Errorf("%s: %s: there is no test %s", name, cells[0], test[1])
				}
			}
		}
		if rows == 0 {
			t.Errorf("%s has no row", name)
		}
	}
}

// testNames are the names of all tests of the module, with their packages, and of
// all stories.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			return addTests(all, path)
		case strings.HasSuffix(path, ".txtar"):
			all[d.Name()] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func addTests(all map[string]bool, file string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg := filepath.Base(filepath.Dir(file))
	if pkg == ".." { // the root of the module
		pkg = "mend"
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
			all[pkg+"."+fn.Name.Name] = true
		}
	}
	return nil
}

// TestReadmeCommands checks that the first page of the README has what a machine needs on which
// nothing is installed but Go.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(readme), "\n## ")
	for _, line := range []string{"\n    go run ./cmd/mend demo ", "\n    go test ./... ", "first build"} {
		if !strings.Contains(first, line) {
			t.Errorf("the README has no %q before its first section", line)
		}
	}
}
