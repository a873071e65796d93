package opencode

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/tailscale/hujson"

	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/render"
	"mend/internal/ownfile"
	"mend/internal/provider/chat"
	"mend/internal/request"
	"mend/internal/userdir"
)

// models has OpenCode's knowledge about models: from the settings of the user and of a project, or else from OpenCode's
// copy of the list of models. It keeps only the members of settings and logins that the types below have, and therefore
// no API key.
type models struct {
	program *program
	list    string   // the path of the list, "" if unknown
	global  []string // the settings that apply everywhere; later ones override
	above   []string // settings that override a project's; later ones override
	text    string   // settings in an environment variable, which override the files above

	managed []string // the settings of the machine's administrator, which override all others
	auth    string   // the path of the logins, "" if unknown

	project bool // whether settings of projects are read

	mu     sync.Mutex
	listed *knownList              // the list; nil before the first use
	in     map[string]*knownModels // by directory
}

// A knownList is the list of models, by provider. It is read on first use, because it is several megabytes long.
type knownList struct {
	state string // of the file; see [stateOf]
	read  func() *listedModels
}

type listedModels struct {
	providers map[string]knownProvider
	exists    bool
	err       error
}

// knownModels has the settings and models that apply in one directory.
type knownModels struct {
	Provider map[string]knownProvider // in the settings
	list     *knownList
	chatGPT  bool   // OpenAI is used with a ChatGPT login
	unknown  bool   // a file exists but cannot be read
	state    string // identifies the values of all fields
}

// A knownProvider is a provider in the settings or in the list.
type knownProvider struct {
	NPM     string
	API     string // the address; only in the list
	Options struct {
		BaseURL string `json:"baseURL"`
	}
	Models map[string]knownModel
}

type knownModel struct {
	ID       string // in the list, if the settings rename the model
	Provider struct {
		NPM string
		API string
	}
	Modalities  *struct{ Input []string }
	Limit       struct{ Context int } // in tokens
	Interleaved json.RawMessage       // true, or an object with the field of reasoning
	Options     knownOptions
}

// knownOptions are options of a model. ReasoningConfig is for Claude on Bedrock.
type knownOptions struct {
	Store                     bool
	Thinking, ReasoningConfig struct {
		Type         json.RawMessage
		BlockBinding json.RawMessage `json:"blockBinding"`
	}
}

// thinks reports whether the options turn thinking on.
func (o knownOptions) thinks() bool {
	isOn := func(kind json.RawMessage) bool { return string(kind) == `"enabled"` || string(kind) == `"adaptive"` }
	return isOn(o.Thinking.Type) || isOn(o.ReasoningConfig.Type)
}

// keepsBound reports whether the options set a block binding other than drop_block, which leaves out bound thinking.
func (o knownOptions) keepsBound() bool {
	for _, set := range []json.RawMessage{o.Thinking.BlockBinding, o.ReasoningConfig.BlockBinding} {
		if len(set) > 0 && !bytes.Contains(set, []byte("drop_block")) {
			return true
		}
	}
	return false
}

const (
	largestList     = 64 << 20 // bytes; the list has several megabytes
	largestSettings = 1 << 20  // bytes
	largestComments = 1 << 17  // bytes of settings with comments: their parser needs stack for each nested value
)

func newModels(p *program) *models {
	m := &models{
		program: p, list: p.file("XDG_CACHE_HOME", ".cache", "models.json"), text: p.env("CONFIG_CONTENT"),
		project: p.env("DISABLE_PROJECT_CONFIG") == "",
	}
	if path := p.file("XDG_CONFIG_HOME", ".config", "config.json"); path != "" {
		m.global = append([]string{path}, join(filepath.Dir(path), p.settings)...)
	}
	if path := p.env("CONFIG"); filepath.IsAbs(path) {
		m.global = append(m.global, path)
	}
	if home, err := userdir.Home("XDG_CONFIG_HOME"); err == nil {
		m.above = append(m.above, p.inFoldersOf(home)...)
	}
	if dir := p.env("CONFIG_DIR"); filepath.IsAbs(dir) {
		m.above = append(m.above, join(dir, p.inFolders)...)
	}
	m.managed = join(p.managedDir(), p.settings)
	m.auth = p.file("XDG_DATA_HOME", filepath.Join(".local", "share"), "auth.json")
	return m
}

// managedDir returns the folder with the settings of the machine's administrator.
func (p *program) managedDir() string {
	if dir := p.env("TEST_MANAGED_CONFIG_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/" + p.name
	case "windows":
		return filepath.Join(cmp.Or(os.Getenv("ProgramData"), `C:\ProgramData`), p.name)
	default:
		return "/etc/" + p.name
	}
}

