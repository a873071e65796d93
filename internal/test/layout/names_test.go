package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lonePrepositions matches names that are a preposition. The idioms of Go, such as ImageOf, ReadAt and WithX, are longer.
var lonePrepositions = regexp.MustCompile(`(?i)^(as|at|before|after|below|above|by|for|from|in|of|on|since|to|until|up|with)$`)

// lastPrepositions matches names that end in a preposition that no idiom of Go has.
var lastPrepositions = regexp.MustCompile(`[a-z](Among|Behind|Beside|Between|By|Into|Off|On|Out|Over|Under|Upon|Within|Without)$`)

// allowedNames end in a particle of their verb, or in the name of a state.
var allowedNames = map[string]bool{
	"carryOver": true, "fixThinkingOff": true, "checkThinkingOff": true, "OnOrOff": true,
}

// TestNames: no function, method or type of mend is named by a preposition, because a call then does not show whether it is a
// question, an action or a value.
func TestNames(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		slashed := filepath.ToSlash(path)
		if err != nil || !strings.HasSuffix(slashed, ".go") || strings.HasSuffix(slashed, "_test.go") ||
			strings.Contains(slashed, "/internal/test/") || strings.Contains(slashed, "/testdata/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			name := ""
			switch node := node.(type) {
			case *ast.FuncDecl:
				name = node.Name.Name
			case *ast.TypeSpec:
				name = node.Name.Name
			}
			n++
			if (lonePrepositions.MatchString(name) || lastPrepositions.MatchString(name)) && !allowedNames[name] {
				t.Errorf("%s: %s is named by a preposition", slashed, name)
			}
			return true
		})
		return nil
	})
	if err != nil || n < 100_000 {
		t.Fatalf("%d nodes, %v", n, err)
	}
}
