package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mend/agent/opencode/tree"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/npm"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/repair"
	"mend/testdata"
	"mend/txn"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the stories")

// TestMain builds mend and puts it first in PATH: the test binary would take five times as long to start. The tests
// have an empty home folder, so that they do not read the settings of the user who runs them.
func TestMain(m *testing.M) { os.Exit(runWithMend(m)) }

func runWithMend(m *testing.M) (code int) {
	if storetest.IsChild() {
		return m.Run()
	}
	if os.Getenv(secondKey) != "" {
		storetest.InMemory()
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "mend-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var flags []string
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		flags = append(flags, "-race")
	}
	if err := storetest.Build("mend/cmd/mend", filepath.Join(dir, "mend"), nil, flags...); err != nil {
		panic(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))); err != nil {
		panic(err)
	}
	storetest.InMemory()
	if err := emptyHome(filepath.Join(dir, "home")); err != nil {
		panic(err)
	}
	// If GOGC is set, the program does not change the collector ([frame.prepare]), which would affect all later tests.
	if err := os.Setenv("GOGC", "off"); err != nil {
		panic(err)
	}
	if isWholeRun() {
		return runInTwo(m)
	}
	return m.Run()
}

// Most tests set the folder and the variables of their process, so they cannot run in parallel. In a whole run a second
// process, in which secondKey is set, therefore runs secondTests: about half of the work.
const (
	secondKey   = "MEND_TEST_SECOND"
	secondTests = "^(TestStories|TestDatabaseStories|TestUndo.*)$"
)

// isWholeRun reports whether this run selects no tests, writes no file, and its result is not cached.
func isWholeRun() bool {
	flag.Parse()
	whole := true
	flag.Visit(func(f *flag.Flag) {
		whole = whole && slices.Contains([]string{"test.count", "test.paniconexit0", "test.parallel", "test.shuffle", "test.timeout", "test.v"}, f.Name)
	})
	return whole
}

func runInTwo(m *testing.M) (code int) {
	var out bytes.Buffer
	second := exec.Command(os.Args[0], append(os.Args[1:], "-test.run="+secondTests)...)
	second.Env = append(os.Environ(), secondKey+"=1")
	second.Stdout, second.Stderr = &out, &out
	err := errors.Join(flag.Set("test.skip", secondTests), second.Start())
	if err != nil {
		panic(err)
	}
	code = m.Run()
	if err := second.Wait(); err != nil {
		code = 1
	}
	fmt.Printf("%s", out.Bytes()) // with its last line, which ends the last test for "go test -json"
	return code
}

// emptyHome makes a folder the home folder. The caches of Go and of the tests of the real agents stay in their places.
func emptyHome(dir string) error {
	cache, err := npm.CacheDir()
	out, gerr := exec.Command("go", "env", "GOCACHE", "GOPATH", "GOMODCACHE", "GOENV").Output()
	err = errors.Join(err, gerr, os.Mkdir(dir, 0o700), os.Setenv("MEND_E2E_CACHE", cache), os.Setenv("HOME", dir))
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		err = errors.Join(err, os.Setenv([]string{"GOCACHE", "GOPATH", "GOMODCACHE", "GOENV"}[i], value))
	}
	for _, name := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR"} {
		err = errors.Join(err, os.Unsetenv(name))
	}
	xdg.Reload()
	return err
}

