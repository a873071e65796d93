package hookfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/userdir"
)

var _ agent.Installer = File{}

// A File is an [agent.Installer] for the settings file of one agent.
type File struct {
	Agent, Title string // its name, and the name used in a sentence
	Variable     string // environment variable that may name the agent's folder
	Folder       string // the agent's folder in the user's home, if the variable is not set
	Name         string // name of the file in that folder
	Offer, Done  string // see [agent.Installation]
	Marked       bool   // the agent also reads a file that begins with a byte order mark
	AtEnd        bool   // the agent runs hooks when a session has ended, so that mend may repair it
	Repair       string // a format: how the user repairs a session with an id

	Opener   func() agent.Agent                            // opens the store for an event
	Disabled func(text []byte) []string                    // explains what keeps the agent from running the hooks
	Repaired func(h change.Head, why, entry string) string // see [agent.Event]; nil without AtEnd
}

// timeout is in seconds. The agents wait for a hook before they show a session or send a prompt.
const timeout = 10

// Installation implements [agent.Installer].
func (f File) Installation() agent.Installation {
	return agent.Installation{
		Part: "mend's hooks", Missing: "has no hook of mend", Done: f.Done, Offer: f.Offer,
		Undone: "Sessions of " + f.Title + " that start from now on no longer use it.",
		Max:    16 << 20, Mode: 0o600, Folder: 0o700,
		Deadline: (timeout - 2) * time.Second, // before the agent kills the hook
	}
}

// Path implements [agent.Installer].
func (f File) Path() (string, error) {
	dir, err := userdir.Agent(f.Variable, f.Folder)
	if err == nil && !filepath.IsAbs(dir) { // it would depend on the folder that the agent is started in
		err = fmt.Errorf("%s is %q: set it to an absolute path", f.Variable, dir)
	}
	if err != nil {
		return "", fmt.Errorf("finding %s of %s: %w", f.Name, f.Title, err)
	}
	return filepath.Join(dir, f.Name), nil
}

// Accepts implements [agent.Installer].
func (f File) Accepts(s agent.Setup) error {
	switch {
	case s.Hooks != "":
		return fail.New(fail.Usage, "", "--hooks is for the plugin of OpenCode")
	case s.Store != "":
		return fail.New(fail.Usage, "", "--store is for the plugin of OpenCode: %s passes the session's path to its hook",
			f.Title)
	case s.Repair && !f.AtEnd:
		return fail.New(fail.Usage, "mend watch repairs a session when "+f.Title+" has closed it", "--repair is not "+
			"for %s: it has the session open while it runs a hook", f.Title)
	}
	return nil
}

// cutMark splits a text into its byte order mark, if the agent accepts one, and the rest.
func (f File) cutMark(text []byte) (mark, rest []byte) {
	const bom = "\ufeff"
	if f.Marked && bytes.HasPrefix(text, []byte(bom)) {
		return text[:len(bom)], text[len(bom):]
	}
	return nil, text
}

// Install implements [agent.Installer]. It returns the text itself if it has these hooks already.
func (f File) Install(text []byte, s agent.Setup) ([]byte, error) {
	mark, text := f.cutMark(text)
	edited, err := f.install(text, s)
	return slices.Concat(mark, edited), err
}

func (f File) install(text []byte, s agent.Setup) ([]byte, error) {
	left, err := f.uninstall(text)
	if err != nil {
		return nil, err
	}
	hooks := f.hooks(s)
	for i := range hooks {
		hooks[i].Command, hooks[i].Timeout = f.command(s), timeout
	}
	edited, err := AddHooks(left, hooks...)
	var before, after bytes.Buffer
	same := err == nil && json.Compact(&before, text) == nil && json.Compact(&after, edited) == nil
	if same && bytes.Equal(before.Bytes(), after.Bytes()) {
		return text, nil
	}
	return edited, err
}

