package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nestedModules are the modules below the main one. They import it from the folder above.
var nestedModules = []string{"tools/dist"}

// renameModule sets the module path to MODULE of project.env: in the go.mod files, in imports and
// other names of packages in Go files, and in the settings of the linter.
func renameModule(root string) error {
	p, err := readProject(root)
	if err != nil {
		return err
	}
	out, err := run(root, []string{"GOWORK=off"}, "go", "list", "-m")
	if err != nil {
		return err
	}
	from, to := strings.TrimSpace(string(out)), p["MODULE"]
	if from == to {
		fmt.Println("the module path is", to, "already")
		return nil
	}
	if err := renameModFiles(root, from, to); err != nil {
		return err
	}
	names, err := run(root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go", ".golangci.yml")
	if err != nil {
		return err
	}
	changed := 0
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		path := filepath.Join(root, name)
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after, err := renameIn(root, name, before, from, to)
		if err != nil {
			return err
		}
		if bytes.Equal(before, after) {
			continue
		}
		changed++
		if err := os.WriteFile(path, after, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("the module path is now %s instead of %s, in %d files\n", to, from, changed)
	return nil
}

// renameModFiles renames the main module, and what the nested ones require.
func renameModFiles(root, from, to string) error {
	if _, err := run(root, nil, "go", "mod", "edit", "-module", to); err != nil {
		return err
	}
	for _, dir := range nestedModules {
		mod := filepath.Join(dir, "go.mod")
		text, err := os.ReadFile(filepath.Join(root, mod))
		if err != nil {
			return err
		}
		args := []string{"mod", "edit", "-module", to + "/" + dir}
		if bytes.Contains(text, []byte("replace "+from+" =>")) {
			args = append(args, "-droprequire", from, "-dropreplace", from, "-require", to+"@v0.0.0", "-replace", to+"=../../")
		}
		if _, err := run(root, nil, "go", append(args, mod)...); err != nil {
			return err
		}
	}
	return nil
}

// linterPackage matches the name of a package in the settings of the linter.
const linterPackage = `(\[|, |: )%s([,/$\])}]|$)`

func renameIn(root, name string, text []byte, from, to string) ([]byte, error) {
	if filepath.Ext(name) == ".go" {
		return renameInGo(root, name, text, from, to)
	}
	pattern, err := regexp.Compile("(?m)" + fmt.Sprintf(linterPackage, regexp.QuoteMeta(from)))
	if err != nil {
		return nil, err
	}
	for range 2 { // neighbours share a separator
		text = pattern.ReplaceAll(text, []byte("${1}"+to+"${2}"))
	}
	return text, nil
}

// renameInGo renames imports, and texts that name a package of the module.
func renameInGo(root, name string, text []byte, from, to string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	type edit struct {
		at, end int
		text    string
	}
	var edits []edit
	imports := map[*ast.BasicLit]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ImportSpec); ok {
			imports[spec.Path] = true
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(lit.Value)
		rest, ok := strings.CutPrefix(value, from)
		if err != nil || !ok || rest != "" && rest[0] != '/' {
			return true
		}
		if imports[lit] || isPackage(root, rest) {
			at := fset.Position(lit.Pos()).Offset
			edits = append(edits, edit{at, at + len(lit.Value), strconv.Quote(to + rest)})
		}
		return true
	})
	for _, e := range slices.Backward(edits) {
		text = slices.Concat(text[:e.at], []byte(e.text), text[e.end:])
	}
	return text, nil
}

// isPackage reports whether the path below the module's root is the folder of a package.
func isPackage(root, rest string) bool {
	if rest == "" {
		return false // the name of the program
	}
	found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(rest), "*.go"))
	return len(found) > 0
}
