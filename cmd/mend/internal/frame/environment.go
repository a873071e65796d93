// Package frame has the code that several verbs share: the environment of a run, stores, the sessions that users name,
// questions, batches of changes, answers, settings, signals and exit codes. It imports no verb.
//
// It may import agent, change, cmd/mend/internal/agents, cmd/mend/internal/show, internal/atomicfile, internal/config,
// internal/fail, internal/keep, internal/mend, internal/request, internal/term, internal/termjson, internal/userdir,
// journal, repair and txn. Read [Env.Run] and [Batch.Apply] first.
package frame

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/show"
	"mend/internal/atomicfile"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/termjson"
	"mend/internal/userdir"
	"mend/txn"
)

// An Env has everything that a verb needs besides its own options: the terminal, the stores and the
// journal of the global flags, and the JSON answer.
type Env struct {
	*term.Terminal
	Opt       mend.Options
	AgentName string          // the agent that the user names; "" for all
	Command   string          // the verb, such as "undo" or "config set"
	Parsed    bool            // the command line is valid and the verb runs
	Answer    map[string]any  // for --json, printed at the end
	Also      Sources         // where names of sessions are looked up besides the stores
	JSONLines bool            // the answer is the last of several JSON lines
	Settings  string          // the file of settings for repairs; "" for the user's
	stores    int             // number of stores that [Env.NextStore] has named
	Unkept    error           // why the copies cannot be read, see [WithKept]
	kept      map[string]bool // sessions with a copy; nil until needed
	lastError string          // what [Env.PrintError] printed last

	writing sync.RWMutex // read-locked while the journal or a store is changed
	Made    changes
}

// Report prints the error unless it was printed, prints the JSON answer, and returns the exit code.
func (env *Env) Report(err error) int {
	if err != nil && !env.Parsed {
		err = asUsageError(err)
	}
	var already *ReportedError
	printed := errors.Is(err, ErrProblems) || errors.As(err, &already)
	var unwritten error
	if env.JSON {
		unwritten = env.printAnswer(err)
	} else if err != nil && !printed {
		env.PrintError(err)
	}
	if unwritten = cmp.Or(unwritten, env.WriteError()); unwritten != nil && (err == nil || printed) {
		unwritten = fmt.Errorf("writing the answer: %w", unwritten)
		env.PrintError(unwritten)
		err = fail.Worst(err, unwritten)
	}
	return ExitCode(err)
}

// printAnswer writes the JSON answer, including an error.
func (env *Env) printAnswer(err error) error {
	answer := map[string]any{"schemaVersion": SchemaVersion, "command": env.Command}
	maps.Copy(answer, env.Answer)
	if err != nil && !errors.Is(err, ErrProblems) {
		answer["error"] = env.errorJSON(err)
	}
	if conflict := conflictIn(err); conflict != nil {
		answer["conflicts"] = show.ConflictsJSON(conflict.Conflicts)
	}
	marshal := termjson.MarshalIndent
	if env.JSONLines {
		marshal = termjson.Marshal
	}
	text, err := marshal(answer)
	if err != nil {
		return err
	}
	_, err = env.Write(append(text, '\n'))
	return err
}

// conflictIn returns the conflict in an error, even if the change was made in part; nil for none.
func conflictIn(err error) *change.ConflictError {
	if e, ok := errors.AsType[*txn.ConflictedError](err); ok {
		return e.Err
	}
	e, _ := errors.AsType[*change.ConflictError](err)
	return e
}

// errorJSON returns an error in the form of a JSON answer.
func (env *Env) errorJSON(err error) ErrorAnswer {
	name := "signal"
	if code := fail.Code(ExitCode(err)); code <= fail.Pending {
		name = code.String()
	}
	return ErrorAnswer{name, env.Hint(err), err.Error()}
}

// An ErrorAnswer is an error in a JSON answer.
type ErrorAnswer struct {
	Code    string `json:"code"`
	Hint    string `json:"hint"` // what to do; "" if the message is enough
	Message string `json:"message"`
}

// SetAnswer sets a member of the JSON answer.
func (env *Env) SetAnswer(name string, v any) {
	if env.Answer == nil {
		env.Answer = map[string]any{}
	}
	env.Answer[name] = v
}

