//go:build e2e

package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// pluginHome returns the configuration and state folders of a home.
func pluginHome(h *opencode.Home) (config, state string) {
	dir := filepath.Dir(filepath.Dir(filepath.Dir(h.DataDir())))
	return filepath.Join(dir, ".config"), filepath.Join(dir, ".local", "state")
}

// installPlugin installs the plugin in a home, as a user does.
func installPlugin(t *testing.T, h *opencode.Home) {
	t.Helper()
	t.Cleanup(func() { // after the end of the server, which starts later
		if t.Failed() {
			t.Logf("log of the hooks:\n%s", readHookLogs(h))
		}
		waitForHooksEnd(t, h) // they write to the home at their end
	})
	config, state := pluginHome(h)
	program := filepath.Base(h.DataDir())
	cmd := mendCommand(t, h, state, "plugin", "install", "--yes", "--agent", program)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config)
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("installing the plugin: %v: %s", err, out)
	}
	// With any plugin, OpenCode waits until its own packages are installed in this folder. For a user they were
	// installed at an earlier start. The test has no registry.
	dir := filepath.Join(config, program)
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock := `{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*", "@kilocode/plugin": "*"}}}}`
	if err := os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(lock), 0o644); err != nil {
		t.Fatal(err)
	}
}

// configure writes mend's settings in a home.
func configure(t *testing.T, h *opencode.Home, text string) {
	t.Helper()
	config, _ := pluginHome(h)
	dir := filepath.Join(config, "mend")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readHookLogs(h *opencode.Home) string {
	_, state := pluginHome(h)
	data, _ := os.ReadFile(filepath.Join(state, "mend", "hook.log"))
	return string(data)
}

type logAnswer struct {
	Repairs []struct {
		ID, Session, State string
		Cause              struct{ Kind, Text string }
	}
}

// TestLivePlugin: a session of the real program that breaks in any class is repaired through the journal, a toast is
// shown, and the turn is resumed or the next prompt works. Damage without a fix is explained and not changed. With
// -record the events are written to live/testdata.
func TestLivePlugin(t *testing.T) {
	t.Parallel()
	for _, version := range slices.Concat(slices.Collect(maps.Keys(archives)), []string{*kiloVersion}) {
		for _, c := range liveCases {
			if testing.Short() && c.name != "empty content" {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				h, session, g := home(t, version, !c.thinkingDisabled)
				damageSession(t, h, session, c.damage)
				installPlugin(t, h)
				configure(t, h, fmt.Sprintf(`{"skip": ["preflight"], "autoResume": %t} // really`, c.autoResume))
				server := h.Serve()
				seen, events := followToasts(t, server), followEvents(t, server)
				g.set(c.refuse)
				if r := server.Prompt(session, "one more"); !strings.Contains(r.Output, `"error"`) {
					t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
				}
				waitFor(t, "the toast", func() bool { return seen.contains(c.toast) })
				_, state := pluginHome(h)
				var done logAnswer
				if c.explainOnly {
					g.set(nil)
					runJSON(t, h, state, &done, "log")
					if len(done.Repairs) != 0 {
						t.Errorf("journal: %+v, want nothing", done)
					}
				} else {
					waitFor(t, "the repair", func() bool { return seen.contains("Undo: mend undo") })
					runJSON(t, h, state, &done, "log")
					if len(done.Repairs) != 1 || done.Repairs[0].State != "committed" || done.Repairs[0].Cause.Text == "" {
						t.Errorf("journal: %+v", done)
					}
				}
				if c.name == "empty content" {
					events.record(t, "recovery_"+version)
				}
				if c.autoResume {
					e := openLiveClient(t, h, server)
					waitFor(t, "the end of the resumed turn", func() bool { return e.prompts(t, session) == 1 && e.idle(t, session) })
				}
				if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
					t.Errorf("the next prompt = %s; reply:\n%s\nlog:\n%s", r.Verdict, r.Output, readHookLogs(h))
				}
			})
		}
	}
}

// TestLivePluginRun: if "opencode run" ends directly after an error, the session is repaired, even if the plugin did
// not report the error, and the next run works.
func TestLivePluginRun(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for version := range archives {
		for _, c := range []struct{ name, deaf string }{
			{name: "told"},
			{name: "unreported", deaf: `const WANTED = new Set(["session.idle", "session.status"]) //`},
		} {
			if testing.Short() && c.deaf != "" {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				h, session, _ := home(t, version, true)
				damageSession(t, h, session, "blank answer")
				installPlugin(t, h)
				configure(t, h, `{"skip": ["preflight"]}`)
				if c.deaf != "" {
					editPlugin(t, h, "const WANTED =", c.deaf)
				}
				if r := h.Continue(session, "one more"); r.Verdict != "R11" {
					t.Fatalf("the first run = %s; output:\n%s", r.Verdict, r.Output)
				}
				waitFor(t, "the repair", func() bool { return strings.Contains(readHookLogs(h), "msg=repaired") })
				if r := h.Continue(session, "say more"); r.Verdict != opencode.Alive {
					t.Errorf("the next run = %s; output:\n%s\nlog:\n%s", r.Verdict, r.Output, readHookLogs(h))
				}
			})
		}
	}
}

