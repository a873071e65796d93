package hookfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mend/internal/jsonedit"
)

// A Hook is a command that an agent runs when a session begins or ends, as stored in its settings.
type Hook struct {
	Event   string // such as SessionStart
	Matcher string // selects how the session began; "" for any way
	Command string // a line for the shell
	Timeout int    // in seconds
}

// AddHooks adds hooks to the text of a settings file, which is "" if the file does not exist. Every other byte stays as
// it was. The error is about a text that is not a JSON object, or names the field that has the wrong type.
func AddHooks(settings []byte, hooks ...Hook) ([]byte, error) {
	fresh := len(settings) == 0
	if fresh {
		settings = []byte("{}")
	}
	if err := jsonedit.CheckObject(settings); err != nil {
		return nil, err
	}
	var err error
	all, ok := jsonedit.Get(settings, "hooks")
	if !ok {
		settings, err = jsonedit.Set(settings, []byte("{}"), "hooks")
	} else if all[0] != '{' {
		err = errors.New(`field "hooks" is not an object`)
	}
	if err != nil {
		return nil, err
	}
	for _, h := range hooks {
		list, ok := jsonedit.Get(settings, "hooks", h.Event)
		if ok && list[0] != '[' {
			return nil, fmt.Errorf("field %q is not a list", "hooks."+h.Event)
		}
		if settings, err = jsonedit.Set(settings, appendElement(list, h.json()), "hooks", h.Event); err != nil {
			return nil, err
		}
	}
	if !fresh {
		return settings, nil
	}
	var b bytes.Buffer
	err = json.Indent(&b, settings, "", "  ")
	return append(b.Bytes(), '\n'), err
}

// RemoveHooks removes the hooks with commands that drop accepts, and the lists and objects that become empty. Every
// other byte stays as it was. It returns the same text if there is no such hook. Commands that the user has added to
// a hook stay.
func RemoveHooks(settings []byte, drop func(command string) bool) ([]byte, error) {
	isCommand := func(raw []byte) bool { return drop(jsonedit.Parse(raw).TextAt("command")) }
	hooks, _ := jsonedit.Get(settings, "hooks")
	if len(hooks) == 0 || hooks[0] != '{' {
		return settings, nil
	}
	changed, left := false, 0
	edited, err := jsonedit.EditMembers(hooks, func(_ string, list []byte) ([]byte, bool) {
		shorter := withoutCommands(list, isCommand)
		if len(shorter) == len(list) {
			left++
			return list, true
		}
		changed = true
		rest, _ := jsonedit.Elements(shorter)
		if len(rest) > 0 {
			left++
		}
		return shorter, len(rest) > 0
	})
	switch {
	case err != nil || !changed:
		return settings, err
	case left == 0:
		return jsonedit.Remove(settings, "hooks")
	}
	return jsonedit.Set(settings, edited, "hooks")
}

// withoutCommands returns the list of an event's hooks without the chosen commands, and without hooks that become
// empty.
func withoutCommands(list []byte, isCommand func(raw []byte) bool) []byte {
	return jsonedit.EditElements(list, func(group []byte) []byte {
		hooks, _ := jsonedit.Get(group, "hooks")
		all, _ := jsonedit.Elements(hooks)
		switch left := slices.DeleteFunc(slices.Clone(all), isCommand); len(left) {
		case len(all):
			return group
		case 0:
			return nil
		}
		edited, _ := jsonedit.Set(group, jsonedit.RemoveElements(hooks, isCommand), "hooks") // it is an object
		return edited
	})
}

// Commands returns the commands of all hooks in a file of settings.
func Commands(settings []byte) (all []string) {
	for _, groups := range jsonedit.Parse(settings).Get("hooks").Children() {
		for _, group := range groups.Children() {
			for _, hook := range group.Get("hooks").Children() {
				if command, ok := hook.Get("command").Text(); ok {
					all = append(all, command)
				}
			}
		}
	}
	return all
}

func (h Hook) json() []byte {
	matcher := ""
	if h.Matcher != "" {
		matcher = fmt.Sprintf(`"matcher":%s,`, jsonedit.Quote(h.Matcher))
	}
	return fmt.Appendf(nil, `{%s"hooks":[{"type":"command","command":%s,"timeout":%d}]}`, matcher,
		jsonedit.Quote(h.Command), h.Timeout)
}

// appendElement adds an element to a list, which is nil if it does not exist.
func appendElement(list, element []byte) []byte {
	if all, _ := jsonedit.Elements(list); len(all) == 0 {
		return slices.Concat([]byte("["), element, []byte("]"))
	}
	end := len(bytes.TrimRight(list[:len(list)-1], " \t\r\n"))
	return slices.Concat(list[:end], []byte(","), element, list[end:])
}