// HasSkipped reports whether [Env.NoteSkipped] was called.
func (env *Env) HasSkipped() bool { return env.Answer["skipped"] != nil }

// SetAnswers sets the members of a struct in the JSON answer, except empty ones with omitempty.
func (env *Env) SetAnswers(answer any) { env.setMembers(reflect.ValueOf(answer)) }

func (env *Env) setMembers(members reflect.Value) {
	for f, value := range members.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			if value = reflect.Indirect(value); value.IsValid() {
				env.setMembers(value)
			}
		case !f.IsExported():
		case value.IsZero() && value.Kind() != reflect.Bool && !value.CanInt() && strings.Contains(options, "omit"):
		default:
			env.SetAnswer(name, value.Interface())
		}
	}
}

// PrintError prints an error and its hint on stderr.
func (env *Env) PrintError(err error) {
	if err.Error() == env.lastError { // several stores can have the same error
		return
	}
	env.lastError = err.Error()
	env.Message(term.Bad("mend:"), "%s", oneLine(err))
	if h := env.Hint(err); h != "" {
		env.Message("     ", "%s", term.Faint(h))
	}
}

// oneLine returns the text of an error on one line: joined errors are separated by semicolons, each text once.
func oneLine(err error) string {
	var texts []string
	for text := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.ContainsFunc(texts, func(other string) bool { return strings.HasSuffix(other, text) }) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// NoteSkipped reports in a note and in the JSON answer, each once, that a session or a store is not examined.
func (env *Env) NoteSkipped(err error) {
	env.Note(oneLine(err))
	skipped, _ := env.Answer["skipped"].([]ErrorAnswer)
	if e := env.errorJSON(err); !slices.Contains(skipped, e) {
		env.SetAnswer("skipped", append(skipped, e))
	}
}

// RunPager runs print, and shows its output in the user's pager if standard output is a terminal.
func (env *Env) RunPager(print func() error) (err error) {
	t := env.Terminal
	t.Page(func(page *term.Terminal) {
		env.Terminal = page
		err = print()
	})
	env.Terminal = t
	return err
}

// CreateFile creates the file that a user named for an answer, all or nothing, readable by the user alone. It never
// replaces a file, and refuses a path among mend's own files or in a store; then it does not call write.
func (env *Env) CreateFile(path string, write func(io.Writer) error) error {
	const hint = "name another file, or - for standard output"
	if _, err := os.Lstat(path); err == nil {
		return fail.New(fail.Refused, hint, "writing %s: it exists, and mend overwrites no file", path)
	}
	if env.isOwned(path) {
		return fail.New(fail.Refused, hint, "writing %s: mend writes no answer among its own files or those of an agent's store", path)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return atomicfile.Replace(path, nil, text.Bytes(), 0o600)
}

// isOwned reports whether a file at path would be in a folder of mend, or belong to a store that the user named or that
// is found. All files whose names begin with the name of a database belong to it.
func (env *Env) isOwned(path string) bool {
	owned := []string{env.Opt.Store}
	for _, folder := range []func() (string, error){env.Opt.Journal.Folder, userdir.Cache, userdir.Config} {
		own, _ := folder() // without it, the file is not in it
		owned = append(owned, own)
	}
	for _, s := range mend.Agents(agents.All).Stores() {
		owned = append(owned, s.Path)
	}
	path = filepath.Join(resolve(filepath.Dir(path)), filepath.Base(path))
	return slices.ContainsFunc(owned, func(name string) bool {
		name = resolve(name)
		info, err := os.Stat(name)
		if err == nil && info.IsDir() {
			name += string(filepath.Separator)
		}
		return err == nil && strings.HasPrefix(path, name)
	})
}

// resolve returns an absolute path without links, "" if nothing is there.
func resolve(path string) string {
	if path == "" {
		return ""
	}
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return ""
	}
	return path
}

// The types of the JSON answers. docs/output.schema.json is generated from them.

// SchemaVersion is increased if a member of an answer is removed or changes its meaning. Members may be added
// at any time.
const SchemaVersion = 1

// BuildCommit returns the commit that the program was built from, "unknown" if it is not recorded.
func BuildCommit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
