//go:build e2e

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/journal"
)

var (
	soakPrompts  = flag.Int("soak", 20, "prompts of the soak test, for each version and transport")
	soakSessions = flag.Int("sessions", 5, "sessions of the soak test")
	seed         = flag.Uint64("seed", 1, "of the soak test")
)

// A soakRun is a server with many sessions that are damaged while it runs.
type soakRun struct {
	*testing.T
	home     *opencode.Home
	server   *opencode.Server
	gate     *modelGate
	random   *rand.Rand
	journal  *mend.Journal
	sessions []string

	refused, damaged, failed int
}

// TestLiveSoak: while records of many sessions are damaged and the provider fails at random, mend keeps the sessions
// alive. At the end every session answers, everything that mend changed is in the journal, no process of mend is left,
// and memory has not grown.
func TestLiveSoak(t *testing.T) {
	for i, version := range damage.Versions {
		for _, transport := range []string{"plugin", "watch"} {
			t.Run(version+"/"+transport, func(t *testing.T) {
				r := newSoak(t, i, *soakSessions)
				var pid int
				var stop func()
				if transport == "plugin" {
					installPlugin(t, r.home)
					_, r.journal.Dir = pluginHome(r.home)
					r.start()
					pid = r.hook()
					stop = func() { waitForHooksEnd(t, r.home) }
				} else {
					r.start()
					r.journal.Dir = t.TempDir()
					cmd := startWatch(t, r.home, r.journal.Dir)
					pid = cmd.Process.Pid
					stop = func() {
						if err := cmd.Process.Signal(os.Interrupt); err != nil {
							t.Error(err)
						}
						_ = cmd.Wait()
					}
				}
				r.journal.Dir = filepath.Join(r.journal.Dir, "mend")
				began := time.Now()
				var first usage
				for n := range *soakPrompts {
					r.turn(n)
					if n == *soakPrompts/4 {
						first = measure(t, pid)
					}
				}
				for _, id := range r.sessions {
					if !r.promptUntilAnswered(id, "say Goodbye") {
						t.Errorf("session %s is dead", id)
					}
				}
				last := measure(t, pid)
				r.server.Close()
				stop()
				if last.files > first.files+5 || last.threads > first.threads+5 || last.memory > first.memory+(16<<20) || last.children != 0 {
					t.Errorf("at the end %+v, after a quarter %+v", last, first)
				}
				if left := homePIDs(r.home); len(left) > 0 {
					t.Errorf("processes left: %v", left)
				}
				repairs, err := r.journal.Log(journal.Query{State: change.Committed})
				if err != nil {
					t.Error(err)
				}
				if code, out := runMend(t, r.home.DataDir(), r.journal.Dir, "verify"); code != frame.ExitDone {
					t.Errorf("verify: %d %s", code, out)
				}
				t.Logf("%d prompts in %d sessions in %v: %d damages, %d failures of the provider, %d prompts refused, %d repairs; after a quarter %+v, at the end %+v",
					*soakPrompts, len(r.sessions), time.Since(began).Round(time.Second), r.damaged, r.failed, r.refused, len(repairs), first, last)
			})
		}
	}
}

// newSoak makes a home with copies of the fixture's session.
func newSoak(t *testing.T, version, sessions int) *soakRun {
	t.Helper()
	exe, err := opencode.Install(damage.Versions[version])
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(func(n int, r endpoint.Request) endpoint.Content {
		answer := uniqueAnswer(n, r)
		for i := range answer {
			if answer[i].Type == "tool_use" {
				answer[i].ID += strconv.Itoa(n) // a copy has its own ids
			}
		}
		return answer
	})
	t.Cleanup(api.Close)
	r := &soakRun{T: t, random: rand.New(rand.NewPCG(*seed, uint64(version))), gate: openModelGate(t, api)}
	// With thinking, the endpoint could not check turns (R8) where damage and aborts join its own responses and the
	// fixture's responses.
	r.home = opencode.New(t, exe, api, false)
	r.journal = mend.OpenJournal("")
	id := r.home.Unpack(fixtures[version])
	r.sessions = r.copySession(id, sessions)
	return r
}

