package opencode

import (
	"os"
	"strings"

	"mend/agent/opencode/database"
	"mend/agent/opencode/diagnose"
)

// A program is OpenCode, or a program derived from it that stores sessions in the same way.
type program struct {
	name, title string
	settings    []string // names of its settings files; a later one overrides earlier ones
	inFolders   []string // names of its settings files in folders
	folders     []string // names of these folders, in a project or the user's home; a later one overrides earlier ones
}

var openCode = program{
	name: "opencode", title: "OpenCode",
	settings:  []string{"opencode.json", "opencode.jsonc"},
	inFolders: []string{"opencode.json", "opencode.jsonc"},
	folders:   []string{".opencode"},
}

// Source: docs/opencode.md, "Kilo".
var kilo = program{
	name: "kilo", title: "Kilo",
	settings:  []string{"kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc"},
	inFolders: []string{"kilo.jsonc", "kilo.json", "opencode.jsonc", "opencode.json"},
	folders:   []string{".kilocode", ".kilo"},
}

// Kilo returns the agent Kilo, which has a database like OpenCode 1.18 and no other store.
func Kilo() Agent { return Agent{&kilo} }

// program returns the program of the agent's stores.
func (a Agent) program() *program {
	if a.derived == nil {
		return &openCode
	}
	return a.derived
}

// variable returns the name of one of the program's environment variables.
func (p *program) variable(name string) string { return strings.ToUpper(p.name) + "_" + name }

func (p *program) env(name string) string { return os.Getenv(p.variable(name)) }

// text returns a text about OpenCode with the name of the program.
func (p *program) text(text string) string { return diagnose.Environment{Agent: p.title}.Rebrand(text) }

// databases returns the program, as package database names it.
func (p *program) databases() database.Program { return database.Program(p.name) }
