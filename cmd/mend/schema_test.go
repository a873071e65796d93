package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/inspect"
	"mend/cmd/mend/internal/rare"
	"mend/cmd/mend/internal/repairs"
	"mend/cmd/mend/internal/restore"
	"mend/cmd/mend/internal/running"
	"mend/cmd/mend/internal/show"
	"mend/cmd/mend/internal/space"
	"mend/internal/term"
)

// schemaFile describes the JSON answer of each verb. It is generated from the types below, and from the types
// that they use.
const schemaFile = "../../docs/output.schema.json"

// A commonAnswer has the members that the answer of every verb may have.
type commonAnswer struct {
	SchemaVersion int                 `json:"schemaVersion"` // raised if a member is removed or changes its meaning
	Command       string              `json:"command"`       // the command that answers
	Error         *frame.ErrorAnswer  `json:"error,omitempty"`
	Skipped       []frame.ErrorAnswer `json:"skipped,omitempty"`   // why a store or a folder was not examined with the others
	Failed        []frame.FailedJSON  `json:"failed,omitempty"`    // of verbs that change several sessions: those that failed; unchanged unless the error is pending or conflict
	Conflicts     []any               `json:"conflicts,omitempty"` // records in conflict; of status: repairs in conflict
	Help          string              `json:"help,omitempty"`      // the text of --help
}

type undoAnswer struct {
	Repairs []show.RepairJSON `json:"repairs"`
	LeftOut int               `json:"leftOut,omitempty"` // rows of sessions that were deleted since
}

type watchAnswer struct {
	Event    string           `json:"event,omitempty"`
	Time     string           `json:"time,omitempty"`
	Agent    string           `json:"agent,omitempty"`
	Store    string           `json:"store,omitempty"`
	Sessions int              `json:"sessions,omitempty"` // of a followed store
	Session  string           `json:"session,omitempty"`
	Title    string           `json:"title,omitempty"`
	Why      string           `json:"why,omitempty"`
	Repair   *show.RepairJSON `json:"repair,omitempty"`
	Undo     string           `json:"undo,omitempty"` // the command that undoes the repair
}

// answerTypes has the type of the answer of each verb.
var answerTypes = map[string]any{
	"status": inspect.StatusJSON{}, "scan": inspect.ScanAnswer{}, "explain": inspect.ExplainAnswer{}, "fix": repairs.FixAnswer{},
	"trim": space.TrimAnswer{}, "restore": restore.Answer{}, "move": restore.MoveAnswer{}, "salvage": restore.SalvageAnswer{},
	"undo": undoAnswer{}, "log": repairs.ExportAnswer{}, "report": inspect.ReportAnswer{},
	"recover": show.RepairsAnswer{}, "verify": rare.VerifyAnswer{}, "forget": rare.ForgetAnswer{},
	"watch": watchAnswer{}, "keep": running.KeepAnswer{}, "clean": space.CleanAnswer{}, "clean events": space.CleanedAnswer{}, "clean sessions": space.CleanedAnswer{},
	"clean images": space.CleanedAnswer{}, "clean pages": space.CleanedAnswer{}, "clean snapshots": space.CleanedAnswer{}, "install": running.PluginsAnswer{},
	"config": rare.ConfigAnswer{}, "config set": rare.ConfigAnswer{}, "version": versionAnswer{}, "demo": demoAnswer{},
	"completion": completionAnswer{}, "hook": struct{}{}, "help": struct{}{}, "mend": struct{}{}, "ui": struct{}{},
}

// An exportImage is a digest in an export; null for a record that does not exist.
type exportImage struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"` // the bits of Go's fs.FileMode
}

