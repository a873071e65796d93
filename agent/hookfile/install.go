package hookfile

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"mend/agent"
)

// A File is the file of one agent. It is embedded in an [agent.Installer], of which it implements what is the same for
// every agent.
type File struct {
	Agent string                     // its name
	Hooks func(s agent.Setup) []Hook // without their commands
}

// Install implements [agent.Installer].
func (f File) Install(text []byte, s agent.Setup) ([]byte, error) {
	text, err := RemoveHooks(text, f.isCommand)
	if err != nil {
		return nil, err
	}
	hooks := f.Hooks(s)
	for i := range hooks {
		hooks[i].Command = f.command(s)
	}
	return AddHooks(text, hooks...)
}

// Uninstall implements [agent.Installer].
func (f File) Uninstall(text []byte) ([]byte, error) { return RemoveHooks(text, f.isCommand) }

// The flags of a hook, in this order.
const (
	repairFlag = " --repair"
	keepFlag   = " --keep"
)

// suffix ends the command of a hook that mend has installed.
func (f File) suffix() string { return " hook --agent " + f.Agent }

// plainWord matches a word that no shell changes.
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

// isCommand reports whether mend has installed the hook, for this program or another one.
func (f File) isCommand(command string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(command, keepFlag), repairFlag), f.suffix())
}

// Status implements [agent.Installer].
func (f File) Status(text []byte, s agent.Setup) (agent.Status, error) {
	is := agent.Status{State: agent.Absent}
	for _, command := range Commands(text) {
		if !f.isCommand(command) {
			continue
		}
		s.Repair, s.Keep = strings.HasSuffix(strings.TrimSuffix(command, keepFlag), repairFlag), strings.HasSuffix(command, keepFlag)
		is.State, is.Repair, is.Keep = agent.Other, false, false
		if s.Program != "" && command == f.command(s) {
			is.State, is.Repair, is.Keep = agent.Current, s.Repair, s.Keep
		}
	}
	return is, nil
}

// Read reads what the agent passes to a hook.
func (File) Read(input []byte) (session string, e agent.Event, err error) {
	var in struct {
		Session    string `json:"session_id"`
		Transcript string `json:"transcript_path"`
		Event      string `json:"hook_event_name"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return "", e, fmt.Errorf("reading the event: %w", err)
	}
	if !filepath.IsAbs(in.Transcript) || in.Session == "" || !strings.HasSuffix(in.Transcript, in.Session+".jsonl") {
		return "", e, fmt.Errorf("reading the event: %q is no transcript of the session %q", in.Transcript, in.Session)
	}
	return in.Session, agent.Event{
		Path: in.Transcript, Ended: in.Event == "SessionEnd", Turn: in.Event == "Stop",
		Answer: func(text string) ([]byte, error) { return json.Marshal(map[string]string{"systemMessage": text}) },
	}, nil
}
