package report

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite words.txt and the golden pages")

// TestVocabulary: words.txt has all words of the source texts that describe findings and fields. A page replaces every
// other word.
func TestVocabulary(t *testing.T) {
	words := sourceWords(t)
	list := strings.Join(slices.Sorted(maps.Keys(words)), "\n") + "\n"
	if *update {
		if err := os.WriteFile("words.txt", []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var missing []string
	for word := range words {
		if !vocabulary()[word] {
			missing = append(missing, word)
		}
	}
	if len(missing) > 0 {
		t.Errorf("words.txt has no %q: run go test ./internal/report -run Vocabulary -update", missing)
	}
}

// sourceWords returns the words in the string literals of the packages that write sentences.
func sourceWords(t *testing.T) map[string]bool {
	words := map[string]bool{}
	add := func(text string) {
		for _, word := range wordForm().FindAllString(text, -1) {
			if strings.Trim(word, "0123456789") != "" {
				words[strings.ToLower(word)] = true
			}
		}
	}
	for _, path := range []string{
		"internal/provider/common.txt", "agent/claude/diagnose/errors.txt", "agent/codex/errors.txt", "agent/opencode/diagnose/errors.txt",
	} {
		explained, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		add(string(explained))
	}
	for _, dir := range []string{"agent", "internal/fail", "internal/provider", "repair", "internal/request", "change", "sqlstore", "fsstore", "linestore", "internal/jsonedit"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if _, ok := n.(*ast.ImportSpec); ok {
					return false
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					add(text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return words
}
