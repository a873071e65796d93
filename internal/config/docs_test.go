package config

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"mend/internal/test/storetest"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const docsPage = "../../docs/configuration.md"

const docsHead = `# Configuration

mend needs no configuration: each setting has a default. The settings are about live repair (` + "`mend watch`" + ` and the plugin) and about
the texts that repairs insert. ` + "`mend config`" + ` shows the values in use, and where each comes from.

A later source overrides an earlier one:

1. the default;
2. the file ` + "`$XDG_CONFIG_HOME/mend/config.json`" + ` (usually ` + "`~/.config/mend/config.json`" + `), a JSON object that may have comments and trailing commas;
3. the environment variable;
4. ` + "`--set KEY=VALUE`" + ` of the commands that have it.

An unknown key or an invalid value in the file or the environment is ignored, and the rest is used: ` + "`mend config`" + ` fails and names the nearest key or
the allowed values, and ` + "`mend`" + ` and ` + "`hook.log`" + ` show a note. In ` + "`--set`" + ` it is an error. Keys of oh-my-opencode that mend does not take over
are noted and ignored. ` + "`MEND_DEBUG=true`" + ` logs more. The settings from ` + "`hooks`" + ` on
are for hooks that repair no session ([running.md](running.md#the-other-hooks)); they need the plugin.

    {
      // ~/.config/mend/config.json
      "autoResume": true,
      "maxRetries": 5,
    }

| setting | meaning | why change it | values | default | environment variable |
|---|---|---|---|---|---|
`

const docsTail = `
This page is generated from the tables in ` + "`internal/config`" + ` by ` + "`go test ./internal/config -update`" + `.
`

// TestDocs: docs/configuration.md has the current settings with their defaults.
func TestDocs(t *testing.T) {
	c := Defaults()
	var page strings.Builder
	page.WriteString(docsHead)
	for _, s := range c.Settings() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | `%s` | `%s` |\n", s.Key, s.Description, s.Reason, s.Want, Text(s.Default), s.Env)
	}
	page.WriteString(docsTail)
	storetest.Golden(t, docsPage, page.String(), *update)
}