// exportLines are the lines of an export of the journal, in their order.
var exportLines = []any{
	struct {
		Type          string `json:"type" enum:"journal"`
		ExportVersion int    `json:"exportVersion"`
		Format        int    `json:"format"` // of the journal
		ID            string `json:"id"`
		Created       int64  `json:"created"` // in seconds since 1970
		Bytes         bool   `json:"bytes"`   // the images follow
	}{},
	struct {
		Type    string `json:"type" enum:"event"`
		Event   int    `json:"event"`
		Before  string `json:"before"`
		Hash    string `json:"hash"`
		Payload string `json:"payload"`
	}{},
	struct {
		Type string `json:"type" enum:"ops"`
		Ops  []struct {
			Key  string       `json:"key"`
			Pre  *exportImage `json:"pre"`
			Post *exportImage `json:"post"`
		} `json:"ops"`
	}{},
	struct {
		Type string `json:"type" enum:"text"`
		Text string `json:"text"`
	}{},
	struct {
		Type   string `json:"type" enum:"image"`
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
		At     int64  `json:"at"`
		Data   string `json:"data"`
	}{},
	struct {
		Type    string `json:"type" enum:"end"`
		Events  int    `json:"events"`
		Entries int    `json:"entries"`
		Images  int    `json:"images"`
		Head    string `json:"head"`
	}{},
}

// memberValues has the allowed values of a member, by the name of its definition.
var memberValues = map[string]string{
	"error code": "problems usage conflict unusable refused pending signal", "apiError about": "session store service other unclear ",
	"session severity": "broken latent lost note healthy unknown", "session shown": "archived|hidden|no folder|not loaded|taken over",
	"diagnosis severity": "broken latent lost note", "Status state": "current other foreign absent unreadable",
	"repair state": "planned|nothing to do|pending|committed|aborted|conflicted|resolved|unknown",
	"cause kind":   "scan error orphans trim uncompact move salvage restore clean undo redo resolve", "op verb": "create change delete",
	"Actor channel": "command plugin hook watch", "verify of": "journal export", "watch event": "following lost repaired left",
	"way way": "not_listed forgotten deleted damaged each_prompt app", "Explanation tier": "auto ask report",
}

// A schemaMaker creates a JSON schema from Go types.
type schemaMaker struct {
	*testing.T
	defs     map[string]any
	comments map[string]map[string]string // of members: by the folder of a package, and the names of type and member
}

type object = map[string]any

// name returns the name of the definition of a type. For a type of cmd/mend it begins with a small letter.
func (m *schemaMaker) name(t reflect.Type) string {
	name := strings.TrimSuffix(strings.TrimSuffix(t.Name(), "JSON"), "Answer")
	if strings.Contains(t.PkgPath(), "/cmd/mend") {
		capitals := len(name) - len(strings.TrimLeftFunc(name, unicode.IsUpper))
		if capitals > 1 { // an abbreviation before the next word
			capitals--
		}
		name = strings.ToLower(name[:capitals]) + name[capitals:]
	}
	return name
}

func (m *schemaMaker) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Kind() == reflect.Interface:
		return object{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.schema(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": m.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": m.schema(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Struct:
		if t.Name() == "" {
			return m.members(t, true)
		}
		name := m.name(t)
		if _, known := m.defs[name]; !known {
			m.defs[name] = nil // a type may contain itself
			m.defs[name] = m.members(t, true)
		}
		return object{"$ref": "#/$defs/" + name}
	default:
		return object{"type": "integer"}
	}
}

// members returns the schema of a struct. Only a closed one forbids other members.
func (m *schemaMaker) members(t reflect.Type, closed bool) object {
	properties, required := object{}, []string{}
	m.addMembers(t, properties, &required)
	s := object{"type": "object", "properties": properties}
	if closed {
		s["additionalProperties"] = false
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (m *schemaMaker) addMembers(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		if f.Anonymous {
			part := f.Type
			if part.Kind() == reflect.Pointer {
				part = part.Elem()
			}
			m.addMembers(part, properties, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s := m.schema(f.Type)
		optional := strings.Contains(options, "omit")
		if f.Type.Kind() == reflect.Pointer && !optional {
			s = object{"anyOf": []any{s, object{"type": "null"}}}
		}
		if kind := f.Type.Kind(); (kind == reflect.Slice || kind == reflect.Map) && !optional && s["type"] != nil {
			s["type"] = []any{s["type"], "null"} // for an empty list or object
		}
		if values, ok := memberValues[m.name(t)+" "+name]; ok {
			separator := " "
			if strings.Contains(values, "|") {
				separator = "|"
			}
			s["enum"] = strings.Split(values, separator)
		}
		if value := f.Tag.Get("enum"); value != "" {
			s["enum"] = []string{value}
		}
		if text := m.comment(t, f.Name); text != "" {
			s["description"] = text
		}
		if properties[name] = s; !optional {
			*required = append(*required, name)
		}
	}
}

func (m *schemaMaker) comment(t reflect.Type, member string) string {
	dir, ours := strings.CutPrefix(t.PkgPath(), "mend/")
	if t.PkgPath() == "main" {
		dir, ours = "cmd/mend", true
	}
	if !ours || t.Name() == "" {
		return ""
	}
	if m.comments[dir] == nil {
		m.comments[dir] = map[string]string{}
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			m.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				m.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						text := f.Comment.Text()
						if text == "" {
							text = f.Doc.Text()
						}
						for _, name := range f.Names {
							m.comments[dir][spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
						}
					}
				}
				return false
			})
		}
	}
	return m.comments[dir][t.Name()+"."+member]
}

