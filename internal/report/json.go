package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// freeFields are the fields that contain names chosen by the user, a tool or a provider.
var freeFields = []string{"input", "metadata", "raw", "structured", "responseHeaders", "env", "variables", "options"}

// wordFields are the fields with values of a fixed list.
var wordFields = []string{"type", "role", "status", "finish", "reason", "name", "mime", "mode", "agent", "variant"}

// agents are OpenCode's built-in agents; users name the others.
var agents = []string{"build", "plan", "general", "explore", "title", "summary", "compaction"}

// tools are the built-in tools of OpenCode and, in lower case, of Claude Code; others come from the user's
// servers and plugins.
var tools = []string{
	"bash", "read", "edit", "write", "grep", "glob", "list", "task", "todowrite", "todoread", "webfetch", "websearch", "codesearch", "patch",
	"multiedit", "apply_patch", "invalid", "question", "skill", "batch", "lsp", "lsp_diagnostics", "lsp_hover",
}

// publicModels are providers with public model ids. For other providers a user names them.
var publicModels = lazyRegexp(`^(anthropic|openai|google|xai|mistral|deepseek|groq|opencode|github-copilot)/[a-z0-9.:-]{1,60}$`)

var versionForm = lazyRegexp(`^\d{1,4}\.\d{1,4}\.\d{1,6}$`)

// model returns the redacted name of a model and its provider.
func (r *redactor) model(provider, model string) string {
	name := provider + "/" + model
	if r.keep || publicModels().MatchString(name) {
		return name
	}
	return r.name("model", name)
}

// tool returns the redacted name of a tool.
func (r *redactor) tool(name string) string {
	if slices.Contains(tools, strings.ToLower(name)) || name == "" {
		return name
	}
	return r.name("tool", name)
}

// A jsonWalker copies a JSON text, one value per line, and replaces every value that may be personal.
type jsonWalker struct {
	*redactor
	in   *jsontext.Decoder
	out  bytes.Buffer
	zero int64 // times are shown as milliseconds after this one
}

// json returns a redacted, indented JSON text. It returns a description if the text is not a JSON object.
func (r *redactor) json(text []byte, zero int64) string {
	if len(text) == 0 {
		return "‹no bytes›"
	}
	w := jsonWalker{redactor: r, in: newDecoder(text), zero: zero}
	err := w.value("", false, 0)
	if err == nil {
		if _, err = w.in.ReadToken(); err == nil {
			err = errors.New("more than one value")
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return w.out.String()
	case r.keep:
		return r.text(string(text))
	case len(bytes.Trim(text, "\x00")) == 0:
		return fmt.Sprintf("‹%s, all NUL›", count(len(text), "byte"))
	}
	return fmt.Sprintf("‹%s, not valid JSON from byte %d on›", count(len(text), "byte"), w.in.InputOffset())
}

func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// value copies the next value. field is the name of its field; free means that it is below a field with free
// content.
func (w *jsonWalker) value(field string, free bool, depth int) error {
	switch kind := w.in.PeekKind(); kind {
	case '{', '[':
		return w.composite(field, free, depth)
	case '"':
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		w.writeString(w.stringValue(field, token.String(), free))
	case '0':
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		w.out.WriteString(w.number(token, free))
	default:
		token, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		w.out.WriteString(token.String())
	}
	return nil
}

// maxMembers is how many members or elements of one value are shown.
const maxMembers = 200

// composite copies an object or an array. It counts the rest of a long one.
func (w *jsonWalker) composite(field string, free bool, depth int) error {
	open, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	isObject := open.Kind() == '{'
	w.out.WriteString(open.String())
	shown := 0
	for ; w.in.PeekKind() != '}' && w.in.PeekKind() != ']'; shown++ {
		if w.in.PeekKind() == 0 {
			_, err := w.in.ReadToken()
			return err
		}
		if shown > 0 {
			w.out.WriteByte(',')
		}
		w.newline(depth + 1)
		if shown == maxMembers {
			left, err := w.skipRest(isObject)
			if err != nil {
				return err
			}
			fmt.Fprintf(&w.out, "‹%d more›", left)
			break
		}
		name, inside := field, free
		if isObject {
			token, err := w.in.ReadToken()
			if err != nil {
				return err
			}
			name = token.String()
			w.writeString(w.fieldName(name, free))
			w.out.WriteString(": ")
			inside = free || slices.Contains(freeFields, name) || !isKnownValue(name)
		}
		if err := w.value(name, inside, depth+1); err != nil {
			return err
		}
	}
	end, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	if shown > 0 {
		w.newline(depth)
	}
	w.out.WriteString(end.String())
	return nil
}

// skipRest reads the rest of an object or an array, and returns how many members or elements it has.
func (w *jsonWalker) skipRest(isObject bool) (left int, err error) {
	for ; err == nil && w.in.PeekKind() != '}' && w.in.PeekKind() != ']'; left++ {
		if isObject {
			err = w.in.SkipValue() // the name
		}
		if err == nil {
			err = w.in.SkipValue()
		}
	}
	return left, err
}

// maxIndent limits the indentation of deeply nested text.
const maxIndent = 20

func (w *jsonWalker) newline(depth int) {
	w.out.WriteByte('\n')
	w.out.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
}

func (w *jsonWalker) writeString(s string) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	w.out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (w *jsonWalker) fieldName(name string, free bool) string {
	if w.keep || !free && isKnownValue(name) {
		return name
	}
	return w.name("field", name)
}

// stringValue returns the redacted string of a field.
func (w *jsonWalker) stringValue(field, s string, free bool) string {
	id, isID := w.ids[s]
	switch {
	case w.keep || s == "":
		return w.text(s)
	case isID:
		return id
	case free:
		return w.text(s)
	case field == "tool":
		return w.tool(s)
	case field == "mode" || field == "agent":
		if slices.Contains(agents, s) {
			return s
		}
		return w.name("agent", s)
	case field == "version" && versionForm().MatchString(s), slices.Contains(wordFields, field) && isKnownValue(s):
		return s
	}
	return w.text(s)
}

// earliest is the smallest number that counts as a time: milliseconds since 1970, in 2001.
const earliest = 1e12

// number returns the redacted number: a time as the distance to the session's start, a count unchanged.
func (w *jsonWalker) number(token jsontext.Token, free bool) string {
	text := token.String()
	if w.keep {
		return text
	}
	switch f, err := token.Float(); {
	case free || err != nil:
		return "‹number›"
	case f >= earliest && f < 1e14 && w.zero > 0:
		return fmt.Sprintf("‹start %+d ms›", int64(f)-w.zero)
	case f >= earliest || f <= -earliest:
		return "‹large number›"
	}
	return text
}