// hooks returns the hooks to install. The agent loads a session before it runs SessionStart, so after a repair by that
// hook the user has to load the session again. A repair at SessionEnd avoids that.
func (f File) hooks(s agent.Setup) []Hook {
	all := []Hook{{Event: "SessionStart", Matcher: "resume"}}
	if f.AtEnd && (s.Repair || s.Keep) {
		all = append(all, Hook{Event: "SessionEnd"})
	}
	if s.Keep {
		all = append(all, Hook{Event: "Stop"})
	}
	return all
}

// Warnings implements [agent.Installer].
func (f File) Warnings(text []byte) []string {
	_, text = f.cutMark(text)
	return f.Disabled(text)
}

// Uninstall implements [agent.Installer]. A file that would be empty is removed.
func (f File) Uninstall(text []byte) ([]byte, error) {
	mark, text := f.cutMark(text)
	left, err := f.uninstall(text)
	if len(left) == 0 {
		return left, err
	}
	return slices.Concat(mark, left), err
}

func (f File) uninstall(text []byte) ([]byte, error) {
	left, err := RemoveHooks(text, f.isCommand)
	if err == nil && len(left) < len(text) && string(bytes.Join(bytes.Fields(left), nil)) == "{}" {
		return nil, nil
	}
	return left, err
}

// The flags of a hook, in this order.
const (
	repairFlag = " --repair"
	keepFlag   = " --keep"
)

// suffix ends the command of a hook that mend has installed.
func (f File) suffix() string { return " hook --agent " + f.Agent }

// plainWord matches a word that needs no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// command returns the line that starts mend.
func (f File) command(s agent.Setup) string {
	program := s.Program
	if !plainWord.MatchString(program) {
		program = "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	}
	command := program + f.suffix()
	if s.Repair {
		command += repairFlag
	}
	if s.Keep {
		command += keepFlag
	}
	return command
}

// isCommand reports whether mend has installed the command, for this program or another one.
func (f File) isCommand(command string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(command, keepFlag), repairFlag), f.suffix())
}

// Status implements [agent.Installer].
func (f File) Status(text []byte, s agent.Setup) (agent.Status, error) {
	_, text = f.cutMark(text)
	status := agent.Status{State: agent.Absent}
	for _, command := range Commands(text) {
		if !f.isCommand(command) {
			continue
		}
		s.Repair, s.Keep = strings.HasSuffix(strings.TrimSuffix(command, keepFlag), repairFlag),
			strings.HasSuffix(command, keepFlag)
		status.State, status.Repair, status.Keep = agent.Other, false, false
		if s.Program != "" && command == f.command(s) {
			status.State, status.Repair, status.Keep = agent.Current, s.Repair, s.Keep
		}
	}
	return status, nil
}

// Event implements [agent.Installer].
func (f File) Event(input []byte) (e agent.Event, err error) {
	var raw struct {
		Session    string `json:"session_id"`
		Transcript string `json:"transcript_path"`
		Event      string `json:"hook_event_name"`
	}
	if err := json.Unmarshal(input, &raw); err != nil {
		return e, fmt.Errorf("reading the event: want one JSON object of %s: %w", f.Title, err)
	}
	if !filepath.IsAbs(raw.Transcript) || raw.Session == "" || !strings.HasSuffix(raw.Transcript, raw.Session+".jsonl") {
		return e, fmt.Errorf("reading the event: %q is not the transcript of session %q", raw.Transcript, raw.Session)
	}
	return agent.Event{
		Agent: f.Opener(), Repaired: f.Repaired, Path: raw.Transcript, Ended: raw.Event == "SessionEnd",
		Turn:   raw.Event == "Stop",
		Answer: func(text string) ([]byte, error) { return json.Marshal(map[string]string{"systemMessage": text}) },
		Broken: func(h change.Head, why string, fixable bool) string {
			advice := "mend scan %[1]s shows more."
			if fixable {
				advice = "To repair it, " + f.Repair
			}
			return fmt.Sprintf("mend: this session is damaged. %[2]s "+advice, h.ID, why)
		},
	}, nil
}
