package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A project is the content of project.env by name.
type project map[string]string

// projectNames are the names that project.env must have.
var projectNames = []string{
	"NAME", "DESCRIPTION", "LICENSE", "MAINTAINER", "MODULE", "HOMEPAGE", "DOWNLOADS", "NPM_PACKAGE", "NPM_SCOPE", "NPM_REPOSITORY",
}

// readProject reads tools/dist/project.env of the repository.
func readProject(root string) (project, error) {
	path := filepath.Join(root, "tools", "dist", "project.env")
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := project{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !slices.Contains(projectNames, name) {
			return nil, fmt.Errorf("%s: %q: want one of %s, with =VALUE", path, line, strings.Join(projectNames, ", "))
		}
		p[name] = value
	}
	for _, name := range projectNames {
		if p[name] == "" {
			return nil, fmt.Errorf("%s: %s is not set", path, name)
		}
	}
	return p, lines.Err()
}