// TestStories: each story in testdata/script, which uses the command line as a user does, has the output that it names.
// A story has these additional commands:
//
//	mend ARG...       run mend in this process; "exec mend" starts a program, which can read an input and has a path
//	exits CODE CMD    run a command, and require the exit code; "mend" runs in this process
//	store VERSION     unpack the store of that OpenCode where mend looks for it; sets $STORE and $SESSION
//	folder PATH       set the folder of the session in the database $STORE
//	sql STATEMENT     run a statement on the database $STORE
//	claude NAME       write a transcript of Claude Code with that damage of [claude.Damages]; sets $STORE and $SESSION
//	codex NAME [N]    write 1 + N rollouts of Codex with that damage of [codex.Damages]; sets $STORE, $FILE and $SESSION
//	damage NAME...    apply rows of [damage.Table] to $SESSION
//	snap NAME         store the names, bytes and modes of the whole store under NAME
//	same NAME         require that the store is the same as at snap NAME
//	crash STEP        repair $SESSION, and stop as if killed before the first call whose name starts with STEP
//	schema            require that the last output is valid according to docs/output.schema.json
//	lines FILE        require that each line of the export is valid according to docs/output.schema.json
//	plain FILE        write the last output to FILE, with times, hashes and paths normalised
func TestStories(t *testing.T) {
	runStories(t, stories(t, "testdata/script"), "1.1.53")
}

// TestDatabaseStories: each story in testdata/database has the output that it names with each version, in $VERSION,
// that has a database. A plain run has the newest version.
func TestDatabaseStories(t *testing.T) {
	all := stories(t, "testdata/database")
	versions := damage.Versions[1:]
	if !storetest.AllCases() {
		versions = versions[len(versions)-1:]
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { runStories(t, all, version) })
	}
}

func stories(t *testing.T, dir string) []string {
	t.Helper()
	dir, err := filepath.Abs(dir) // stories change the current folder
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in %s: %v", dir, err)
	}
	return files
}

func runStories(t *testing.T, files []string, version string) {
	if testing.Short() {
		t.Skip("stories run the program")
	}
	testscript.Run(t, testscript.Params{
		Files:         files,
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("VERSION", version)
			e.Setenv("HOME", e.WorkDir)
			for name, dir := range map[string]string{"DATA": "data", "STATE": "state", "CACHE": "cache", "CONFIG": "config"} {
				e.Setenv("XDG_"+name+"_HOME", filepath.Join(e.WorkDir, dir))
			}
			e.Setenv("NO_COLOR", "1")
			e.Setenv("SCRIPTS", filepath.Dir(filepath.Dir(files[0])))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mend": cmdMend, "exits": cmdExits, "store": cmdStore, "claude": cmdClaude, "codex": cmdCodex, "damage": cmdDamage, "snap": cmdSnap, "same": cmdSame, "plain": cmdPlain,
			"crash": cmdCrash, "sql": cmdSQL, "schema": cmdSchema, "lines": cmdLines, "folder": cmdFolder,
		},
	})
}

func cmdMend(ts *testscript.TestScript, neg bool, args []string) {
	if code := runInStory(ts, args); (code != frame.ExitDone) != neg {
		ts.Fatalf("mend: exit code %d", code)
	}
}

// storyVars are the variables of a story that mend reads.
var storyVars = []string{
	"HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NO_COLOR",
	"CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR", "MEND_MAX_RETRIES",
}

// inStory is locked while mend runs in this process, with the current folder and the variables of a story.
var inStory sync.Mutex