// makeSchema returns the schema of all answers, with one definition in each line.
func makeSchema(t *testing.T) []byte {
	m := &schemaMaker{T: t, defs: object{}, comments: map[string]map[string]string{}}
	commands, cases := []string{}, []any{}
	for command := range answerTypes {
		commands = append(commands, command)
	}
	slices.Sort(commands)
	notHelp := object{"not": object{"anyOf": []any{object{"required": []string{"error"}}, object{"required": []string{"help"}}}}}
	for _, command := range commands {
		s := m.members(reflect.TypeOf(answerTypes[command]), false)
		delete(s, "type")
		if required := s["required"]; required != nil {
			delete(s, "required")
			s["if"], s["then"] = notHelp, object{"required": required}
		}
		m.defs["answer "+command] = s
		ref := "#/$defs/answer%20" + strings.ReplaceAll(command, " ", "%20")
		cases = append(cases, object{"if": object{"properties": object{"command": object{"const": command}}}, "then": object{"$ref": ref}})
	}
	lines := []any{}
	for _, line := range exportLines {
		lines = append(lines, m.members(reflect.TypeOf(line), true))
	}
	m.defs["export line"] = object{"description": "a line of what log --export writes", "oneOf": lines}
	top := m.members(reflect.TypeFor[commonAnswer](), false)
	top["properties"].(object)["schemaVersion"].(object)["const"] = frame.SchemaVersion
	top["properties"].(object)["command"].(object)["enum"] = commands
	top["properties"].(object)["conflicts"].(object)["items"] = object{"anyOf": []any{m.schema(reflect.TypeFor[show.ConflictJSON]()), m.schema(reflect.TypeFor[show.RepairJSON]())}}
	top["$schema"], top["title"] = "https://json-schema.org/draft/2020-12/schema", "Answers of mend --json"
	top["description"] = "What a command prints with --json. Each command has its own schema in $defs, under \"answer \" and its name. " +
		"Members are only ever added: ignore those that you do not know. Generated from the types of the program."
	top["unevaluatedProperties"], top["allOf"] = false, cases
	var text bytes.Buffer
	line := func(indent, name string, v any, last bool) {
		var one bytes.Buffer
		e := json.NewEncoder(&one)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		text.WriteString(indent + `"` + name + `": ` + strings.TrimSpace(one.String()))
		if !last {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
	}
	text.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(top)) {
		line("  ", name, top[name], false)
	}
	text.WriteString("  \"$defs\": {\n")
	names := slices.Sorted(maps.Keys(m.defs))
	for i, name := range names {
		line("    ", name, m.defs[name], i == len(names)-1)
	}
	text.WriteString("  }\n}\n")
	return text.Bytes()
}

// TestSchema: docs/output.schema.json describes the current types, and each command has a type.
func TestSchema(t *testing.T) {
	want := makeSchema(t)
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the schema of the types (%v): -update writes it", schemaFile, err)
	}
	eachCommand(newRoot(&frame.Env{Terminal: &term.Terminal{}}), func(cmd *cobra.Command) {
		if _, ok := answerTypes[frame.CommandName(cmd)]; !ok && cmd.Runnable() && cmd.HasParent() {
			t.Errorf("%s has no type in answerTypes", cmd.CommandPath())
		}
	})
}
