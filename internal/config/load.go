package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"mend/internal/ownfile"
)

// mark is the byte order mark with which editors on Windows begin a file.
const mark = "\ufeff"

// maxFile is the maximum size of a file, in bytes. The parser's time grows with the square of the nesting.
const maxFile = 64 << 10

// A ProblemError lists the keys and values of the file and the environment that were left out.
type ProblemError struct{ Problems []error }

func (e *ProblemError) Error() string {
	all := make([]string, len(e.Problems))
	for i, err := range e.Problems {
		all[i] = err.Error()
	}
	return strings.Join(all, "; ")
}

// Load reads the file at path, which need not exist, then the environment with lookup, then assignments such
// as "autoResume=true". The error names the source and the key. With a [*ProblemError] the rest of the Config
// is valid; with any other error the Config is not.
func Load(path string, lookup func(string) (string, bool), assignments []string) (Config, error) {
	c := Defaults()
	data, err := readSettings(path)
	if err == nil {
		err = c.parse(data)
	}
	if err != nil {
		return c, fmt.Errorf("reading %s: %w", path, err)
	}
	for i, err := range c.problems {
		c.problems[i] = fmt.Errorf("reading %s: %w", path, err)
	}
	for _, k := range c.settings() {
		if text, ok := lookup(envName(k.name)); ok {
			c.try(func(c *Config) error {
				if err := c.assign(k.name, text, Environment); err != nil {
					return fmt.Errorf("reading $%s: %w", envName(k.name), err)
				}
				return nil
			})
		}
	}
	for _, a := range assignments {
		name, text, ok := strings.Cut(a, "=")
		if !ok {
			return c, fmt.Errorf("setting %q: want KEY=VALUE", a)
		}
		if err := c.assign(name, text, Flag); err != nil {
			return c, err
		}
	}
	err = c.applyHooks()
	if err == nil && len(c.problems) > 0 {
		err = &ProblemError{c.problems}
	}
	return c, err
}

// readSettings returns the content of the file at path, nil if it does not exist.
func readSettings(path string) ([]byte, error) {
	f, err := ownfile.OpenSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ownfile.ReadAtMost(f, maxFile)
}

// parse sets the values in the text of a file.
func (c *Config) parse(data []byte) error {
	data = bytes.TrimPrefix(data, []byte(mark))
	if _, err := hujson.Standardize(append(bytes.Clone(data), "\n{}"...)); err == nil {
		return nil // empty, or only comments
	}
	standard, err := hujson.Standardize(append(data, '\n')) // the parser requires a newline after a comment
	if err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(standard, &members); err != nil {
		return fmt.Errorf("want one object: %w", err)
	}
	c.takeAliases("", members) // mend's own setting takes precedence over an alias
	for _, name := range slices.Sorted(maps.Keys(members)) {
		c.try(func(c *Config) error {
			k, err := c.find(name)
			if err != nil {
				return err
			}
			return c.setJSON(k, members[name], File)
		})
	}
	return nil
}

func (c *Config) setJSON(k setting, value jsontext.Value, origin Origin) error {
	reflect.ValueOf(k.field).Elem().SetZero() // otherwise the value would be merged into the previous one
	if err := json.Unmarshal(value, k.field); err != nil || value.Kind() == 'n' {
		return k.typeError(string(value))
	}
	return c.validate(k, origin)
}

// assign parses text and sets the key.
func (c *Config) assign(name, text string, origin Origin) error {
	k, err := c.find(name)
	if err != nil {
		return err
	}
	switch v := k.field.(type) {
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *int:
		*v, err = strconv.Atoi(text)
	case *string:
		*v = text
	default:
		return c.setJSON(k, listJSON(k, text), origin)
	}
	if err != nil {
		return k.typeError(text)
	}
	return c.validate(k, origin)
}

// listJSON returns the JSON value of a list or an object in the environment or on the
// command line: JSON, or for a list its values with commas between them.
func listJSON(k setting, text string) jsontext.Value {
	if text = strings.TrimSpace(text); text == "" || text[0] == '[' || text[0] == '{' {
		return jsontext.Value(cmp.Or(text, "[]"))
	}
	values := strings.Split(text, ",")
	if _, ok := k.field.(*[]int); ok {
		return jsontext.Value("[" + strings.Join(values, ",") + "]")
	}
	data, err := json.Marshal(values)
	if err != nil {
		return jsontext.Value(text) // not valid UTF-8: the parser reports it
	}
	return data
}