// runInStory runs mend in this process, without an input: to start a program takes longer than most verbs.
func runInStory(ts *testscript.TestScript, args []string) (code int) {
	inStory.Lock()
	defer inStory.Unlock()
	folder, err := os.Getwd()
	ts.Check(err)
	enter := func(folder string, variable func(name string) string) {
		ts.Check(os.Chdir(folder))
		for _, name := range storyVars {
			if value := variable(name); value != "" {
				ts.Check(os.Setenv(name, value))
			} else {
				ts.Check(os.Unsetenv(name))
			}
		}
		xdg.Reload() // the package reads the environment only at start
	}
	previous := map[string]string{}
	for _, name := range storyVars {
		previous[name] = os.Getenv(name)
	}
	defer enter(folder, func(name string) string { return previous[name] })
	enter(ts.MkAbs("."), ts.Getenv)
	return run(args, &term.Terminal{In: strings.NewReader(""), Out: ts.Stdout(), Err: ts.Stderr()})
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	code, program := 0, args[1:]
	if program[0] == "exec" {
		program = program[1:]
	}
	if args[1] == "mend" {
		code = runInStory(ts, args[2:])
	} else if err := ts.Exec(program[0], program[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if want := args[0]; fmt.Sprint(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

func cmdStore(ts *testscript.TestScript, _ bool, args []string) {
	archive := map[string][]byte{
		"1.1.53": testdata.OpenCode1153, "1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833,
	}[args[0]]
	dir := ts.MkAbs("data")
	ts.Check(os.MkdirAll(dir, 0o755))
	id, err := testdata.Unpack(archive, dir)
	ts.Check(err)
	ts.Setenv("SESSION", id)
	store := filepath.Join(dir, "opencode", "opencode.db")
	if args[0] == "1.1.53" {
		store = filepath.Join(dir, "opencode", "storage")
	} else { // newer versions answer no prompt in a session without its folder
		project := ts.MkAbs("project")
		ts.Check(os.MkdirAll(project, 0o755))
		damage.SQL(failer{ts}, store)("update session set directory = ?", project)
	}
	ts.Setenv("STORE", store)
}

func cmdFolder(ts *testscript.TestScript, _ bool, args []string) {
	damage.SQL(failer{ts}, ts.Getenv("STORE"))("update session set directory = ?", args[0])
}

func cmdClaude(ts *testscript.TestScript, _ bool, args []string) {
	store := filepath.Join(ts.Getenv("HOME"), ".claude")
	dir := filepath.Join(store, "projects", "-home-user-project")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, claude.Session+".jsonl"), claude.ByName(args[0]).Broken(), 0o600))
	ts.Setenv("STORE", store)
	ts.Setenv("SESSION", claude.Session)
}

func cmdCodex(ts *testscript.TestScript, _ bool, args []string) {
	store := filepath.Join(ts.Getenv("HOME"), ".codex")
	file := filepath.Join(store, codex.File)
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, codex.ByName(args[0]).Broken(), 0o600))
	if len(args) > 1 { // the number of additional rollouts
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		for i := range n {
			id := fmt.Sprint(testdata.CodexSession[:35], i)
			data := bytes.ReplaceAll(codex.ByName(args[0]).Broken(), []byte(testdata.CodexSession), []byte(id))
			ts.Check(os.WriteFile(strings.Replace(file, testdata.CodexSession, id, 1), data, 0o600))
		}
	}
	ts.Check(os.WriteFile(filepath.Join(store, "config.toml"), []byte("model_provider = \"fake\"\n[model_providers.fake]\n"), 0o600))
	ts.Check(os.MkdirAll(filepath.Join(store, "thread-writer-locks"), 0o755))
	ts.Check(os.WriteFile(filepath.Join(store, "thread-writer-locks", ".coordination.lock"), nil, 0o600))
	ts.Setenv("STORE", store)
	ts.Setenv("FILE", file)
	ts.Setenv("SESSION", testdata.CodexSession)
}

func cmdDamage(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		damage.Edit(failer{ts}, ts.Getenv("STORE"), ts.Getenv("SESSION"), damage.ByName(failer{ts}, name))
	}
}

func cmdSQL(ts *testscript.TestScript, _ bool, statements []string) {
	damage.SQL(failer{ts}, ts.Getenv("STORE"))(strings.Join(statements, " "))
}

func openStore(t damage.Failer, path, session string) damage.Store {
	if filepath.Ext(path) == ".db" {
		return damage.Database{SQL: damage.SQL(t, path)}
	}
	return damage.Tree{T: t, Root: path, Session: session}
}

type failer struct{ *testscript.TestScript }

func (f failer) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func cmdSnap(ts *testscript.TestScript, _ bool, args []string) {
	all, err := damage.Snapshot(ts.Getenv("STORE"))
	ts.Check(err)
	snapshots.Store(ts.MkAbs(args[0]), all)
}

// snapshots has the snapshots by absolute path, which is unique: stories run in parallel.
var snapshots sync.Map

