package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/sqlstore"
)

// A Program is the name of OpenCode, or of a program derived from it, in the names of its folders and files.
type Program string

// OpenCode and the programs derived from it.
const (
	OpenCode Program = "opencode"
	Kilo     Program = "kilo"
)

// file is the database of a released version. Builds of another channel use opencode-<channel>.db.
func (p Program) file() string { return string(p) + ".db" }

// HasDatabase reports whether the database at path, or a database in the folder at path, has a name that the program
// uses.
func (p Program) HasDatabase(path string) bool {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return exists(filepath.Join(path, p.file()))
	}
	name := filepath.Base(path)
	return name == p.file() || p.isChannel(name)
}

// isChannel reports whether a build of another channel uses that name for its database.
func (p Program) isChannel(name string) bool {
	ok, _ := filepath.Match(string(p)+"-*.db", name)
	return ok
}

// Find returns the program's databases. The first is the one that a released OpenCode uses, even if it is not a
// regular file: OpenCode would use no other. They are in $XDG_DATA_HOME/opencode, else ~/.local/share/opencode, on
// every system; $OPENCODE_DB names another file, absolute or relative to that folder (1.18 reads it, 1.2.27
// ignores it).
func (p Program) Find(env func(string) string, home string) []string {
	var names []string
	dir, named := p.DataDir(env, home), env(strings.ToUpper(string(p))+"_DB")
	if filepath.IsAbs(named) {
		names = append(names, named)
	}
	if dir != "" {
		if named != "" && named != ":memory:" && !filepath.IsAbs(named) {
			names = append(names, filepath.Join(dir, named))
		}
		names = append(names, filepath.Join(dir, p.file()))
		names = append(names, p.databases(dir, func(path string, ofChannel bool) bool {
			return ofChannel && isRegular(os.Stat(path))
		})...)
	}
	var found []string
	for _, name := range names {
		if exists(name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// DataDir returns the program's data folder, "" if neither the variable nor the home folder is known. Like OpenCode
// it accepts a relative XDG_DATA_HOME, and treats an empty one as unset.
func (p Program) DataDir(env func(string) string, home string) string {
	base := env("XDG_DATA_HOME")
	if base == "" && home == "" {
		return ""
	}
	if base == "" {
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, string(p))
}

// locate returns the canonical path of the database at path: a file, or the folder that contains it. SQLite derives
// the names of -wal and -shm from the path, so it must not contain links.
func (p Program) locate(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && exists(path+"-wal") {
		return "", sqlstore.Unusable("the database is missing, only its -wal exists")
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil || !info.IsDir() {
		return file, err
	}
	if filepath.Base(path) == p.file() {
		return "", sqlstore.Unusable("not a plain file but %s", info.Mode())
	}
	if exists(filepath.Join(file, p.file())) {
		return filepath.EvalSymlinks(filepath.Join(file, p.file()))
	}
	if exists(filepath.Join(file, p.file()+"-wal")) {
		return "", sqlstore.Unusable("%s is missing, only its -wal exists", p.file())
	}
	switch others := p.Others(file); len(others) {
	case 0:
		return "", fmt.Errorf("no %s in it: %w", p.file(), fs.ErrNotExist)
	case 1:
		return others[0], nil
	default:
		return "", fmt.Errorf("more than one database in it, name one: %s", strings.Join(others, ", "))
	}
}

// Others returns the program's databases in dir with names that a released OpenCode does not use, by name: plain
// files NAME.db with OpenCode's tables, and files with the name that a build of another channel uses, even if they
// are damaged.
func (p Program) Others(dir string) []string {
	return p.databases(dir, func(path string, ofChannel bool) bool {
		return isRegular(os.Lstat(path)) && (ofChannel || hasTables(path))
	})
}

// databases returns the files NAME.db in dir that isOne accepts, by name. ofChannel means that a build of another
// channel uses the name.
func (p Program) databases(dir string, isOne func(path string, ofChannel bool) bool) (found []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		ofChannel, isKilos := p.isChannel(e.Name()), Kilo.isChannel(e.Name()) || e.Name() == Kilo.file()
		if e.Name() != p.file() && (p == Kilo || !isKilos) && filepath.Ext(path) == ".db" && isOne(path, ofChannel) {
			found = append(found, path)
		}
	}
	return found
}

// hasTables reports whether the file is a database with OpenCode's tables, or a locked database, which cannot be
// examined.
func hasTables(name string) bool {
	s, err := Open(name, Options{BusyTimeout: time.Second})
	if err == nil {
		err = s.View(context.Background(), func(*sqlstore.Conn) error { return nil })
	}
	return err == nil || errors.Is(err, change.ErrLocked)
}

func isRegular(info fs.FileInfo, err error) bool { return err == nil && info.Mode().IsRegular() }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
