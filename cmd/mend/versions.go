package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
)

// A versionLog keeps what was seen of versions of an agent that mend was not verified with, in a
// file in the journal's folder. It implements [live.VersionLog].
type versionLog struct{ journal, agent string }

// versionsTimeout limits the wait for another process that writes the file.
const versionsTimeout = 2 * time.Second

// seenVersions is what the file has: by agent and version what contradicts that mend knows the
// version, "" if its requests are as expected.
type seenVersions map[string]map[string]string

func (v versionLog) path() string { return filepath.Join(v.journal, "versions.json") }

// read returns what the file has. One that is missing or invalid has nothing.
func (v versionLog) read() seenVersions {
	all := seenVersions{}
	if data, err := ownfile.ReadFile(v.path()); err != nil || json.Unmarshal(data, &all) != nil || all == nil {
		return seenVersions{}
	}
	return all
}

// Contradiction implements [live.VersionLog].
func (v versionLog) Contradiction(version string) string { return v.read()[v.agent][version] }

// Record implements [live.VersionLog].
func (v versionLog) Record(version, contradiction string) (err error) {
	if known, ok := v.read()[v.agent][version]; ok && (known != "" || known == contradiction) {
		return nil
	}
	if err := ownfile.MakeDir(v.journal); err != nil {
		return err
	}
	lock, err := ownfile.Acquire(v.path()+".lock", os.O_RDWR|os.O_CREATE, false, versionsTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all := v.read()
	if all[v.agent] == nil {
		all[v.agent] = map[string]string{}
	}
	if all[v.agent][version] == "" {
		all[v.agent][version] = contradiction
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(v.path(), data, 0o600)
}
