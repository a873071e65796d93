package opencode

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/testdata"
)

// Model is the only model of the scratch configuration.
const Model = "anthropic/claude-fake"

// unreachableRegistry is a package registry that refuses every connection. OpenCode looks
// for plugins there when it starts, and continues without them.
const unreachableRegistry = "http://127.0.0.1:9"

// A Home is a temporary home directory in which OpenCode knows only a test endpoint as provider.
type Home struct {
	t   testing.TB
	exe string
	api *endpoint.Server
	dir string

	program string // the name of the program: opencode, or kilo

	vars []string // environment variables of this home only
}

// New creates a temporary home for the executable that [Install] returned. Its only model reads images and
// PDFs, and thinks if thinking is set. The home is removed at the end of the test.
func New(t testing.TB, exe string, api *endpoint.Server, thinking bool) *Home {
	t.Helper()
	return newHome(t, "opencode", exe, api, config(api.URL, thinking))
}

// NewKilo makes a temporary home as [New] does, for the executable that [InstallKilo] returned.
func NewKilo(t testing.TB, exe string, api *endpoint.Server, thinking bool) *Home {
	t.Helper()
	return newHome(t, "kilo", exe, api, config(api.URL, thinking))
}

// newHome creates a temporary home with that configuration.
func newHome(t testing.TB, program, exe string, api *endpoint.Server, config object) *Home {
	t.Helper()
	h := &Home{t: t, program: program, exe: exe, api: api, dir: t.TempDir()}
	for _, dir := range []string{".config/" + program, ".local/share/" + program, ".local/state", ".cache", "project", "tmp"} {
		if err := os.MkdirAll(h.path(dir), 0o755); err != nil {
			t.Fatalf("making scratch home: %v", err)
		}
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		t.Fatalf("encoding configuration: %v", err)
	}
	if err := os.WriteFile(h.path(".config/"+program+"/"+program+".json"), data, 0o644); err != nil {
		t.Fatalf("making scratch home: %v", err)
	}
	return h
}

// Upgrade replaces the executable that is started from now on.
func (h *Home) Upgrade(exe string) { h.exe = exe }

// Dir returns the home folder.
func (h *Home) Dir() string { return h.dir }

// DataDir returns the program's data directory, which holds storage and the database.
func (h *Home) DataDir() string { return h.path(".local/share/" + h.program) }

// database returns the path of the database in a data directory.
func (h *Home) database(dir string) string { return filepath.Join(dir, h.program+".db") }

// Project returns the directory that OpenCode is started in.
func (h *Home) Project() string { return h.path("project") }

// Unpack unpacks an archive of testdata into the data directory, which must be unused, and returns the id of
// its only session. In a database the session's directory becomes Project: OpenCode 1.18 answers no prompt in
// a session without its directory.
func (h *Home) Unpack(archive []byte) (session string) {
	h.t.Helper()
	if h.program != "opencode" {
		return h.take(archive)
	}
	session, err := testdata.Unpack(archive, h.path(".local/share"))
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := os.Stat(h.database(h.DataDir())); err == nil {
		h.SQL("update session set directory = ?", h.Project())
	}
	return session
}

// take starts the program, which creates its database, and copies the session of an archive into it.
func (h *Home) take(archive []byte) (session string) {
	h.t.Helper()
	dir := h.t.TempDir()
	session, err := testdata.Unpack(archive, dir)
	if err != nil {
		h.t.Fatal(err)
	}
	h.Serve().Close()
	s := &StoreRunner{home: h, session: session}
	if err := s.exchangeRows(filepath.Join(dir, "opencode", "opencode.db"), session); err != nil {
		h.t.Fatal(err)
	}
	return session
}

// Store returns the store with the session, for tests that damage it.
func (h *Home) Store(session string) damage.Store {
	if _, err := os.Stat(h.database(h.DataDir())); err == nil {
		return damage.Database{SQL: h.SQL}
	}
	return damage.Tree{T: h.t, Root: filepath.Join(h.DataDir(), "storage"), Session: session}
}

// path returns the absolute path of a name in the home.
func (h *Home) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

// env returns the complete environment of the program. From the test's environment it takes only the search
// path, and so no credential and no proxy.
func (h *Home) env() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + h.dir,
		"PWD=" + h.Project(),
		"TMPDIR=" + h.path("tmp"),
		"XDG_DATA_HOME=" + h.path(".local/share"),
		"XDG_CONFIG_HOME=" + h.path(".config"),
		"XDG_STATE_HOME=" + h.path(".local/state"),
		"XDG_CACHE_HOME=" + h.path(".cache"),
		strings.ToUpper(h.program) + "_DISABLE_MODELS_FETCH=1",
		strings.ToUpper(h.program) + "_DISABLE_AUTOUPDATE=1",
		strings.ToUpper(h.program) + "_DISABLE_DEFAULT_PLUGINS=1",
		"npm_config_registry=" + unreachableRegistry,
		"BUN_CONFIG_REGISTRY=" + unreachableRegistry,
	}, h.vars...)
}

type object = map[string]any

// config returns the content of opencode.json.
func config(url string, thinking bool) object {
	model := modelConfig(200_000, nil)
	if thinking {
		model["options"] = object{"thinking": object{"type": "enabled", "budgetTokens": 1024}}
	}
	return homeConfig(Model, object{"anthropic": providerConfig("@ai-sdk/anthropic", url+"/v1", object{"claude-fake": model})})
}

// homeConfig returns the content of opencode.json with a default model and providers.
func homeConfig(model string, providers object) object {
	return object{"model": model, "small_model": model, "permission": object{"bash": "allow", "edit": "allow"}, "provider": providers}
}

func providerConfig(npm, url string, models object) object {
	return object{"npm": npm, "options": object{"baseURL": url, "apiKey": "x"}, "models": models}
}

// modelConfig returns a model with a context of that many tokens, and with more members.
func modelConfig(context int, more object) object {
	m := object{
		"reasoning": true, "tool_call": true, "attachment": true,
		"modalities": object{"input": []string{"text", "image", "pdf"}, "output": []string{"text"}},
		"limit":      object{"context": context, "output": 8192},
	}
	maps.Copy(m, more)
	return m
}
