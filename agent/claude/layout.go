package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mend/jsonedit"
	"mend/session"
)

// A layout says where the transcript of a session is. The project of a ref is the folder
// below projects, the message is the uuid of a record.
type layout struct{ root string }

// Locate implements [linestore.Layout].
func (l layout) Locate(ref session.Ref) (path, key string, err error) {
	if ref.Project == "" || ref.Kind != session.KindSession && ref.Kind != session.KindMessage {
		return "", "", fmt.Errorf("%v %s: no record of a transcript", ref.Kind, ref)
	}
	if err := ref.Validate(); err != nil {
		return "", "", err
	}
	folder, err := l.folder(ref.Project)
	if err != nil {
		return "", "", err
	}
	if ref.Kind == session.KindMessage {
		key = ref.Message
	}
	return projects + "/" + folder + "/" + ref.Session + suffix, key, nil
}

const suffix = ".jsonl"

// Key implements [linestore.Layout].
func (layout) Key(line []byte) string {
	const name = `"uuid"`
	if !bytes.Contains(line, []byte(name)) {
		return ""
	}
	uuid, _ := jsonedit.Parse(bytes.TrimSpace(line)).Get("uuid").Text()
	return uuid
}

// projectID returns the id of a folder of projects: its name, or if that is too long for an
// id, its beginning and a hash.
func projectID(folder string) string {
	if session.ValidateID(folder) == nil {
		return folder
	}
	sum := sha256.Sum256([]byte(folder))
	return strings.ToValidUTF8(notInID.ReplaceAllString(folder[:min(len(folder), 100)], "-"), "") + "." + hex.EncodeToString(sum[:16])
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// folder reverses projectID.
func (l layout) folder(project string) (string, error) {
	if i := strings.LastIndexByte(project, '.'); i < 0 || len(project)-i != 33 {
		return project, nil
	}
	entries, err := os.ReadDir(filepath.Join(l.root, projects))
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if projectID(e.Name()) == project {
			return e.Name(), nil
		}
	}
	return project, nil
}