// waitForHooksEnd waits until no "mend hook" of the home runs.
func waitForHooksEnd(t *testing.T, h *opencode.Home) {
	t.Helper()
	waitFor(t, "the end of every hook", func() bool { return len(hookPIDs(h)) == 0 })
}

// hookPIDs returns the process ids of the "mend hook" of a home.
func hookPIDs(h *opencode.Home) []string {
	return slices.DeleteFunc(homePIDs(h), func(pid string) bool {
		cmdline, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		return !strings.Contains(string(cmdline), "/mend\x00hook\x00") // flags may follow
	})
}

// homePIDs returns the ids of the processes with the environment of a home.
func homePIDs(h *opencode.Home) []string {
	_, state := pluginHome(h)
	var all []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(environ), "XDG_STATE_HOME="+state+"\x00") {
			all = append(all, filepath.Base(filepath.Dir(path)))
		}
	}
	return all
}

// TestLivePluginHarmless: whatever is wrong with mend, the agent works as without mend.
func TestLivePluginHarmless(t *testing.T) {
	t.Parallel()
	for version := range archives {
		for _, c := range []struct{ name, script string }{
			{"missing", ""},
			{"not executable", "-"},
			{"ends at once", "exit 0"},
			{"fails", "echo nonsense; exit 3"},
			{"says nonsense", "echo '{]'; exec sleep 100"},
			{"floods", "exec yes"},
			{"one endless line", "exec tr '\\0' x < /dev/zero"},
			{"never answers and never reads", "exec sleep 100"},
			{"of another version", `read -r _; echo '{"type":"hello","protocol":99}'; exec sleep 100`},
			{"asks for what there is not", `read -r _; echo '{"type":"hello","protocol":1}'; echo '{"type":"call","id":1,"method":"explode"}'; echo '{"type":"call","id":2,"method":"messages","session":"x"}'; echo '{"type":"call","id":3,"method":"prompt","session":"ses_x","body":7}'; echo null; exec cat >/dev/null`},
			{"wants all hooks and answers none", `read -r _; echo '{"type":"hello","protocol":2}'; echo '{"type":"ready","wait":1500,"hooks":{"tool.execute.before":1000,"experimental.chat.messages.transform":1000},"activity":1,"parts":true}'; exec sleep 100`},
			{"dies in the middle", `read -r _; echo '{"type":"hello","protocol":1}'; read -r _; kill -9 $$`},
		} {
			if testing.Short() && c.name != "never answers and never reads" {
				continue
			}
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				h, session, _ := home(t, version, true)
				installPlugin(t, h)
				replaceMend(t, h, c.script)
				server := h.Serve()
				began := time.Now()
				for n := range 5 {
					if r := server.Prompt(session, "say hello"); r.Verdict != opencode.Alive {
						t.Fatalf("prompt %d = %s; reply:\n%s", n, r.Verdict, r.Output)
					}
				}
				t.Logf("5 prompts took %v", time.Since(began).Round(time.Millisecond))
				var health struct{ Version string }
				if callServer(t, server, http.MethodGet, "/global/health", nil, &health); health.Version != version {
					t.Errorf("the server says it is %q", health.Version)
				}
				server.Close()
			})
		}
	}
}

