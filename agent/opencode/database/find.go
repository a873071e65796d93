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

// dbName is the database of a released OpenCode. Builds of another channel use
// opencode-<channel>.db.
const (
	dbName      = "opencode.db"
	channelGlob = "opencode-*.db"
)

// Find returns OpenCode's databases, first the one that a released OpenCode uses, also if it
// is no regular file: OpenCode would not use another store. They are in
// $XDG_DATA_HOME/opencode, else ~/.local/share/opencode, on every system; $OPENCODE_DB names
// another file, absolute or relative to that folder (since 1.18 at the latest; 1.2.27 ignores
// it).
func Find(env func(string) string, home string) []string {
	var names []string
	dir, named := DataDir(env, home), env("OPENCODE_DB")
	if filepath.IsAbs(named) {
		names = append(names, named)
	}
	if dir != "" {
		if named != "" && named != ":memory:" && !filepath.IsAbs(named) {
			names = append(names, filepath.Join(dir, named))
		}
		names = append(names, filepath.Join(dir, dbName))
		names = append(names, databases(dir, func(path string, ofChannel bool) bool { return ofChannel && isRegular(os.Stat(path)) })...)
	}
	var found []string
	for _, name := range names {
		if exists(name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// DataDir returns OpenCode's data folder, "" if neither the variable nor the home folder
// is known. Like OpenCode it accepts a relative XDG_DATA_HOME, and treats an empty one as
// unset.
func DataDir(env func(string) string, home string) string {
	base := env("XDG_DATA_HOME")
	if base == "" && home == "" {
		return ""
	}
	if base == "" {
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "opencode")
}

// locate returns the canonical path of the database at path: a file, or the folder that
// contains it. SQLite derives the names of -wal and -shm from the path, so it must contain
// no links.
func locate(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && exists(path+"-wal") {
		return "", sqlstore.Unusable("the database is missing, only its -wal is there")
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil || !info.IsDir() {
		return file, err
	}
	if filepath.Base(path) == dbName {
		return "", sqlstore.Unusable("not a plain file but %s", info.Mode())
	}
	if exists(filepath.Join(file, dbName)) {
		return filepath.EvalSymlinks(filepath.Join(file, dbName))
	}
	if exists(filepath.Join(file, dbName+"-wal")) {
		return "", sqlstore.Unusable("%s is missing, only its -wal is there", dbName)
	}
	switch others := Others(file); len(others) {
	case 0:
		return "", fmt.Errorf("no %s in it: %w", dbName, fs.ErrNotExist)
	case 1:
		return others[0], nil
	default:
		return "", fmt.Errorf("more than one database in it, name one: %s", strings.Join(others, ", "))
	}
}

// Others returns the databases of OpenCode's in dir that have another name than a released
// OpenCode uses, by name: plain files NAME.db with its tables, and those that are named as of
// another channel, so that a damaged one is not passed over.
func Others(dir string) []string {
	return databases(dir, func(path string, ofChannel bool) bool {
		return isRegular(os.Lstat(path)) && (ofChannel || hasTables(path))
	})
}

// databases returns the files NAME.db in dir that isOne accepts, by name. ofChannel says that
// a build of another channel has given the name.
func databases(dir string, isOne func(path string, ofChannel bool) bool) (found []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		ofChannel, _ := filepath.Match(channelGlob, e.Name())
		if e.Name() != dbName && filepath.Ext(path) == ".db" && isOne(path, ofChannel) {
			found = append(found, path)
		}
	}
	return found
}

// hasTables reports whether the file is a database with OpenCode's tables, also of a newer
// generation, or one that cannot be examined because it is locked.
func hasTables(name string) bool {
	s, err := Open(name, Options{BusyTimeout: time.Second})
	if err == nil {
		err = s.View(context.Background(), func(*sqlstore.Conn) error { return nil })
	}
	return err == nil || errors.Is(err, errNewer) || errors.Is(err, change.ErrLocked)
}

func isRegular(info fs.FileInfo, err error) bool { return err == nil && info.Mode().IsRegular() }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
