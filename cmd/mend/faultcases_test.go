package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faultCases are the cases of the fault model, by number, each with the tests
// that show what becomes of it: a package and a function of it, or a story. Each
// test names the number, in its name or in the comment above it. More of each is
// in internal/faulttest, which lets every single call fail.
var faultCases = [38]struct {
	what  string
	tests []string
}{
	1:  {"truncated, empty, foreign bytes", []string{"case_01_damaged.txtar", "fsstore.TestDefects"}},
	2:  {"strange JSON", []string{"mend.TestCase02StrangeJSON", "fsstore.TestDefects"}},
	3:  {"a file above the limit", []string{"mend.TestCase03HugeFiles", "fsstore.TestTooLarge"}},
	4:  {"a link inside the root", []string{"case_04_links.txtar", "fsstore.TestStrange"}},
	5:  {"a link that leads outside", []string{"case_04_links.txtar", "fsstore.TestStrangeFolders", "fsstore.TestLinkMeanwhile"}},
	6:  {"an id that is none", []string{"case_06_ids.txtar", "fsstore.TestBadNames"}},
	7:  {"pipes, sockets, devices", []string{"case_07_pipes.txtar", "fsstore.TestStrange"}},
	8:  {"what may not be read", []string{"mend.TestCase08Unreadable", "fsstore.TestUnreadable"}},
	9:  {"names that are no UTF-8", []string{"mend.TestCase09Names", "fsstore.TestBadNames"}},
	10: {"hard links", []string{"case_10_hard_links.txtar"}},
	11: {"a read-only file system", []string{"mend.TestCase11ReadOnly", "fsstore.TestReadOnly", "sqlstore.TestReadOnly"}},
	12: {"one that turns read-only", []string{"mend.TestCase12TurnsReadOnly"}},
	13: {"a disk full at staging", []string{"mend.TestCase13FullAtStaging", "fsstore.TestNoSpace", "sqlstore.TestDiskFull"}},
	14: {"a disk full for the journal", []string{"mend.TestCase14FullJournal", "txn.TestFaultAtEveryStep", "journal.TestFailedAtEveryStep"}},
	15: {"a disk full in recovery", []string{"mend.TestCase15FullInRecovery", "txn.TestRecoveryCutAtEveryStep"}},
	16: {"limits of the process", []string{"mend.TestCase16Limits", "fsstore.TestFileSizeLimit", "journal.TestFileTooLarge"}},
	17: {"input/output errors", []string{"txn.TestFaultAtEveryStep", "fsstore.TestContract", "fsstore.TestBrokenDisk", "journal.TestFailedAtEveryStep"}},
	18: {"a journal that is locked", []string{"case_18_locked.txtar", "journal.TestLockedByAnotherProcess"}},
	19: {"a journal that is damaged", []string{"mend.TestCase19Damaged", "journal.TestFlippedBytes", "journal.TestDamagedFiles"}},
	20: {"a journal that is replaced", []string{"mend.TestCase20Replaced", "journal.TestReplacedWhileHeld"}},
	21: {"a journal that is lost", []string{"case_21_lost_journal.txtar", "fsstore.TestAbandoned"}},
	22: {"a clock that stands wrong", []string{"mend.TestCase22Clock", "journal.TestGC", "journal.TestGCUnknownTime"}},
	23: {"the agent changes a target", []string{"mend.TestCase23to26AgentWritesFiles", "fsstore.TestContract"}},
	24: {"the agent makes a target", []string{"mend.TestCase23to26AgentWritesFiles", "fsstore.TestContract", "fsstore.TestFolderMeanwhile"}},
	25: {"the agent removes a target or its folder", []string{"mend.TestCase23to26AgentWritesFiles", "fsstore.TestVanishedFolder"}},
	26: {"the agent writes into a file that was replaced", []string{"mend.TestCase23to26AgentWritesFiles", "fsstore.TestLateWriter"}},
	27: {"the agent holds the lock of the database", []string{"mend.TestCase27to29AgentWritesRows", "sqlstore.TestBusy"}},
	28: {"the agent reads for long", []string{"mend.TestCase27to29AgentWritesRows", "sqlstore.TestAgentReads"}},
	29: {"the agent changes a row", []string{"mend.TestCase27to29AgentWritesRows", "sqlstore.TestConflicts"}},
	30: {"a database that cannot be used", []string{"sqlstore.TestUnusable", "sqlstore.TestTruncated", "sqlstore.TestUnknownSchema", "sqlstore.TestSchemaChanges"}},
	31: {"several mounts", []string{"mend.TestCase31Mounts"}},
	32: {"FUSE and NFS", []string{"mend.TestCase32FUSE", "fsstore.TestContractNoExchange", "txn.TestWithoutExchange"}},
	33: {"undo after later edits, twice, of nothing", []string{"case_33_undo.txtar"}},
	34: {"cuts in recovery, undo, gc, creation", []string{"mend.TestCase34KilledGC", "txn.TestRecoveryCutAtEveryStep", "txn.TestUndoCutAtEveryStep", "journal.TestKilledAtEveryStep", "journal.TestKill"}},
	35: {"no op, and a hundred thousand", []string{"case_35_nothing.txtar", "txn.TestRunRefuses", "fsstore.TestManyOps", "journal.TestManyOps"}},
	36: {"signals", []string{"mend.TestCase36Signals", "mend.TestCase36SecondSignal"}},
	37: {"umask, and root on a user's store", []string{"mend.TestCase37Modes", "fsstore.TestUmask", "fsstore.TestOwner"}},
}

// TestFaultCases wants a test for each number, and each to be there and to name
// the number.
func TestFaultCases(t *testing.T) {
	tests := testComments(t)
	for n, c := range faultCases {
		if n > 0 && len(c.tests) == 0 {
			t.Errorf("case %d has no test", n)
		}
		for _, name := range c.tests {
			if text, ok := tests[name]; !ok {
				t.Errorf("case %d: there is no test %s", n, name)
			} else if !slices.Contains(numbers(text), n) {
				t.Errorf("case %d: %s names the cases %v", n, name, numbers(text))
			}
		}
	}
}

var caseNumbers = regexp.MustCompile(`(?i)case_?s?\s*([0-9]+(?:(?:, | and |to)[0-9]+)*)`)

// numbers are the numbers of cases in the name of a test and its comment.
func numbers(text string) []int {
	var all []int
	for _, m := range caseNumbers.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
		from := 0
		for _, f := range regexp.MustCompile(`[0-9]+|to`).FindAllString(m[1], -1) {
			if f == "to" {
				from = all[len(all)-1] + 1
				continue
			}
			n := 0
			for _, digit := range f {
				n = 10*n + int(digit-'0')
			}
			for ; 0 < from && from < n; from++ {
				all = append(all, from)
			}
			all = append(all, n)
		}
	}
	return all
}

// testComments is the name of every test of the module, with the comment above
// it, and of every story, with its beginning.
func testComments(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{".", "../../fsstore", "../../sqlstore", "../../journal", "../../txn"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			addTests(t, all, file)
		}
	}
	stories, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stories {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, _, _ := strings.Cut(string(text), "\n\n")
		all[filepath.Base(file)] = filepath.Base(file) + " " + strings.ReplaceAll(comment, "\n# ", " ")
	}
	return all
}

func addTests(t *testing.T, all map[string]string, file string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	pkg := strings.TrimSuffix(f.Name.Name, "_test")
	if pkg == "main" {
		pkg = "mend"
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
			all[pkg+"."+fn.Name.Name] = fn.Name.Name + " " + fn.Doc.Text()
		}
	}
}