// start starts the server and waits until it answers.
func (r *soakRun) start() {
	r.server = r.home.Serve()
	r.server.NameModel = true
	if !r.promptUntilAnswered(r.sessions[0], "say Hello") { // the first prompt takes long
		r.Fatal("the first prompt is not answered")
	}
}

// hook returns the id of the hook process that the plugin started.
func (r *soakRun) hook() int {
	r.Helper()
	pids := hookPIDs(r.home)
	if len(pids) != 1 {
		r.Fatalf("hooks %v, want one", pids)
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		r.Fatal(err)
	}
	return pid
}

var recordID = regexp.MustCompile(`\b(ses|msg|prt)_[0-9A-Za-z]+`)

// copySession copies a session n times in a store that no program has open, and returns the ids of the copies. The ids
// of the records get another suffix.
func (r *soakRun) copySession(id string, n int) (copies []string) {
	rename := func(text string, n int) string { return recordID.ReplaceAllString(text, fmt.Sprintf("${0}n%03d", n)) }
	for i := range n {
		copies = append(copies, rename(id, i))
	}
	if tree, ok := r.home.Store(id).(damage.Tree); ok {
		names, err := filepath.Glob(filepath.Join(tree.Root, "*", "*", "*.json"))
		if err != nil {
			r.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				r.Fatal(err)
			}
			if name, _ = filepath.Rel(tree.Root, name); name == rename(name, 0) {
				continue
			}
			for i := range n {
				tree.WriteFile(rename(name, i), rename(string(data), i))
			}
		}
		return copies
	}
	damage.Edit(r, filepath.Join(r.home.DataDir(), "opencode.db"), "", func(s damage.Store) {
		sql := s.(damage.Database).SQL
		for _, table := range []string{"session", "message", "part"} {
			for _, row := range sql("select * from " + table) {
				for i := range n {
					var names []string
					var values []any
					for name, value := range row {
						if text := value.(string); text != "" { // otherwise the column is empty
							names, values = append(names, name), append(values, rename(text, i))
						}
					}
					sql("insert into "+table+" ("+strings.Join(names, ", ")+") values (?"+strings.Repeat(", ?", len(names)-1)+")", values...)
				}
			}
		}
	})
	return copies
}

func (r *soakRun) store(id string) damage.Store {
	path := filepath.Join(r.home.DataDir(), "opencode.db")
	if _, err := os.Stat(path); err == nil {
		return damage.Database{Session: id, SQL: damage.SQL(r, path)}
	}
	return damage.Tree{T: r, Root: filepath.Join(r.home.DataDir(), "storage"), Session: id}
}

// A laterPart is a session without its first messages, so that later ones are damaged.
type laterPart struct {
	damage.Store
	from int
}

func (l laterPart) Records() (messages, parts []damage.Record) {
	messages, all := l.Store.Records()
	messages = messages[l.from:]
	for _, m := range messages {
		for _, p := range all {
			if p.Owner == m.ID {
				parts = append(parts, p)
			}
		}
	}
	return messages, parts
}

// damage applies a random damage and returns its name.
func (r *soakRun) damage(id string) string {
	s := r.store(id)
	messages, _ := s.Records()
	for {
		k := damage.Table[r.random.IntN(len(damage.Table))]
		switch {
		case damage.AddsFile(k.Name), strings.Contains(k.Name, "wrap"): // changed ids cannot be followed
		case strings.HasPrefix(k.Want[0], "R15"), strings.HasPrefix(k.Want[0], "R18"): // OpenCode retries for a minute
		default:
			from := max(0, len(messages)-1-damage.Goodbye)
			k.Apply(laterPart{s, r.random.IntN(from + 1)})
			return k.Name
		}
	}
}

