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
