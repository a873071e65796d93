package mend_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers is what each package may import of this module: the table of the
// design. A package that is not in it may not exist.
var layers = map[string][]string{
	"mend/internal/live":                    {"mend/session", "mend/repair", "mend/internal/termjson"},
	"mend/internal/config":                  {"mend/internal/ownfile", "mend/internal/userdir"},
	"mend/internal/jsonedit":                {},
	"mend/session":                          {},
	"mend/change":                           {"mend/session"},
	"mend/repair":                           {"mend/session", "mend/change", "mend/internal/request"},
	"mend/undo":                             {"mend/session", "mend/change"},
	"mend/internal/scancache":               {"mend/session", "mend/repair", "mend/internal/atomicfile", "mend/internal/ownfile"},
	"mend/agent/opencode/tree":              {"mend/session", "mend/fsstore", "mend/internal/memory", "mend/internal/ownfile", "mend/internal/processes", "mend/internal/safedir", "mend/agent/opencode/record"},
	"mend/fsstore":                          {"mend/session", "mend/change", "mend/internal/atomicfile", "mend/internal/ownfile", "mend/internal/safedir"},
	"mend/linestore":                        {"mend/session", "mend/change", "mend/internal/atomicfile", "mend/internal/ownfile", "mend/internal/safedir"},
	"mend/agent/opencode/database":          {"mend/session", "mend/change", "mend/sqlstore", "mend/internal/memory", "mend/agent/opencode/record", "mend/agent/opencode/js"},
	"mend/sqlstore":                         {"mend/session", "mend/change", "mend/internal/ownfile", "mend/internal/processes"},
	"mend/journal":                          {"mend/session", "mend/change", "mend/journal/boltread", "mend/internal/ownfile"},
	"mend/journal/boltread":                 {},
	"mend/txn":                              {"mend/change", "mend/journal"},
	"mend":                                  {"mend/agent", "mend/session", "mend/change", "mend/repair", "mend/internal/provider", "mend/undo", "mend/journal", "mend/txn", "mend/internal/scancache", "mend/internal/userdir"},
	"mend/agent":                            {"mend/session", "mend/change", "mend/repair", "mend/internal/request", "mend/txn"},
	"mend/agent/opencode":                   {"mend/agent", "mend/internal/jsonedit", "mend/session", "mend/change", "mend/repair", "mend/txn", "mend/agent/opencode/tree", "mend/agent/opencode/database", "mend/internal/request", "mend/internal/provider/chat", "mend/agent/opencode/diagnose", "mend/agent/opencode/render", "mend/internal/ownfile", "mend/internal/userdir", "mend/agent/opencode/record"},
	"mend/agent/opencode/diagnose":          {"mend/change", "mend/internal/jsonedit", "mend/agent/opencode/schema", "mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/internal/provider/openai", "mend/internal/provider/chat", "mend/internal/provider/gemini", "mend/internal/provider/bedrock", "mend/repair", "mend/agent/opencode/render", "mend/agent/opencode/record", "mend/agent/opencode/js", "mend/internal/media"},
	"mend/cmd/mend":                         {"mend", "mend/agent", "mend/agent/claude", "mend/agent/opencode", "mend/session", "mend/change", "mend/repair", "mend/journal", "mend/txn", "mend/undo", "mend/internal/request", "mend/internal/provider/anthropic", "mend/testdata", "mend/internal/live", "mend/internal/config", "mend/internal/atomicfile", "mend/internal/ownfile", "mend/internal/processes", "mend/internal/report", "mend/internal/termjson", "mend/internal/ui", "mend/internal/userdir"},
	"mend/agent/claude":                     {"mend/agent", "mend/session", "mend/change", "mend/repair", "mend/txn", "mend/linestore", "mend/internal/jsonedit", "mend/internal/request", "mend/internal/provider/anthropic", "mend/agent/claude/transcript", "mend/agent/claude/diagnose", "mend/internal/memory", "mend/internal/ownfile", "mend/internal/processes", "mend/internal/safedir", "mend/internal/userdir"},
	"mend/agent/claude/transcript":          {"mend/internal/jsonedit", "mend/session", "mend/internal/request"},
	"mend/agent/claude/diagnose":            {"mend/change", "mend/internal/jsonedit", "mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/repair", "mend/linestore", "mend/agent/claude/transcript"},
	"mend/internal/request":                 {"mend/internal/jsonedit", "mend/session", "mend/internal/media"},
	"mend/internal/provider":                {"mend/session", "mend/internal/request"},
	"mend/internal/provider/anthropic":      {"mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/media"},
	"mend/internal/provider/openai":         {"mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/media"},
	"mend/internal/provider/chat":           {"mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/media"},
	"mend/internal/provider/gemini":         {"mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/media"},
	"mend/internal/provider/bedrock":        {"mend/session", "mend/internal/request", "mend/internal/provider", "mend/internal/media"},
	"mend/agent/opencode/record":            {"mend/internal/jsonedit", "mend/session", "mend/agent/opencode/js"},
	"mend/agent/opencode/js":                {"mend/internal/jsonedit", "mend/session"},
	"mend/agent/opencode/schema":            {"mend/internal/jsonedit", "mend/session", "mend/agent/opencode/js", "mend/agent/opencode/record"},
	"mend/agent/opencode/render":            {"mend/internal/jsonedit", "mend/session", "mend/internal/request", "mend/internal/provider", "mend/agent/opencode/js", "mend/agent/opencode/schema", "mend/internal/media", "mend/agent/opencode/record"},
	"mend/testdata":                         {},
	"mend/internal/atomicfile":              {"mend/internal/ownfile"},
	"mend/internal/media":                   {},
	"mend/internal/memory":                  {},
	"mend/internal/ownfile":                 {},
	"mend/internal/userdir":                 {},
	"mend/internal/processes":               {},
	"mend/internal/report":                  {"mend/session", "mend/change", "mend/repair", "mend/internal/request", "mend/internal/termjson"},
	"mend/internal/ui":                      {},
	"mend/internal/termjson":                {},
	"mend/internal/safedir":                 {"mend/internal/atomicfile", "mend/internal/ownfile"},
	"mend/internal/test/storetest":          {"mend/internal/jsonedit", "mend/session", "mend/change", "mend/internal/safedir"},
	"mend/internal/test/dbtest":             {"mend/internal/test/storetest", "mend/session", "mend/change", "mend/sqlstore", "mend/testdata", "mend/agent/opencode/record"},
	"mend/internal/test/bigstore":           {"mend/testdata"},
	"mend/internal/test/crosscheck":         {},
	"mend/internal/test/endpoint":           {"mend/internal/test/endpoint/picture"},
	"mend/internal/test/endpoint/picture":   {},
	"mend/internal/test/faulttest":          {},
	"mend/internal/test/faulttest/filtered": {"mend/internal/test/faulttest"},
	"mend/internal/test/claude":             {"mend/internal/test/endpoint", "mend/internal/test/npm", "mend/agent/claude/diagnose", "mend/agent/claude/transcript", "mend/internal/jsonedit", "mend/internal/provider/anthropic", "mend/internal/request"},
	"mend/internal/test/damage":             {},
	"mend/internal/test/mutation":           {},
	"mend/internal/test/endpoints":          {"mend/internal/test/endpoint/picture"},
	"mend/internal/test/npm":                {},
	"mend/internal/test/opencode":           {"mend/internal/test/npm", "mend/internal/test/endpoint", "mend/internal/test/endpoints", "mend/internal/test/mutation", "mend/internal/test/damage", "mend/testdata"},
}

// pure packages hold values and rules: they do no I/O.
var pure = []string{"mend/internal/media", "mend/internal/jsonedit", "mend/session", "mend/change", "mend/repair", "mend/undo", "mend/internal/request", "mend/internal/provider", "mend/internal/provider/anthropic", "mend/internal/provider/openai", "mend/internal/provider/chat", "mend/internal/provider/gemini", "mend/internal/provider/bedrock", "mend/agent/opencode/record", "mend/agent/opencode/js", "mend/agent/opencode/schema", "mend/agent/opencode/render", "mend/agent/opencode/diagnose"}

func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...", "./testdata").Output()
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
			if (i == "mend" || strings.HasPrefix(i, "mend/")) && !slices.Contains(allowed, i) {
				t.Errorf("%s imports %s, which its layer does not allow", pkg, i)
			}
			if slices.Contains(pure, pkg) && (i == "os" || i == "net" || i == "net/http" || i == "time/tzdata") {
				t.Errorf("%s imports %s, and is to do no I/O", pkg, i)
			}
		}
	}
}
