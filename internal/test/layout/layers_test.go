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
	"sync"
	"testing"
)

// A pkg is a package of this module, without its tests, for all systems and build tags.
type pkg struct {
	doc      string          // the package doc, each run of white space as one blank
	docs     int             // how many files have a package doc
	imports  map[string]bool // packages of this module, without the module's path
	others   map[string]bool // packages of other modules
	declared map[string]bool // functions, types and variables; methods without their receivers
}

// packages returns the packages of this module by their folders.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	all, err := parsePackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsePackages = sync.OnceValues(func() (map[string]*pkg, error) {
	root := filepath.Join("..", "..", "..")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	module := strings.Fields(string(mod))[1] + "/"
	all := map[string]*pkg{}
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			path := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
			if path == "tools" || strings.HasSuffix(path, "/testdata") || strings.HasPrefix(e.Name(), ".") && e.Name() != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(name), root+string(filepath.Separator)))
		p := all[path]
		if p == nil {
			p = &pkg{imports: map[string]bool{}, others: map[string]bool{}, declared: map[string]bool{}}
			all[path] = p
		}
		p.add(f, module)
		return nil
	})
	return all, err
})

func (p *pkg) add(f *ast.File, module string) {
	if f.Doc != nil {
		p.docs++
		p.doc = strings.Join(strings.Fields(f.Doc.Text()), " ")
	}
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if own, ok := strings.CutPrefix(path, module); ok {
			p.imports[own] = true
		} else {
			p.others[path] = true
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.declared[d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					p.declared[spec.Name.Name] = true
				case *ast.ValueSpec:
					p.declared[spec.Names[0].Name] = true
				}
			}
		}
	}
}

// TestLayers: each package imports exactly the packages in the sentence "It may import …" of its package doc, or none if it has
// "It imports nothing of mend". The functions in the sentence "Read …" exist.
func TestLayers(t *testing.T) {
	allowed := regexp.MustCompile(`It may import ([^.]*)\.`)
	first := regexp.MustCompile(`Read (\[?[\w.]+\]?)(?: and (?:the table in )?(\[?[\w.]+\]?))? first[.;]`)
	for path, p := range packages(t) {
		if p.docs != 1 {
			t.Errorf("%s has %d package docs, want 1", path, p.docs)
			continue
		}
		var names []string
		if m := allowed.FindStringSubmatch(p.doc); m != nil {
			names = strings.Split(strings.ReplaceAll(m[1], " and ", ", "), ", ")
		} else if !strings.Contains(p.doc, "It imports nothing of mend.") {
			t.Errorf(`%s: the package doc has no sentence "It may import A, B and C." or "It imports nothing of mend."`, path)
		}
		for name := range p.imports {
			if !slices.Contains(names, name) {
				t.Errorf("%s imports %s, and its package doc does not allow it", path, name)
			}
		}
		for _, name := range names {
			if !p.imports[name] {
				t.Errorf("%s does not import %s, so its package doc should not name it", path, name)
			}
		}
		read := first.FindStringSubmatch(p.doc)
		if read == nil && !strings.HasPrefix(path, "internal/test/") {
			t.Errorf(`%s: the package doc has no sentence "Read A and B first."`, path)
		}
		for _, name := range read {
			if name = strings.Trim(name, "[]"); strings.Contains(name, " ") || name == "" {
				continue
			}
			if _, method, ok := strings.Cut(name, "."); ok {
				name = method
			}
			if !p.declared[name] {
				t.Errorf("%s: the package doc names %s, and no such function or type is declared", path, name)
			}
		}
	}
}

// boundaries are rules about many packages: a package that matches from imports no package that matches to.
var boundaries = []struct{ from, to, why string }{
	{
		`^(change|txn|journal|undo)$`, `^agent|^internal/provider|store$|^repair$`,
		"transactions know no agent, provider, storage or engine",
	},
	{
		`^(fsstore|sqlstore|linestore)$|^internal/(aside|stage)$`, `^(txn|journal|undo|repair)$|^agent`,
		"a store does not know why bytes change",
	},
	{`^repair$`, `^agent|^internal/provider|store$|^(txn|journal|undo)$`, "the engine knows rules by their codes"},
	{
		`^internal/(provider|request|jsonedit|media)`, `^(repair|txn|journal|undo)$|store$|^agent`,
		"a provider's rules are predicates on a request",
	},
	{`^agent(/sessionfile|/hookfile)?$|^internal/(term|[^t])`, `^agent/(claude|codex|opencode)`, "they are for every agent"},
	{`^agent/claude`, `^agent/(codex|opencode)`, "an agent does not know other agents"},
	{`^agent/codex`, `^agent/(claude|opencode)`, "an agent does not know other agents"},
	{`^agent/opencode`, `^agent/(claude|codex)`, "an agent does not know other agents"},
	{
		`^cmd/mend/internal/`, `^cmd/mend/internal/(repairs|inspect|restore|space|running|rare)$`,
		"a verb calls no verb, and the frame knows none",
	},
	{`^cmd/mend/internal/[^a]`, `^agent/`, "only the list of agents and the demo know agents"},
	{`^cmd/mend/internal/(agents|show)$`, `^cmd/mend/internal/frame$`, "they print and list, and open nothing"},
	{
		`^(agent|change|cmd|fsstore|journal|linestore|repair|sqlstore|txn|undo|internal/(term|[^t]))`, `^internal/test/`,
		"the product needs no test code",
	},
}

// TestBoundaries: the boundaries hold, no package makes a connection, and a package that does no I/O does not import os.
func TestBoundaries(t *testing.T) {
	all := packages(t)
	for _, b := range boundaries {
		from, to := regexp.MustCompile(b.from), regexp.MustCompile(b.to)
		for path, p := range all {
			if !from.MatchString(path) || strings.HasPrefix(path, "internal/test/") {
				continue
			}
			for name := range p.imports {
				if to.MatchString(name) {
					t.Errorf("%s imports %s, but %s", path, name, b.why)
				}
			}
		}
	}
	for path, p := range all {
		if (p.others["net"] || p.others["net/http"]) && !strings.HasPrefix(path, "internal/test/") {
			t.Errorf("%s imports net, but mend makes no connection", path)
		}
		if p.others["os"] && strings.Contains(p.doc, "It does no I/O.") {
			t.Errorf("%s imports os, and its package doc promises no I/O", path)
		}
	}
}