// TestLivePluginGone: the plugin reports once that mend was removed.
func TestLivePluginGone(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	onVersions(t, "1.18.33", func(t *testing.T, version string) {
		h, session, _ := home(t, version, true)
		installPlugin(t, h)
		replaceMend(t, h, "")
		server := h.Serve()
		seen := followToasts(t, server)
		for range 4 {
			if r := server.Prompt(session, "say hello"); r.Verdict != opencode.Alive {
				t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
		}
		waitFor(t, "the toast", func() bool { return seen.contains("mend does not run") })
		if all := seen.all(); len(all) != 1 {
			t.Errorf("toasts %q, want one", all)
		}
	})
}

// TestLivePluginBesideWatch: a plugin and a watch of the same user repair a session once.
func TestLivePluginBesideWatch(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	onVersions(t, "1.18.33", func(t *testing.T, version string) {
		h, session, _ := home(t, version, true)
		installPlugin(t, h)
		configure(t, h, `{"skip": ["preflight"]}`)
		server := h.Serve()
		_, state := pluginHome(h)
		startWatch(t, h, state, "--set", "skip=preflight")
		for n := 1; n <= 3; n++ {
			damageSession(t, h, session, "blank answer")
			if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
			waitFor(t, "the repair", func() bool { return countRepairs(t, state) >= n })
			time.Sleep(3 * time.Second) // the other one examines the session now
			if r := server.Prompt(session, "say more"); r.Verdict != opencode.Alive {
				t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
			if got := countRepairs(t, state); got != n {
				t.Errorf("%d repairs, want %d", got, n)
			}
		}
	})
}

// replaceMend makes the plugin start a shell script instead of mend.
func replaceMend(t *testing.T, h *opencode.Home, script string) {
	t.Helper()
	fake := filepath.Join(t.TempDir(), "mend")
	if script != "" {
		mode := os.FileMode(0o755)
		if script == "-" {
			mode = 0o644
		}
		if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+script+"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := mendExe()
	if err != nil {
		t.Fatal(err)
	}
	editPlugin(t, h, exe, fake)
	t.Cleanup(func() { killAll(t, h) })
}

// editPlugin replaces a text in the plugin of a home.
func editPlugin(t *testing.T, h *opencode.Home, before, after string) {
	t.Helper()
	config, _ := pluginHome(h)
	path := filepath.Join(config, "opencode", "plugins", "mend.js")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.ReplaceAll(string(text), before, after)
	if edited == string(text) {
		t.Fatalf("the plugin has no %q", before)
	}
	if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
}

// killAll kills all processes that the plugin of a home has started.
func killAll(t *testing.T, h *opencode.Home) {
	t.Helper()
	for _, pid := range homePIDs(h) {
		_ = exec.Command("kill", "-9", pid).Run() // it may have ended
	}
}

// TestLivePluginKilled: if a hook is killed before an error or during a recovery, another one is started and completes
// the recovery, and the next prompt works.
func TestLivePluginKilled(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	onVersions(t, "", func(t *testing.T, version string) {
		h, session, _ := home(t, version, true)
		installPlugin(t, h)
		configure(t, h, `{"skip": ["preflight"]}`)
		server := h.Serve()
		alive := func(prompt string) {
			t.Helper()
			if r := server.Prompt(session, prompt); r.Verdict != opencode.Alive {
				t.Fatalf("the prompt %q = %s; reply:\n%s\nlog:\n%s", prompt, r.Verdict, r.Output, readHookLogs(h))
			}
		}
		refused := func() *toastLog {
			t.Helper()
			damageSession(t, h, session, "blank answer")
			seen := followToasts(t, server)
			if r := server.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
			}
			return seen
		}
		alive("say hello")
		killHook(t, h)
		seen := refused()
		waitFor(t, "the repair", func() bool { return seen.contains("Undo: mend undo") })
		alive("say more")

		seen = refused()
		waitFor(t, "the begin of a recovery", func() bool { return seen.contains("Fixing empty message") })
		killHook(t, h)
		waitFor(t, "the second repair", func() bool { return seen.contains("Undo: mend undo") })
		alive("say more")
		_, state := pluginHome(h)
		if n := countRepairs(t, state); n != 2 {
			t.Errorf("%d repairs, want 2; log:\n%s", n, readHookLogs(h))
		}
	})
}

// killHook kills the hook of a home and waits for its end.
func killHook(t *testing.T, h *opencode.Home) {
	t.Helper()
	var pids []string
	waitFor(t, "the hook", func() bool {
		pids = hookPIDs(h)
		return len(pids) == 1
	})
	if err := exec.Command("kill", "-9", pids[0]).Run(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the hook", func() bool { return !slices.Contains(hookPIDs(h), pids[0]) })
}

// TestLivePluginFirst: OpenCode 1.1.53 creates its store with the first session, and mend repairs that session without
// a restart.
func TestLivePluginFirst(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	exe, err := opencode.Install("1.1.53")
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, true)
	installPlugin(t, h)
	configure(t, h, `{"skip": ["preflight"]}`)
	server := h.Serve()
	var s struct{ ID string }
	callServer(t, server, http.MethodPost, "/session", map[string]any{}, &s)
	for _, prompt := range []string{"please TOOL", "say Hello"} {
		if r := server.Prompt(s.ID, prompt); r.Verdict != opencode.Alive {
			t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
		}
	}
	damageSession(t, h, s.ID, "blank answer")
	if r := server.Prompt(s.ID, "one more"); r.Verdict != "R11" {
		t.Fatalf("the prompt = %s; reply:\n%s", r.Verdict, r.Output)
	}
	waitFor(t, "the repair", func() bool { return countRepaired(h) == 1 })
	if r := server.Prompt(s.ID, "say more"); r.Verdict != opencode.Alive {
		t.Errorf("the next prompt = %s; reply:\n%s", r.Verdict, r.Output)
	}
}
