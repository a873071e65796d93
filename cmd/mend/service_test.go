package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// awkwardCommand is a command with what the formats of services treat in a special way.
var awkwardCommand = serviceCommand{
	args:        []string{"/opt/a b/mend", "watch", "--set", `placeholder="<x> & $HOME \ %h"`, "--store", "/data/ö's"},
	environment: []string{`XDG_DATA_HOME=/home/me/50% "data" \ $x <&>`},
	log:         "/home/me/<log>",
}

// TestSystemdUnit checks that systemd accepts the unit, and that a service that it describes
// gets the words and the environment as they are.
func TestSystemdUnit(t *testing.T) {
	unit := systemdUnit(awkwardCommand)
	for _, line := range []string{
		`ExecStart="/opt/a b/mend" "watch" "--set" "placeholder=\"<x> & $$HOME \\ %%h\"" "--store" "/data/ö's"`,
		`Environment="XDG_DATA_HOME=/home/me/50%% \"data\" \\ $x <&>"`,
	} {
		if !strings.Contains(unit, line+"\n") {
			t.Errorf("the unit has no line %s:\n%s", line, unit)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd here")
	}
	dir := filepath.Join(t.TempDir(), "a $b %h") // it checks that the program is there
	c := awkwardCommand
	c.args = append([]string{filepath.Join(dir, "mend")}, c.args[1:]...)
	path := filepath.Join(dir, "mend-watch.service")
	s := &service{comment: [2]string{"# ", "\n"}}
	err = errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(c.args[0], nil, 0o700), os.WriteFile(path, []byte(s.withHeader(systemdUnit(c), "v1")), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(analyze, "--user", "--man=no", "verify", path)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "mend-watch") {
		t.Errorf("systemd-analyze verify: %v:\n%s", err, out)
	}
}

// TestLaunchdAgent checks the values of the property list.
func TestLaunchdAgent(t *testing.T) {
	s := &service{comment: [2]string{"<!-- ", " -->\n"}}
	got, err := parsePlist(s.withHeader(launchdAgent(awkwardCommand), "v1"))
	want := map[string]any{
		"Label":                "mend.watch",
		"ProgramArguments":     []any{},
		"EnvironmentVariables": map[string]any{"XDG_DATA_HOME": strings.TrimPrefix(awkwardCommand.environment[0], "XDG_DATA_HOME=")},
		"RunAtLoad":            true,
		"KeepAlive":            map[string]any{"SuccessfulExit": false},
		"ThrottleInterval":     "60",
		"ProcessType":          "Background",
		"StandardOutPath":      "/home/me/<log>",
		"StandardErrorPath":    "/home/me/<log>",
	}
	for _, arg := range awkwardCommand.args {
		want["ProgramArguments"] = append(want["ProgramArguments"].([]any), arg)
	}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// parsePlist returns the value of a property list.
func parsePlist(text string) (any, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local != "plist" {
			value, err := plistValue(d, start)
			if err != nil {
				return nil, err
			}
			for err == nil { // the rest must be well-formed
				_, err = d.Token()
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return value, err
		}
	}
}

func plistValue(d *xml.Decoder, start xml.StartElement) (any, error) {
	var text strings.Builder
	list, dict, key := []any{}, map[string]any{}, ""
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			value, err := plistValue(d, token)
			if err != nil {
				return nil, err
			}
			if token.Name.Local == "key" {
				key = fmt.Sprint(value)
				continue
			}
			list, dict[key] = append(list, value), value
		case xml.EndElement:
			switch start.Name.Local {
			case "array":
				return list, nil
			case "dict":
				return dict, nil
			case "true", "false":
				return start.Name.Local == "true", nil
			default:
				return text.String(), nil
			}
		}
	}
}

// TestServiceEnvironment checks that a service finds the stores and the settings that the user's shell finds, and that no credential gets
// into its file.
func TestServiceEnvironment(t *testing.T) {
	want := []string{
		"XDG_DATA_HOME=/data", "OPENCODE_DB=a.db", "KILO_DB=b.db", "CLAUDE_CONFIG_DIR=/claude", "CODEX_HOME=/codex", "MEND_MAX_RETRIES=7",
	}
	for _, v := range append(want, "OPENCODE_AUTH_CONTENT=secret", "OPENCODE_CONFIG_CONTENT=secret", "MEND_OTHER=x") {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	settings, _, err := loadLiveSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := serviceEnvironment(settings.Settings())
	for _, v := range want {
		if !slices.Contains(got, v) {
			t.Errorf("%s is not in the service: %q", v, got)
		}
	}
	if text := strings.Join(got, " "); strings.Contains(text, "secret") || strings.Contains(text, "MEND_OTHER") {
		t.Errorf("the service has %s", text)
	}
}

// TestServiceFile checks that mend replaces the files that it wrote, of any version, unless
// somebody edited them.
func TestServiceFile(t *testing.T) {
	for _, system := range []string{"linux", "darwin"} {
		t.Setenv("HOME", t.TempDir())
		t.Setenv("XDG_CONFIG_HOME", "")
		s, err := userService(system)
		if err != nil {
			t.Fatal(err)
		}
		text := s.withHeader(s.text(awkwardCommand), "v0.1")
		for _, c := range []struct {
			name, text string
			want       error
		}{
			{"as it was written", text, nil},
			{"of another command", s.withHeader(s.text(serviceCommand{args: []string{"/mend"}}), "v9"), nil},
			{"edited", strings.Replace(text, "50%", "60%", 1), errEditedService},
			{"longer", text + "\n", errEditedService},
			{"another one", "[Service]\nExecStart=/bin/true\n", errForeignService},
			{"empty", "", errForeignService},
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(s.path), 0o700), os.WriteFile(s.path, []byte(c.text), 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.read(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s, %s: %v, want %v", system, c.name, err, c.want)
			}
		}
	}
	for _, system := range []string{"windows", "freebsd"} {
		if _, err := userService(system); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "mend plugin install") {
			t.Errorf("userService(%s) = %v, want that it is not available, and what to do", system, err)
		}
	}
}

// TestServiceStart runs the command of the unit, and checks that it watches.
func TestServiceStart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the unit is for Linux")
	}
	home := t.TempDir()
	exe, err := exec.LookPath("mend")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home)
	install := exec.Command(exe, "watch", "install", "--yes", "--set", "maxRetries=2")
	install.Env = env
	if out, err := install.CombinedOutput(); err != nil || !strings.Contains(string(out), "systemctl --user enable --now mend-watch") {
		t.Fatalf("mend watch install: %v:\n%s", err, out)
	}
	unit := readFile(t, filepath.Join(home, ".config", "systemd", "user", "mend-watch.service"))
	_, command, _ := strings.Cut(unit, "ExecStart=")
	command, _, _ = strings.Cut(command, "\n")
	cmd := exec.Command("sh", "-c", "exec "+command)
	cmd.Env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "XDG_") && v != "XDG_CONFIG_HOME=" })
	log := &lockedBuffer{written: make(chan struct{}, 1)}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log.await(t, "waiting for one")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v; log:\n%s", err, log.text())
	}
}