// validate checks the value of a setting and records its origin.
func (c *Config) validate(k setting, origin Origin) error {
	switch v := k.field.(type) {
	case *int:
		if *v < k.min || *v > k.max {
			return k.typeError(strconv.Itoa(*v))
		}
	case *[]int:
		if bad := slices.IndexFunc(*v, func(n int) bool { return n < k.min || n > k.max }); bad >= 0 {
			return k.typeError(strconv.Itoa((*v)[bad]))
		}
	case *[]string:
		if k.name != "skip" {
			return c.validateModels(k, *v, origin)
		}
		for _, word := range *v {
			if !slices.Contains(skipWords(), word) {
				return k.typeError(strconv.Quote(word))
			}
		}
	case *map[string][]string:
		for _, agent := range slices.Sorted(maps.Keys(*v)) {
			if err := c.validateModels(k, (*v)[agent], origin); err != nil {
				return err
			}
		}
	case *string:
		if allowed := choices[k.name]; strings.TrimSpace(*v) == "" || allowed != nil && !slices.Contains(allowed, *v) {
			return k.typeError(strconv.Quote(*v))
		}
	}
	c.origin[k.name] = origin
	return nil
}

// validateModels checks the names of models and records the origin of the setting.
func (c *Config) validateModels(k setting, models []string, origin Origin) error {
	for _, m := range models {
		if _, _, _, ok := ParseModel(m); !ok {
			return k.typeError(strconv.Quote(m))
		}
	}
	c.origin[k.name] = origin
	return nil
}

// ParseModel splits the name of a model: provider/model, or provider/model(variant).
func ParseModel(name string) (provider, model, variant string, ok bool) {
	provider, model, _ = strings.Cut(name, "/")
	if before, rest, found := strings.Cut(model, "("); found && strings.HasSuffix(rest, ")") {
		model, variant = before, strings.TrimSuffix(rest, ")")
	}
	return provider, model, variant, strings.TrimSpace(provider) != "" && strings.TrimSpace(model) != ""
}

// want describes the allowed values of the setting.
func (k setting) want() string {
	switch k.field.(type) {
	case *int:
		return fmt.Sprintf("a whole number from %d to %d", k.min, k.max)
	case *string:
		if allowed := choices[k.name]; allowed != nil {
			return strings.Join(allowed, " or ")
		}
		return "a text that is not blank"
	case *[]int:
		return fmt.Sprintf("a list of whole numbers from %d to %d", k.min, k.max)
	case *[]string:
		if k.name == "skip" {
			return "a list of " + strings.Join(skipWords(), ", ")
		}
		return "a list of models such as \"anthropic/claude-opus-4-5\""
	case *map[string][]string:
		return "an object with a list of models for each agent"
	}
	return "true or false"
}

// typeError returns the error for a value that the setting does not allow.
func (k setting) typeError(got string) error {
	return fmt.Errorf("key %q: want %s, got %s", k.name, k.want(), got)
}

// maxName is the maximum length, in bytes, of a name that is compared and printed.
const maxName = 100

// find returns the setting with this name. The error names the nearest one.
func (c *Config) find(name string) (setting, error) {
	all := c.settings()
	for _, k := range all {
		if k.name == name {
			return k, nil
		}
	}
	if len(name) > maxName {
		return setting{}, fmt.Errorf("unknown key of %d bytes", len(name))
	}
	distance := func(k setting) int {
		return levenshtein.ComputeDistance(strings.ToLower(k.name), strings.ToLower(name))
	}
	nearest := slices.MinFunc(all, func(a, b setting) int { return distance(a) - distance(b) })
	if distance(nearest) > 2*len(name)/3 {
		return setting{}, fmt.Errorf("unknown key %q", name)
	}
	return setting{}, fmt.Errorf("unknown key %q; the nearest is %q", name, nearest.name)
}

// envName returns the environment variable of a key: MEND_AUTO_RESUME for autoResume.
func envName(name string) string {
	var b strings.Builder
	b.WriteString("MEND_")
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte('_')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