func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	now, err := damage.Snapshot(ts.Getenv("STORE"))
	ts.Check(err)
	then, ok := snapshots.Load(ts.MkAbs(args[0]))
	if !ok {
		ts.Fatalf("there is no snapshot %s", args[0])
	}
	diff := cmp.Diff(then.(map[string]string), now)
	switch {
	case neg && diff == "":
		ts.Fatalf("the store is the same as at snap %s", args[0])
	case !neg && diff != "":
		ts.Fatalf("the store differs from snap %s (-snap +now):\n%s", args[0], diff)
	}
}

var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d+ (year|month|day|hour|minute)s? ago|just now`), "AGE"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\dZ)?`), "TIME"},
	{regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \w+`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`\S+@\S+ \(uid -?\d+\)`), "USER@HOST (uid N)"},
	{regexp.MustCompile(`, process \d+`), ", process PID"},
	{regexp.MustCompile(`by [^ @]+@[^ @,]+, `), "by USER@HOST, "},
	{regexp.MustCompile(`"(user|host)": ".*"`), `"$1": "NAME"`},
	{regexp.MustCompile(`"(uid|pid)": -?\d+`), `"$1": 1`},
	{regexp.MustCompile(`devel(-[0-9a-f]+)?|v0\.0\.0-\S+`), "VERSION"},
}

func cmdPlain(ts *testscript.TestScript, _ bool, args []string) {
	out := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("WORK"), "$WORK")
	for _, v := range volatile {
		out = v.pattern.ReplaceAllString(out, v.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out), 0o666))
}

// cmdCrash repairs as mend fix does, up to a call that changes the disk.
func cmdCrash(ts *testscript.TestScript, _ bool, args []string) {
	dir := filepath.Join(ts.Getenv("XDG_STATE_HOME"), "mend")
	dead := false
	err := repairWith(ts.Getenv("STORE"), dir, ts.Getenv("SESSION"), func(call string) error {
		if dead = dead || strings.HasPrefix(call, args[0]); dead {
			return errors.New("killed before " + call)
		}
		return nil
	})
	ts.Logf("%v", err)
	if !dead {
		ts.Fatalf("no call %q was made", args[0])
	}
}

// repairWith repairs a tree as mend fix does. It calls step before each call that changes the disk.
func repairWith(store, dir, id string, step func(call string) error) error {
	ctx := context.Background()
	c, err := mend.Open(mend.Options{Agents: agents.All, Store: store, Journal: mend.OpenJournal(dir)})
	if err != nil {
		return err
	}
	head, err := c.Session(ctx, id)
	if err != nil {
		return err
	}
	r, err := c.ProposeRepair(ctx, head, repair.Request{})
	if err != nil {
		return err
	}
	j, err := journal.Open(dir, journal.Options{Step: step})
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	st, err := tree.Open(store, false, tree.Options{Owner: j.ID(), Step: step})
	if err != nil {
		return err
	}
	_, err = txn.Run(ctx, j, st, r.Plan)
	return err
}

// The schemas are compiled once for all tests, because that takes longer than most verbs.
var (
	outputSchema     = sync.OnceValues(func() (*jsonschema.Schema, error) { return jsonschema.NewCompiler().Compile(schemaPath) })
	exportLineSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
		return jsonschema.NewCompiler().Compile(schemaPath + "#/$defs/export%20line")
	})
)

func cmdSchema(ts *testscript.TestScript, _ bool, _ []string) {
	schema, err := outputSchema()
	ts.Check(err)
	answer, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(err)
	ts.Check(schema.Validate(answer))
}

func cmdLines(ts *testscript.TestScript, _ bool, args []string) {
	schema, err := exportLineSchema()
	ts.Check(err)
	for text := range strings.Lines(ts.ReadFile(args[0])) {
		line, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		ts.Check(err)
		ts.Check(schema.Validate(line))
	}
}

// schemaPath is absolute because a story runs in its own folder.
var schemaPath = func() string {
	path, err := filepath.Abs("../../docs/output.schema.json")
	if err != nil {
		panic(err)
	}
	return path
}()
