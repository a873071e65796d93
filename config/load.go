package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// maxFile is how long a file may be, in bytes.
const maxFile = 1 << 20

// Load reads the file at path, which need not exist, then the environment, by
// lookup, then assignments such as "autoResume=true". The error names the place
// and the key; the Config is then not to be used.
func Load(path string, lookup func(string) (string, bool), assignments []string) (Config, error) {
	c := defaults()
	if err := c.readFile(path); err != nil {
		return c, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, k := range c.settings() {
		if text, ok := lookup(envName(k.name)); ok {
			if err := c.assign(k.name, text, Environment); err != nil {
				return c, fmt.Errorf("reading $%s: %w", envName(k.name), err)
			}
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
	return c, nil
}

func (c *Config) readFile(path string) error {
	f, err := ownfile.OpenSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("longer than %d bytes", maxFile)
	}
	return c.parse(data)
}

// parse sets what the text of a file says.
func (c *Config) parse(data []byte) error {
	if nestingDepth(data) > maxDepth {
		return fmt.Errorf("objects and lists are nested deeper than %d levels", maxDepth)
	}
	standard, err := hujson.Standardize(append(data, '\n')) // it wants the end of a comment's line
	if err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(standard, &members); err != nil {
		return fmt.Errorf("want one object: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		k, err := c.find(name)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(members[name], k.field); err != nil || members[name].Kind() == 'n' {
			return k.typeError(string(members[name]))
		}
		if err := c.validate(k, File); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth is how deep objects and lists may be nested, as in a session's records. The
// parser that allows comments takes a time that grows with the square of the depth.
const maxDepth = 10_000

// depth is how deep the brackets of the text are nested at most, without those in
// strings and comments.
func nestingDepth(data []byte) (most int) {
	open := 0
	for i := 0; i < len(data); i++ {
		switch rest := data[i:]; {
		case bytes.HasPrefix(rest, []byte("//")):
			i += max(bytes.IndexByte(rest, '\n'), 0)
			if data[i] == '/' { // it ends the text
				return most
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return most
			}
			i += 2 + end + 1
		case rest[0] == '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case rest[0] == '{' || rest[0] == '[':
			open++
			most = max(most, open)
		case rest[0] == '}' || rest[0] == ']':
			open--
		}
	}
	return most
}

// assign sets one key from plain text.
func (c *Config) assign(name, text string, from Origin) error {
	k, err := c.find(name)
	if err != nil {
		return err
	}
	switch at := k.field.(type) {
	case *bool:
		*at, err = strconv.ParseBool(text)
	case *int:
		*at, err = strconv.Atoi(text)
	case *string:
		*at = text
	}
	if err != nil {
		return k.typeError(text)
	}
	return c.validate(k, from)
}

// accept notes where a value comes from, if it is a good one.
func (c *Config) validate(k setting, from Origin) error {
	switch at := k.field.(type) {
	case *int:
		if *at < k.min || *at > k.max {
			return k.typeError(strconv.Itoa(*at))
		}
	case *string:
		if strings.TrimSpace(*at) == "" {
			return k.typeError(strconv.Quote(*at))
		}
	}
	c.origin[k.name] = from
	return nil
}

// want is the error of a value that is none for the key.
func (k setting) typeError(got string) error {
	kind := "true or false"
	switch k.field.(type) {
	case *int:
		kind = fmt.Sprintf("a whole number from %d to %d", k.min, k.max)
	case *string:
		kind = "a text that is not blank"
	}
	return fmt.Errorf("key %q: want %s, got %s", k.name, kind, got)
}

// key is the setting of that name; the error names the nearest one.
func (c *Config) find(name string) (setting, error) {
	all := c.settings()
	for _, k := range all {
		if k.name == name {
			return k, nil
		}
	}
	far := func(k setting) int {
		return levenshtein.ComputeDistance(strings.ToLower(k.name), strings.ToLower(name))
	}
	near := slices.MinFunc(all, func(a, b setting) int { return far(a) - far(b) })
	return setting{}, fmt.Errorf("unknown key %q; the nearest is %q", name, near.name)
}

// envName is the environment variable of a key: MEND_AUTO_RESUME of autoResume.
func envName(name string) string {
	var b strings.Builder
	b.WriteString("MEND_")
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
