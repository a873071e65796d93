package opencode

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mend/internal/ownfile"
	"mend/internal/userdir"
	"mend/request"
)

// The abilities of models are what OpenCode goes by when it sends a file: the user's
// settings name them, or else its own copy of the list of models.
type abilities struct {
	settings, models string // the paths; "" where they are not known
	read             func() knownModels
}

// A knownModels is what both files say. A file that is there and cannot be read says
// that nothing is known.
type knownModels struct {
	settings, models map[string]map[string]knownModel // by provider
	unknown          bool
}

type knownModel struct {
	ID         string // in the list, where the settings give the model another name
	Modalities *struct{ Input []string }
	Limit      struct{ Context int } // in tokens
}

// largestList bounds what is read of either file; the list has some megabytes.
const largestList = 64 << 20

func newAbilities() *abilities {
	a := &abilities{
		settings: openCodeFile("XDG_CONFIG_HOME", ".config", "opencode.json"),
		models:   openCodeFile("XDG_CACHE_HOME", ".cache", "models.json"),
	}
	a.read = sync.OnceValue(a.load)
	return a
}

// openCodeFile is a file of OpenCode's in the folder of that variable, or else of
// that name in the home folder, on every system alike; "" if neither is known.
func openCodeFile(variable, folder, name string) string {
	dir := os.Getenv(variable)
	if dir == "" {
		home, err := userdir.Home(variable)
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, folder)
	}
	return filepath.Join(dir, "opencode", name)
}

func (a *abilities) load() knownModels {
	var settings struct {
		Provider map[string]struct{ Models map[string]knownModel }
	}
	var models map[string]struct{ Models map[string]knownModel }
	k := knownModels{settings: map[string]map[string]knownModel{}}
	_, errSettings := decodeFile(a.settings, &settings)
	listed, errModels := decodeFile(a.models, &models)
	k.unknown = errSettings != nil || errModels != nil
	for name, p := range settings.Provider {
		k.settings[name] = p.Models
	}
	if listed {
		k.models = map[string]map[string]knownModel{}
		for name, p := range models {
			k.models[name] = p.Models
		}
	}
	return k
}

// decodeFile reads a file of JSON, and reports whether it is there.
func decodeFile(path string, to any) (there bool, err error) {
	if path == "" {
		return false, nil
	}
	f, err := ownfile.OpenSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := ownfile.ReadAtMost(f, largestList)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	return true, json.Unmarshal(data, to)
}

// window returns the context window of the model in tokens, 0 if it is not known.
func (a *abilities) window(m request.Model) int {
	k := a.read()
	own := k.settings[m.ProviderID][m.ModelID]
	if own.Limit.Context > 0 {
		return own.Limit.Context
	}
	return max(0, k.models[m.ProviderID][cmp.Or(own.ID, m.ModelID)].Limit.Context)
}

// reads reports whether the model takes files of that kind, as [render.Settings] asks.
// The models of Claude that nothing is said of do.
func (a *abilities) reads(m request.Model, kind string) (reads, known bool) {
	k := a.read()
	if k.unknown {
		return false, false
	}
	own, set := k.settings[m.ProviderID][m.ModelID]
	if own.Modalities != nil {
		return slices.Contains(own.Modalities.Input, kind), true
	}
	name := m.ModelID
	if own.ID != "" {
		name = own.ID
	}
	if listed, ok := k.models[m.ProviderID][name]; ok {
		return listed.Modalities != nil && slices.Contains(listed.Modalities.Input, kind), true
	}
	if set { // a model of the user's own, of which the agent knows no more than its settings say
		return false, k.models != nil
	}
	claude := m == (request.Model{}) || strings.Contains(m.ModelID, "claude")
	return claude, claude
}

// state tells whether the files are what they were.
func (a *abilities) state() string {
	var all []string
	for _, path := range []string{a.settings, a.models} {
		if info, err := os.Stat(path); err == nil {
			all = append(all, fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
		} else {
			all = append(all, "none")
		}
	}
	return strings.Join(all, " ")
}
