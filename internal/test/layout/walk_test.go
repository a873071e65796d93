package layout

import (
	"cmp"
	"fmt"
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

// TestWalk: each function, type or variable that docs/architecture.md names with its file, such as `txn/txn.go:Run`, is
// declared there, and each other file that the page names exists. A method is named without its receiver. The walk up to
// the durable repair takes a reader fifteen minutes, at 60 lines of code or 250 words a minute.
func TestWalk(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	places := regexp.MustCompile("`([a-z_/]+\\.go):(\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(places) < 15 {
		t.Errorf("docs/architecture.md names %d functions with their files, want at least 15", len(places))
	}
	walk, _, _ := strings.Cut(string(page), "becomes durable")
	lines := map[string]int{} // of the functions to read up to there
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
			t.Errorf("docs/architecture.md names the file %s, which does not exist", m[1])
		}
	}
	for _, m := range places {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "../../../"+m[1], nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.Contains(walk, m[0]) {
			lines[m[0]] = countLines(fset, file, m[2])
		}
		found := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				found = found || n.Name.Name == m[2]
			case *ast.TypeSpec:
				found = found || n.Name.Name == m[2]
			case *ast.ValueSpec:
				found = found || n.Names[0].Name == m[2]
			}
			return !found
		})
		if !found {
			t.Errorf("docs/architecture.md: %s declares no %s", m[1], m[2])
		}
	}
	sum := 0
	for _, n := range lines {
		sum += n
	}
	if minutes := sum/60 + len(strings.Fields(walk))/250; sum == 0 || minutes > 15 {
		t.Errorf("docs/architecture.md: the walk takes %d minutes with %d lines of code, want at most 15", minutes, sum)
	}
}

// countLines returns how many lines a function or type has, with its comment. Of several methods it counts the longest.
func countLines(fset *token.FileSet, file *ast.File, name string) (most int) {
	for _, d := range file.Decls {
		named, from := false, d.Pos()
		var doc *ast.CommentGroup
		switch d := d.(type) {
		case *ast.FuncDecl:
			named, doc = d.Name.Name == name, d.Doc
		case *ast.GenDecl:
			doc = d.Doc
			for _, spec := range d.Specs {
				x, ok := spec.(*ast.TypeSpec)
				named = named || ok && x.Name.Name == name
			}
		}
		if doc != nil {
			from = doc.Pos()
		}
		if named {
			most = max(most, fset.Position(d.End()).Line-fset.Position(from).Line+1)
		}
	}
	return most
}

// TestDiagram: each arrow of the diagram in docs/architecture.md is an import, and the page names each package. A box with
// several packages needs one import; its label has the folders of its packages.
func TestDiagram(t *testing.T) {
	all := packages(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for path := range all {
		if !regexp.MustCompile(`\b` + filepath.Base(path) + `\b`).Match(text) {
			t.Errorf("docs/architecture.md does not name the package %s", path)
		}
	}
	_, diagram, _ := strings.Cut(string(text), "```mermaid\n")
	diagram, _, _ = strings.Cut(diagram, "```")
	label := map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+)\[([^\]<]*)`).FindAllStringSubmatch(diagram, -1) {
		label[m[1]] = m[2]
	}
	diagram = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(diagram, "")
	members := func(box string) (paths []string) {
		for name := range strings.SplitSeq(cmp.Or(label[box], box), ", ") {
			name = strings.TrimPrefix(name, "…/")
			for path := range all {
				if strings.HasSuffix("/"+path, "/"+name) || name == "cmd/mend/internal" && strings.HasPrefix(path, name) {
					paths = append(paths, path)
				}
			}
		}
		return paths
	}
	arrows := 0
	for line := range strings.Lines(diagram) {
		boxes := strings.Split(strings.TrimSpace(line), " --> ")
		for i := 1; i < len(boxes); i++ {
			arrows++
			if !slices.ContainsFunc(members(boxes[i-1]), func(from string) bool {
				return slices.ContainsFunc(members(boxes[i]), func(to string) bool { return all[from].imports[to] })
			}) {
				t.Errorf("docs/architecture.md: no import for the arrow %s --> %s", boxes[i-1], boxes[i])
			}
		}
	}
	if arrows < 50 {
		t.Errorf("docs/architecture.md has %d arrows, want at least 50", arrows)
	}
}

// TestNamedCode: each function, type, field and package that docs/architecture.md names exists. A name with a dot is declared
// in that package, or belongs to that type.
func TestNamedCode(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	declared := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			declared[e.Name()] = true
		}
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			addDeclared(declared, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(?:\\w+\\.)*?((?:\\w+\\.)?\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 100 {
		t.Errorf("docs/architecture.md has %d names, want at least 100", len(names))
	}
	for _, m := range names {
		if ext := filepath.Ext(m[1]); !declared[m[1]] && ext != ".go" && ext != ".js" && ext != ".txt" {
			t.Errorf("docs/architecture.md names %s, which is not declared", m[1])
		}
	}
}

// addDeclared adds the names that a file declares, alone, after their package and after their type.
func addDeclared(declared map[string]bool, file *ast.File) {
	add := func(owner, name string) { declared[name], declared[owner+"."+name] = true, true }
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		add(file.Name.Name, fn.Name.Name)
		if fn.Recv != nil {
			owner := fn.Recv.List[0].Type
			if star, ok := owner.(*ast.StarExpr); ok {
				owner = star.X
			}
			add(fmt.Sprint(owner), fn.Name.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, id := range n.Names {
				add(file.Name.Name, id.Name)
			}
		case *ast.TypeSpec:
			add(file.Name.Name, n.Name.Name)
			var fields *ast.FieldList
			switch x := n.Type.(type) {
			case *ast.StructType:
				fields = x.Fields
			case *ast.InterfaceType:
				fields = x.Methods
			}
			if fields != nil {
				for _, f := range fields.List {
					for _, id := range f.Names {
						add(n.Name.Name, id.Name)
					}
				}
			}
		}
		return true
	})
}

// TestNamedTests: each test that a page names exists.
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
				t.Errorf("%s names %s, which does not exist", path, n)
			}
		}
	}
}
