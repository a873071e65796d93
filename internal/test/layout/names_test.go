package layout

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

// TestNames checks that no type, function, method or exported field has a name that
// docs/glossary.md lists as replaced.
func TestNames(t *testing.T) {
	better := replacedNames(t)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, id := range declaredNames(file) {
			if b, ok := better[strings.ToLower(id.Name)]; ok {
				t.Errorf("%v: the name %s was replaced: %s (docs/glossary.md)", fset.Position(id.Pos()), id.Name, b)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// replacedNames returns the names of the last table of the glossary in lower case, with
// what it recommends instead.
func replacedNames(t *testing.T) map[string]string {
	page, err := os.ReadFile("../../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "\n| replaced | use |\n")
	if !found {
		t.Fatal("docs/glossary.md has no table of replaced names")
	}
	name := regexp.MustCompile("`([^`]+)`")
	better := map[string]string{}
	for row := range strings.Lines(list) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			key := strings.ToLower(m[1])
			if better[key] != "" {
				t.Errorf("docs/glossary.md lists %s twice", m[1])
			}
			better[key] = strings.TrimSpace(cells[2])
		}
	}
	if len(better) < 50 {
		t.Errorf("docs/glossary.md lists %d replaced names, want at least 50", len(better))
	}
	return better
}

// declaredNames returns the names of the types, functions and methods that the file
// declares, those of interfaces included, and of the exported fields of its structs.
func declaredNames(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				names = append(names, m.Names...)
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				for _, id := range f.Names {
					if id.IsExported() {
						names = append(names, id)
					}
				}
			}
		}
		return true
	})
	return names
}
