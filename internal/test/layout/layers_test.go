package layout

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages of this module that each package may import. A package that is not in it may not
// exist.
var layers = map[string][]string{
	"mend/internal/mend":                    {"mend/agent", "mend/change", "mend/internal/fail", "mend/internal/keep", "mend/internal/place", "mend/internal/provider", "mend/internal/request", "mend/internal/scancache", "mend/internal/userdir", "mend/journal", "mend/repair", "mend/txn", "mend/undo"},
	"mend/agent":                            {"mend/change", "mend/internal/fail", "mend/internal/ownfile", "mend/internal/request", "mend/repair", "mend/txn"},
	"mend/agent/claude":                     {"mend/agent", "mend/agent/claude/diagnose", "mend/agent/claude/transcript", "mend/agent/hookfile", "mend/agent/sessionfile", "mend/change", "mend/internal/fail", "mend/internal/git", "mend/internal/jsonedit", "mend/internal/ownfile", "mend/internal/place", "mend/internal/processes", "mend/internal/provider/anthropic", "mend/internal/request", "mend/internal/safedir", "mend/internal/userdir", "mend/linestore", "mend/repair", "mend/txn"},
	"mend/agent/claude/diagnose":            {"mend/agent/claude/transcript", "mend/change", "mend/internal/jsonedit", "mend/internal/ownfile", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/internal/request", "mend/linestore", "mend/repair"},
	"mend/agent/claude/transcript":          {"mend/change", "mend/internal/jsonedit", "mend/internal/request"},
	"mend/agent/codex":                      {"mend/agent", "mend/agent/codex/rollout", "mend/agent/hookfile", "mend/agent/sessionfile", "mend/change", "mend/internal/aside", "mend/internal/fail", "mend/internal/ownfile", "mend/internal/processes", "mend/internal/provider", "mend/internal/provider/openai", "mend/internal/request", "mend/internal/safedir", "mend/internal/userdir", "mend/repair", "mend/sqlstore", "mend/txn"},
	"mend/agent/codex/rollout":              {"mend/change", "mend/internal/jsonedit", "mend/internal/provider", "mend/internal/provider/openai", "mend/internal/request", "mend/repair"},
	"mend/agent/hookfile":                   {"mend/agent", "mend/change", "mend/internal/fail", "mend/internal/jsonedit", "mend/internal/userdir"},
	"mend/agent/sessionfile":                {"mend/agent", "mend/change", "mend/fsstore", "mend/internal/aside", "mend/internal/memory", "mend/internal/safedir", "mend/internal/userdir", "mend/linestore", "mend/sqlstore", "mend/txn"},
	"mend/agent/opencode":                   {"mend/agent", "mend/agent/opencode/database", "mend/agent/opencode/diagnose", "mend/agent/opencode/record", "mend/agent/opencode/render", "mend/agent/opencode/tree", "mend/change", "mend/internal/fail", "mend/internal/git", "mend/internal/jsonedit", "mend/internal/ownfile", "mend/internal/place", "mend/internal/provider/chat", "mend/internal/request", "mend/internal/userdir", "mend/repair", "mend/txn"},
	"mend/agent/opencode/database":          {"mend/agent", "mend/agent/opencode/js", "mend/agent/opencode/record", "mend/change", "mend/internal/fail", "mend/internal/memory", "mend/internal/salvage", "mend/sqlstore"},
	"mend/agent/opencode/diagnose":          {"mend/agent/opencode/js", "mend/agent/opencode/record", "mend/agent/opencode/render", "mend/agent/opencode/schema", "mend/change", "mend/internal/jsonedit", "mend/internal/media", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/internal/provider/bedrock", "mend/internal/provider/chat", "mend/internal/provider/gemini", "mend/internal/provider/openai", "mend/internal/request", "mend/repair"},
	"mend/agent/opencode/js":                {"mend/change", "mend/internal/jsonedit"},
	"mend/agent/opencode/record":            {"mend/agent/opencode/js", "mend/change", "mend/internal/jsonedit"},
	"mend/agent/opencode/render":            {"mend/agent/opencode/js", "mend/agent/opencode/record", "mend/agent/opencode/schema", "mend/change", "mend/internal/jsonedit", "mend/internal/media", "mend/internal/provider", "mend/internal/request"},
	"mend/agent/opencode/schema":            {"mend/agent/opencode/js", "mend/agent/opencode/record", "mend/change", "mend/internal/jsonedit", "mend/internal/request"},
	"mend/agent/opencode/tree":              {"mend/agent", "mend/agent/opencode/record", "mend/change", "mend/fsstore", "mend/internal/memory", "mend/internal/ownfile", "mend/internal/processes", "mend/internal/safedir"},
	"mend/change":                           {},
	"mend/cmd/mend":                         {"mend/agent/claude", "mend/agent/codex", "mend/agent/opencode", "mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/inspect", "mend/cmd/mend/internal/rare", "mend/cmd/mend/internal/repairs", "mend/cmd/mend/internal/restore", "mend/cmd/mend/internal/running", "mend/cmd/mend/internal/show", "mend/cmd/mend/internal/space", "mend/internal/atomicfile", "mend/internal/mend", "mend/internal/term", "mend/journal", "mend/repair", "mend/testdata", "mend/txn"},
	"mend/cmd/mend/internal/agents":         {"mend/agent", "mend/agent/claude", "mend/agent/codex", "mend/agent/opencode", "mend/change"},
	"mend/cmd/mend/internal/frame":          {"mend/agent", "mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/show", "mend/internal/atomicfile", "mend/internal/config", "mend/internal/fail", "mend/internal/keep", "mend/internal/mend", "mend/internal/ownfile", "mend/internal/request", "mend/internal/term", "mend/internal/termjson", "mend/internal/userdir", "mend/journal", "mend/repair", "mend/txn"},
	"mend/cmd/mend/internal/inspect":        {"mend/agent", "mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/show", "mend/internal/culprit", "mend/internal/fail", "mend/internal/jsonedit", "mend/internal/keep", "mend/internal/mend", "mend/internal/report", "mend/internal/request", "mend/internal/term", "mend/internal/ui", "mend/internal/watch", "mend/journal", "mend/repair"},
	"mend/cmd/mend/internal/rare":           {"mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/show", "mend/internal/config", "mend/internal/fail", "mend/internal/keep", "mend/internal/mend", "mend/internal/term", "mend/journal"},
	"mend/cmd/mend/internal/repairs":        {"mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/show", "mend/internal/config", "mend/internal/culprit", "mend/internal/fail", "mend/internal/mend", "mend/internal/ownfile", "mend/internal/request", "mend/internal/term", "mend/internal/termjson", "mend/journal", "mend/repair"},
	"mend/cmd/mend/internal/restore":        {"mend/agent", "mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/show", "mend/internal/fail", "mend/internal/keep", "mend/internal/mend", "mend/internal/term", "mend/repair"},
	"mend/cmd/mend/internal/running":        {"mend/agent", "mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/show", "mend/internal/atomicfile", "mend/internal/config", "mend/internal/fail", "mend/internal/hooks", "mend/internal/keep", "mend/internal/live", "mend/internal/mend", "mend/internal/ownfile", "mend/internal/term", "mend/internal/termjson", "mend/internal/unattended", "mend/internal/watch", "mend/journal", "mend/repair"},
	"mend/cmd/mend/internal/show":           {"mend/agent", "mend/change", "mend/cmd/mend/internal/agents", "mend/internal/jsonedit", "mend/internal/keep", "mend/internal/mend", "mend/internal/term", "mend/journal", "mend/repair"},
	"mend/cmd/mend/internal/space":          {"mend/agent", "mend/change", "mend/cmd/mend/internal/agents", "mend/cmd/mend/internal/frame", "mend/cmd/mend/internal/show", "mend/internal/fail", "mend/internal/mend", "mend/internal/term", "mend/repair"},
	"mend/fsstore":                          {"mend/change", "mend/internal/atomicfile", "mend/internal/safedir", "mend/internal/stage"},
	"mend/internal/aside":                   {"mend/change", "mend/internal/atomicfile", "mend/internal/fail", "mend/internal/ownfile", "mend/internal/safedir", "mend/internal/stage"},
	"mend/internal/atomicfile":              {"mend/internal/ownfile"},
	"mend/internal/boltfile":                {"mend/internal/ownfile"},
	"mend/internal/config":                  {"mend/internal/ownfile", "mend/internal/userdir"},
	"mend/internal/culprit":                 {"mend/change", "mend/internal/mend", "mend/internal/provider", "mend/repair"},
	"mend/internal/fail":                    {"mend/change", "mend/internal/boltfile", "mend/journal", "mend/txn", "mend/undo"},
	"mend/internal/git":                     {"mend/internal/ownfile"},
	"mend/internal/jsonedit":                {},
	"mend/internal/hooks":                   {"mend/change", "mend/internal/live"},
	"mend/internal/keep":                    {"mend/change", "mend/internal/boltfile", "mend/internal/fail", "mend/internal/memory", "mend/internal/ownfile"},
	"mend/internal/live":                    {"mend/agent", "mend/change", "mend/internal/fail", "mend/internal/termjson", "mend/repair"},
	"mend/internal/media":                   {},
	"mend/internal/memory":                  {},
	"mend/internal/ownfile":                 {},
	"mend/internal/place":                   {"mend/internal/git", "mend/internal/userdir"},
	"mend/internal/processes":               {},
	"mend/internal/provider":                {"mend/change", "mend/internal/request"},
	"mend/internal/provider/anthropic":      {"mend/change", "mend/internal/media", "mend/internal/provider", "mend/internal/request"},
	"mend/internal/provider/bedrock":        {"mend/change", "mend/internal/media", "mend/internal/provider", "mend/internal/request"},
	"mend/internal/provider/chat":           {"mend/change", "mend/internal/media", "mend/internal/provider", "mend/internal/request"},
	"mend/internal/provider/gemini":         {"mend/change", "mend/internal/media", "mend/internal/provider", "mend/internal/request"},
	"mend/internal/provider/openai":         {"mend/change", "mend/internal/media", "mend/internal/provider", "mend/internal/request"},
	"mend/internal/report":                  {"mend/change", "mend/internal/request", "mend/internal/termjson", "mend/repair"},
	"mend/internal/request":                 {"mend/change", "mend/internal/jsonedit", "mend/internal/media"},
	"mend/internal/safedir":                 {"mend/internal/atomicfile", "mend/internal/ownfile"},
	"mend/internal/salvage":                 {"mend/change", "mend/internal/fail"},
	"mend/internal/scancache":               {"mend/change", "mend/internal/atomicfile", "mend/internal/ownfile", "mend/repair"},
	"mend/internal/term":                    {"mend/internal/fail"},
	"mend/internal/termjson":                {},
	"mend/internal/test/bigstore":           {"mend/testdata"},
	"mend/internal/test/claude":             {"mend/agent/claude/diagnose", "mend/agent/claude/transcript", "mend/internal/jsonedit", "mend/internal/provider/anthropic", "mend/internal/request", "mend/internal/test/encode", "mend/internal/test/endpoint", "mend/internal/test/npm"},
	"mend/internal/test/codex":              {"mend/internal/ownfile", "mend/internal/test/endpoint", "mend/internal/test/npm", "mend/internal/test/storetest", "mend/testdata"},
	"mend/internal/test/corpus":             {},
	"mend/internal/test/crosscheck":         {},
	"mend/internal/test/damage":             {},
	"mend/internal/test/dbtest":             {"mend/agent/opencode/record", "mend/change", "mend/internal/test/storetest", "mend/sqlstore", "mend/testdata"},
	"mend/internal/test/encode":             {"mend/change", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/internal/provider/bedrock", "mend/internal/provider/chat", "mend/internal/provider/gemini", "mend/internal/provider/openai", "mend/internal/request"},
	"mend/internal/test/endpoint":           {},
	"mend/internal/test/faulttest":          {},
	"mend/internal/test/faulttest/filtered": {"mend/internal/test/faulttest"},
	"mend/internal/test/mutants":            {},
	"mend/internal/test/layout":             {},
	"mend/internal/test/mutation":           {},
	"mend/internal/test/npm":                {},
	"mend/internal/test/opencode":           {"mend/internal/test/damage", "mend/internal/test/endpoint", "mend/internal/test/npm", "mend/testdata"},
	"mend/internal/test/real":               {},
	"mend/internal/test/tables":             {"mend/change", "mend/internal/mend", "mend/internal/term", "mend/internal/test/storetest", "mend/repair"},
	"mend/internal/test/storetest":          {"mend/change", "mend/internal/jsonedit", "mend/internal/safedir"},
	"mend/internal/ui":                      {"mend/internal/term"},
	"mend/internal/unattended":              {"mend/agent", "mend/change", "mend/internal/mend", "mend/journal", "mend/repair"},
	"mend/internal/userdir":                 {},
	"mend/journal":                          {"mend/change", "mend/internal/boltfile", "mend/internal/ownfile"},
	"mend/internal/watch":                   {"mend/change"},
	"mend/internal/stage":                   {"mend/change", "mend/internal/atomicfile", "mend/internal/ownfile", "mend/internal/safedir"},
	"mend/linestore":                        {"mend/change", "mend/internal/atomicfile", "mend/internal/safedir", "mend/internal/stage"},
	"mend/repair":                           {"mend/change", "mend/internal/fail", "mend/internal/jsonedit", "mend/internal/request"},
	"mend/sqlstore":                         {"mend/change", "mend/internal/aside", "mend/internal/fail", "mend/internal/ownfile", "mend/internal/processes", "mend/internal/salvage", "mend/internal/stage"},
	"mend/testdata":                         {},
	"mend/txn":                              {"mend/change", "mend/journal"},
	"mend/undo":                             {"mend/change"},
}

// pure packages hold values and rules: they do no I/O.
var pure = []string{"mend/agent/codex/rollout", "mend/agent/claude/transcript", "mend/agent/opencode/diagnose", "mend/agent/opencode/js", "mend/agent/opencode/record", "mend/agent/opencode/render", "mend/agent/opencode/schema", "mend/change", "mend/internal/jsonedit", "mend/internal/media", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/internal/provider/bedrock", "mend/internal/provider/chat", "mend/internal/provider/gemini", "mend/internal/provider/openai", "mend/internal/request", "mend/repair", "mend/undo"}

func TestLayers(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...", "./testdata")
	list.Dir = "../../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, imports := fields[0], fields[1:]
		allowed, ok := layers[pkg]
		if !ok {
			t.Errorf("package %s is not in the table of layers", pkg)
		}
		for _, i := range imports {
			if strings.HasPrefix(i, "mend/") && !slices.Contains(allowed, i) {
				t.Errorf("%s imports %s, which its layer does not allow", pkg, i)
			}
			if !strings.HasPrefix(pkg, "mend/internal/test/") && (i == "net" || i == "net/http") {
				t.Errorf("%s imports %s, and mend is to make no connection", pkg, i)
			}
			if slices.Contains(pure, pkg) && (i == "os" || i == "net" || i == "net/http" || i == "time/tzdata") {
				t.Errorf("%s imports %s, and is to do no I/O", pkg, i)
			}
		}
	}
}
