package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWalk checks that each function that docs/architecture.md names with its file, such as `txn/txn.go:Run`,
// is declared there, and that each other file that it names exists. A method is named without its receiver.
func TestWalk(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	places := regexp.MustCompile("`([a-z_/]+\\.go):(\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(places) < 15 {
		t.Errorf("docs/architecture.md names %d functions with their files, want at least 15", len(places))
	}
	var files []string
	err = filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		files = append(files, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.(?:go|js|md|tsv|txt|golden))`").FindAllStringSubmatch(string(page), -1) {
		if !slices.ContainsFunc(files, func(path string) bool { return strings.HasSuffix(path, "/"+m[1]) }) {
			t.Errorf("docs/architecture.md: there is no file %s", m[1])
		}
	}
	for _, m := range places {
		file, err := parser.ParseFile(token.NewFileSet(), "../../../"+m[1], nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		found := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				found = found || n.Name.Name == m[2]
			case *ast.TypeSpec:
				found = found || n.Name.Name == m[2]
			}
			return !found
		})
		if !found {
			t.Errorf("docs/architecture.md: %s declares no %s", m[1], m[2])
		}
	}
}

// TestNamedTests checks that each test that a page names exists.
func TestNamedTests(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	declared, named := map[string]bool{}, map[string][]string{}
	name := regexp.MustCompile(`\bTest[A-Z]\w+`)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		test := strings.HasSuffix(path, "_test.go")
		if err != nil || e.IsDir() || !test && filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if test {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(text, -1) {
				declared[string(m[1])] = true
			}
		} else {
			named[path] = name.FindAllString(string(text), -1)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, names := range named {
		for _, n := range names {
			if !declared[n] {
				t.Errorf("%s names %s, and there is no such test", path, n)
			}
		}
	}
}