// file returns the path of one of the program's files: in the folder of the environment variable, or else in the
// given folder of the home folder, on every system; "" if neither is known.
func (p *program) file(variable, folder, name string) string {
	dir := os.Getenv(variable)
	if dir == "" {
		home, err := userdir.Home(variable)
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, folder)
	}
	return filepath.Join(dir, p.name, name)
}

// inFoldersOf returns the settings files in the program's folders in dir.
func (p *program) inFoldersOf(dir string) (paths []string) {
	for _, folder := range p.folders {
		paths = append(paths, join(filepath.Join(dir, folder), p.inFolders)...)
	}
	return paths
}

func join(dir string, names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// files returns the settings files that apply in a directory; later ones override earlier ones. OpenCode searches all
// folders from the directory up to the worktree.
func (m *models) files(dir string) (files []string) {
	for at := filepath.Clean(dir); m.project && filepath.IsAbs(at); at = filepath.Dir(at) {
		files = slices.Concat(join(at, m.program.settings), m.program.inFoldersOf(at), files)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || filepath.Dir(at) == at {
			break
		}
	}
	return slices.Concat(m.global, files, m.above)
}

// directoryModels returns the settings and models that apply in a directory.
func (m *models) directoryModels(dir string) *knownModels {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.in[dir]; k != nil {
		return k
	}
	if m.listed == nil {
		m.listed = &knownList{stateOf(m.list), sync.OnceValue(func() *listedModels {
			l := &listedModels{}
			l.exists, l.err = decodeFile(m.list, largestList, &l.providers)
			return l
		})}
	}
	k := &knownModels{list: m.listed, chatGPT: m.hasChatGPT()}
	merged := map[string]any{}
	k.read(merged, m.files(dir))
	if m.text != "" {
		var own map[string]any
		if decodeSettings([]byte(m.text), &own) != nil {
			k.unknown = true
		}
		merge(merged, own)
	}
	k.read(merged, m.managed)
	data, err := json.Marshal(merged)
	if err == nil {
		err = json.Unmarshal(data, k)
	}
	k.unknown = k.unknown || err != nil
	sum := sha256.Sum256(data)
	k.state = fmt.Sprintf("%s %x %t %t", k.list.state, sum[:8], k.chatGPT, k.unknown)
	if m.in == nil {
		m.in = map[string]*knownModels{}
	}
	m.in[dir] = k
	return k
}

// read merges settings files; later ones override earlier ones.
func (k *knownModels) read(merged map[string]any, paths []string) {
	for _, path := range paths {
		var own map[string]any
		if _, err := decodeFile(path, largestSettings, &own); err != nil {
			k.unknown = true
		}
		merge(merged, own)
	}
}

// merge merges own into merged: objects are merged, and any other value in own replaces the one in merged.
func merge(merged, own map[string]any) {
	for name, v := range own {
		weaker, isObject := merged[name].(map[string]any)
		if stronger, both := v.(map[string]any); isObject && both {
			merge(weaker, stronger)
			continue
		}
		merged[name] = v
	}
}

// hasChatGPT reports whether OpenAI is used with a ChatGPT login. Only the type of each login is kept.
func (m *models) hasChatGPT() bool {
	var logins struct{ OpenAI struct{ Type string } }
	_, _ = decodeFile(m.auth, largestSettings, &logins) // without a type there is no such login
	return logins.OpenAI.Type == "oauth"
}

// decodeFile reads a file of JSON, and reports whether it exists.
func decodeFile(path string, limit int, to any) (exists bool, err error) {
	if path == "" {
		return false, nil
	}
	f, err := ownfile.OpenSettings(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := ownfile.ReadAtMost(f, limit)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	return true, decodeSettings(data, to)
}

// decodeSettings decodes JSON with optional comments and trailing commas, after an optional byte order mark.
func decodeSettings(data []byte, to any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	err := json.Unmarshal(data, to)
	if err == nil || len(data) > largestComments {
		return err
	}
	standard, err := hujson.Standardize(append(bytes.Clone(data), '\n')) // it requires a newline after a comment
	if err != nil {
		return err
	}
	return json.Unmarshal(standard, to)
}

// find returns the model's entries in the settings and in the list, and whether they exist.
func (k *knownModels) find(m request.Model) (own, listed knownModel, isSet, isListed bool) {
	own, isSet = k.Provider[m.ProviderID].Models[m.ModelID]
	listed, isListed = k.list.read().providers[m.ProviderID].Models[cmp.Or(own.ID, m.ModelID)]
	return own, listed, isSet, isListed
}

// canRead reports whether the model accepts files of that kind, for [render.Settings]. A Claude model without an entry
// does.
func (k *knownModels) canRead(m request.Model, kind string) (ok, known bool) {
	if k.unknown || k.list.read().err != nil {
		return false, false
	}
	own, listed, isSet, isListed := k.find(m)
	switch {
	case own.Modalities != nil:
		return slices.Contains(own.Modalities.Input, kind), true
	case isListed:
		return listed.Modalities != nil && slices.Contains(listed.Modalities.Input, kind), true
	case isSet: // a model of the user's own: the agent knows only its settings
		return false, k.list.read().exists
	case kind != "image" && kind != "pdf":
		return false, false
	}
	claude := m == (request.Model{}) || strings.Contains(m.ModelID, "claude")
	return claude, claude
}

// window returns the context window of the model in tokens, 0 if unknown.
func (k *knownModels) window(m request.Model) int {
	own, listed, _, _ := k.find(m)
	if own.Limit.Context > 0 {
		return own.Limit.Context
	}
	return max(0, listed.Limit.Context)
}

// target returns the API that receives the requests of a model. Like OpenCode, it uses the settings, then the list, and
// then built-in rules for well-known providers.
func (k *knownModels) target(m request.Model) render.Target {
	own, listed, isSet, isListed := k.find(m)
	p, l := k.Provider[m.ProviderID], k.list.read().providers[m.ProviderID]
	t := render.Target{ModelID: own.ID}
	fromList := cmp.Or(listed.Provider.NPM, l.NPM)
	switch {
	case isSet && own.Provider.NPM != "":
		t.Package = own.Provider.NPM
	case isSet && p.NPM != "":
		t.Package = p.NPM
	case fromList != "":
		t.Package = fromList
	case isListed || isSet && k.list.read().exists:
		t.Package = render.Compatible
	default:
		t.Package = render.WellKnown(m).Package
	}
	if strings.HasPrefix(m.ProviderID, "github-copilot") && !isSet {
		t.Package = "@ai-sdk/github-copilot"
	}
	t.Store = own.Options.Store
	t.Thinks, t.KeepsBound = own.Options.thinks(), own.Options.keepsBound()
	t.Instructions = k.chatGPT && m.ProviderID == "openai"
	interleaved := own.Interleaved
	if interleaved == nil {
		interleaved = listed.Interleaved
	}
	var field struct{ Field string }
	if json.Unmarshal(interleaved, &field) == nil {
		t.Field = field.Field
	}
	t.Vendor = vendorOf(m.ProviderID, p.Options.BaseURL, l.API)
	return t
}

// vendors are the strict vendors, with strings that their ids and hosts contain.
var vendors = []struct {
	name  string
	ids   []string
	hosts []string
}{
	{chat.Moonshot, []string{"moonshot", "kimi"}, []string{"moonshot.ai", "moonshot.cn", "moonshotai.cn", "kimi.com"}},
	{chat.DeepSeek, []string{"deepseek"}, []string{"deepseek.com"}},
	{chat.Qwen, []string{"alibaba", "dashscope", "qwen"}, []string{"aliyuncs.com"}},
}

// vendorOf returns the vendor that a provider uses, by the hosts in its addresses or else its id; "" if unknown.
func vendorOf(id string, addresses ...string) string {
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			continue
		}
		host := u.Hostname()
		for _, v := range vendors {
			if slices.ContainsFunc(v.hosts, func(h string) bool { return host == h || strings.HasSuffix(host, "."+h) }) {
				return v.name
			}
		}
	}
	for _, v := range vendors {
		if slices.ContainsFunc(v.ids, func(s string) bool { return strings.Contains(id, s) }) {
			return v.name
		}
	}
	return ""
}

// reset drops cached files, except a list that has not changed.
func (m *models) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.in = nil
	if m.listed != nil && m.listed.state != stateOf(m.list) {
		m.listed = nil
	}
}

// stateOf returns the size and the time of a file, "" if it does not exist.
func stateOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// Providers implements [agent.Agent].
func (Agent) Providers() (names []string) {
	for _, c := range diagnose.Targets {
		names = append(names, c.Name)
	}
	return names
}

// targetAs returns where requests go if the user chose the provider with that name; "" means that none was chosen.
func (k *knownModels) targetAs(name string) func(request.Model) render.Target {
	for _, c := range diagnose.Targets {
		if c.Name == name {
			return func(m request.Model) render.Target {
				t := k.target(m)
				if t.API(m).String() == name {
					return t
				}
				return c.Target
			}
		}
	}
	return k.target
}

// targetName returns the name of a provider: its API, or the vendor if several vendors share the
// API.
func targetName(m request.Model, t render.Target) string {
	api := t.API(m)
	if api == render.Chat && t.Vendor != "" {
		return t.Vendor
	}
	return api.String()
}
