package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExported: the packages of docs/library.md have no type of an internal package in an exported signature, because other
// modules cannot name such a type.
func TestExported(t *testing.T) {
	for _, name := range []string{"change", "txn", "journal", "fsstore", "sqlstore", "linestore", "undo"} {
		folder := filepath.Join("../../..", name)
		notTest := func(fi fs.FileInfo) bool { return !strings.HasSuffix(fi.Name(), "_test.go") }
		fset := token.NewFileSet()
		pkgs, err := parser.ParseDir(fset, folder, notTest, parser.SkipObjectResolution) //nolint:staticcheck // the build tags do not matter
		if err != nil || len(pkgs) != 1 {
			t.Fatalf("%s: %d packages, %v", name, len(pkgs), err)
		}
		for _, f := range pkgs[name].Files {
			checkExported(t, fset, f)
		}
	}
}

func checkExported(t *testing.T, fset *token.FileSet, f *ast.File) {
	internal := map[string]bool{}
	for _, i := range f.Imports {
		if path := strings.Trim(i.Path.Value, `"`); strings.Contains(path, "/internal/") {
			internal[filepath.Base(path)] = true
		}
	}
	check := func(n ast.Node) {
		if n == nil {
			return
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] {
					t.Errorf("%s: %s.%s is internal", fset.Position(s.Pos()), x.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if slices.Contains([]string{"SalvageSource", "File", "Tree"}, d.Name.Name) { // for salvage and clean, which only mend has
				continue
			}
			if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv.List[0].Type)) {
				check(d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && !s.Assign.IsValid() { // an alias gives the type a name
						checkType(s.Type, check)
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() && s.Type != nil {
						check(s.Type)
					}
				}
			}
		}
	}
}

// checkType checks a type; for a struct it checks the exported fields.
func checkType(e ast.Expr, check func(ast.Node)) {
	s, ok := e.(*ast.StructType)
	if !ok {
		check(e)
		return
	}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			check(f.Type)
		}
	}
}

func exportedReceiver(e ast.Expr) bool {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}
