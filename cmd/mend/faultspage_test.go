package main

import (
	"bytes"
	"encoding/json"
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
	"unicode/utf8"

	"mend/cmd/mend/internal/agents"
	"mend/internal/mend"
	"mend/repair"
)

// TestFaultsPage: each row of the fault model in docs/verified.md names tests that exist.
func TestFaultsPage(t *testing.T) {
	tests := testNames(t)
	names := regexp.MustCompile("`([^`]+)`")
	page, err := os.ReadFile("../../docs/verified.md")
	if err != nil {
		t.Fatal(err)
	}
	_, model, _ := bytes.Cut(page, []byte("## The fault model"))
	model, _, _ = bytes.Cut(model, []byte("\n## "))
	rows := 0
	for line := range strings.Lines(string(model)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) < 3 || strings.HasPrefix(cells[0], "|--") || strings.HasSuffix(line, "| tests |\n") {
			continue
		}
		rows++
		found := names.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(found) == 0 {
			t.Errorf("%s: no test is named", cells[0])
		}
		for _, test := range found {
			if !tests[test[1]] {
				t.Errorf("%s: there is no test %s", cells[0], test[1])
			}
		}
	}
	if rows == 0 {
		t.Error("the fault model has no row")
	}
}

// testNames returns the names of all tests of the module, with their packages, and of all stories.
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

// TestTiersPage: docs/faults.md has the tier of each class.
func TestTiersPage(t *testing.T) {
	classes := map[repair.Tier][]string{}
	_, out := runMendHere(t, &bytes.Buffer{}, t.TempDir(), "explain", "--json")
	var answer struct {
		Topics []struct {
			repair.Explanation
			Kind string
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	for _, topic := range answer.Topics {
		if strings.HasPrefix(topic.Kind, "Kinds of damage") {
			classes[topic.Tier] = append(classes[topic.Tier], "`"+topic.Code+"`")
		}
	}
	var want strings.Builder
	for _, tier := range []repair.Tier{repair.Auto, repair.Ask, repair.Report} {
		slices.Sort(classes[tier])
		want.WriteString("* *" + string(tier) + "*: " + strings.Join(classes[tier], ", ") + "\n")
		delete(classes, tier)
	}
	if len(classes) > 0 {
		t.Errorf("classes with an unknown tier: %v", classes)
	}
	compareList(t, "tiers", "TestTiersPage", want.String())
}

// TestAsidePage: docs/faults.md has the rules without a fix of each agent.
func TestAsidePage(t *testing.T) {
	var want strings.Builder
	want.WriteString("| agent | rule | class | what mend says |\n|---|---|---|---|\n")
	for _, ag := range agents.All {
		if ag.Name() == "kilo" { // stores as OpenCode does
			continue
		}
		for _, e := range ag.Guide().Rules() {
			if e.NoFix != "" {
				fmt.Fprintf(&want, "| %s | `%s` | `%s` | %s |\n", ag.Title(), e.Code, e.Class, strings.ReplaceAll(e.NoFix, "|", "\\|"))
			}
		}
	}
	compareList(t, "set aside", "TestAsidePage", want.String())
}

// compareList compares a list in docs/faults.md, between its marks. With -update it writes the list.
func compareList(t *testing.T, name, test, want string) {
	t.Helper()
	const file = "../../docs/faults.md"
	begin, end := "<!-- "+name+": written by "+test+" -update -->\n", "<!-- end of "+name+" -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), begin)
	got, after, ok := strings.Cut(rest, end)
	if want = "\n" + want + "\n"; !ok || got != want {
		if !*update {
			t.Fatalf("docs/faults.md has\n%swant\n%s", got, want)
		}
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadmeCommands: the README is short, its beginning has a picture and the commands for a machine that has only Go,
// and mend recognises each error that it lists.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(readme)), "\n")
	if len(lines) > 120 {
		t.Errorf("the README has %d lines, want at most 120", len(lines))
	}
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("line %d of the README has %d characters, want at most 100", i+1, n)
		}
	}
	for want, most := range map[string]int{"](docs/demo.svg)": 10, "    go run ./cmd/mend demo ": 25, "    go test ./... ": 25, "first build": 25} {
		if at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, want) }); at < 0 || at >= most {
			t.Errorf("the first %d lines of the README do not have %q", most, want)
		}
	}
	_, known, _ := strings.Cut(string(readme), "## Is it your error?\n\n")
	known, _, _ = strings.Cut(known, "\n    … or ")
	for line := range strings.SplitSeq(known, "\n") {
		text, _, _ := strings.Cut(strings.TrimSpace(line), "  (") // before a command that helps
		if e := mend.Agents(agents.All).ParseAPIError([]byte(text)); !e.Recognised {
			t.Errorf("the README lists an error that mend does not know: %s", text)
		}
	}
}