// cutConnection closes a connection without an answer.
func cutConnection(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutStream closes a connection in the middle of an answer.
func cutStream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: message_start\n"+`data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-fake","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`+"\n\n")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// providerFailures are the failures of one request.
var providerFailures = []http.HandlerFunc{
	refuseWith(429, "rate_limit_error", "Number of request tokens has exceeded your rate limit", "retry-after-ms", "50"),
	refuseWith(529, "overloaded_error", "Overloaded", "retry-after-ms", "50"),
	refuseWith(500, "api_error", "Internal server error", "retry-after-ms", "50"),
	refuseWith(401, "authentication_error", "invalid x-api-key"),
	refuseWith(400, "invalid_request_error", missingResult),
	refuseWith(400, "invalid_request_error", modified),
	refuseWith(400, "invalid_request_error", noPrefill),
	refuseWith(400, "invalid_request_error", "prompt is too long: 240000 tokens > 200000 maximum"),
	cutConnection,
	cutStream,
}

// turn sends a prompt in a session that may be damaged, to a provider that may fail.
func (r *soakRun) turn(n int) {
	id := r.sessions[r.random.IntN(len(r.sessions))]
	what := ""
	if r.random.IntN(2) == 0 {
		r.damaged++
		what = r.damage(id)
	}
	if r.random.IntN(4) == 0 {
		r.failed++
		i := r.random.IntN(len(providerFailures))
		what += fmt.Sprintf(", failure %d", i)
		r.gate.once("claude-fake", providerFailures[i])
	}
	before := r.records(id)
	prompt := []string{"please TOOL", "say Hello", "please TOOLS", "say Goodbye"}[r.random.IntN(4)]
	if !r.promptUntilAnswered(id, prompt) {
		r.Errorf("-seed %d, prompt %d: %s, %s: not answered", *seed, n, id, what)
	}
	r.gate.set("claude-fake", nil)
	r.checkKept(fmt.Sprintf("prompt %d, %s", n, what), id, before)
}

// promptUntilAnswered repeats a prompt until it is answered: after an error mend may need a moment.
func (r *soakRun) promptUntilAnswered(id, prompt string) bool {
	for n := range 6 {
		p := r.server.Prompt(id, prompt)
		if p.Verdict == opencode.Alive && !strings.Contains(p.Output, `"error":`) {
			return true
		}
		r.refused++
		time.Sleep(500 * time.Millisecond << n)
		if n > 3 {
			r.Logf("%s: %s, status %d, %.300s", id, p.Verdict, p.Code, p.Output)
		}
	}
	return false
}

// records returns the stored messages and parts of a session.
func (r *soakRun) records(id string) map[string]string {
	all := map[string]string{}
	messages, parts := r.store(id).Records()
	for _, rec := range append(messages, parts...) {
		all[rec.Table+" "+rec.ID] = rec.Data
	}
	return all
}

// checkKept checks that each changed part and each missing record is in the journal. OpenCode itself completes
// messages.
func (r *soakRun) checkKept(when, id string, before map[string]string) {
	now := r.records(id)
	es, err := r.journal.Log(journal.Query{Session: id, State: change.Committed})
	if err != nil {
		r.Fatal(err)
	}
	saved := map[string]bool{}
	for _, e := range es {
		for _, op := range e.Ops {
			saved[op.Ref.ID()] = true
		}
	}
	for key, data := range before {
		table, record, _ := strings.Cut(key, " ")
		if after, ok := now[key]; ok && (after == data || table == "message") || saved[record] {
			continue
		}
		r.Errorf("%s: %s of %s was %.200s, is %.200q, and not in the journal", when, key, id, data, now[key])
	}
}

// A usage is the resources that a process uses.
type usage struct {
	files, threads, children int
	memory                   uint64 // resident, in bytes
}

func measure(t *testing.T, pid int) usage {
	t.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	files, filesErr := p.NumFDs()
	threads, threadsErr := p.NumThreads()
	memory, err := p.MemoryInfo()
	if err := errors.Join(filesErr, threadsErr, err); err != nil {
		t.Fatal(err)
	}
	children, _ := p.Children() // an error if there is none
	return usage{int(files), int(threads), len(children), memory.RSS}
}
