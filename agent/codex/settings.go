package codex

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"

	"mend/agent/codex/rollout"
	"mend/change"
	"mend/internal/ownfile"
)

// settings are the fields that mend reads from a configuration file of Codex.
type settings struct {
	Provider        string         `toml:"model_provider"`
	Providers       map[string]any `toml:"model_providers"`
	Features, Hooks map[string]any
}

// maxSettings is the greatest size in bytes of settings that are read.
const maxSettings = 1 << 20

func readSettings(file string) (s settings, err error) {
	data, err := ownfile.ReadPlain(file, maxSettings)
	if err == nil {
		err = toml.Unmarshal(data, &s)
	}
	return s, err
}

// config is the name of the user's settings, in the folder of Codex.
const config = "config.toml"

// systemConfig has the settings of all users. A user's settings override them.
const systemConfig = "/etc/codex/config.toml"

// builtin are the providers that Codex knows without settings.
var builtin = []string{"openai", "ollama", "lmstudio", "amazon-bedrock", "gcp"}

// providers returns the model providers that Codex knows from its settings and its profiles (NAME.config.toml). They
// are unknown if a file cannot be read: then Codex does not start.
func (s *store) providers() rollout.Providers {
	root := s.ID().Root
	profiles, _ := fs.Glob(os.DirFS(root), "*."+config)
	files := []string{filepath.Join(root, config), systemConfig}
	for _, name := range profiles {
		files = append(files, filepath.Join(root, name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := statesOf(files); s.configured != now {
		s.configured, s.known = now, readProviders(files)
	}
	return s.known
}

func (s *store) Settings(change.Head) string { return fmt.Sprint(s.providers()) }

func readProviders(files []string) (p rollout.Providers) {
	p.All = slices.Clone(builtin)
	for i, file := range files {
		c, err := readSettings(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return rollout.Providers{}
		}
		p.All = append(p.All, slices.Sorted(maps.Keys(c.Providers))...)
		if i < 2 { // not a profile
			p.Current = cmp.Or(p.Current, c.Provider)
		}
	}
	if p.Current = cmp.Or(p.Current, builtin[0]); !slices.Contains(p.All, p.Current) {
		return rollout.Providers{} // Codex does not start
	}
	return p
}

// statesOf returns a text that changes whenever one of the files changes.
func statesOf(files []string) string {
	all := []any{files}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			all = append(all, info.Size(), info.ModTime().UnixNano())
		}
	}
	return fmt.Sprintln(all...)
}
