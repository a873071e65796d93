package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/jsonedit"
)

// stopFiles makes n calls of the newest session with calls in a tree look as if they were still
// running, and returns the session's id. If there are fewer calls, it adds copies.
func stopFiles(data string, n int) (string, error) {
	storage := filepath.Join(data, "storage")
	all, err := filepath.Glob(filepath.Join(storage, "message", "ses_*"))
	if err != nil {
		return "", err
	}
	slices.Sort(all)
	for _, dir := range slices.Backward(all) {
		calls, err := callsIn(storage, filepath.Base(dir))
		if err != nil {
			return "", err
		}
		if len(calls) > 0 {
			return filepath.Base(dir), stopAll(calls, n)
		}
	}
	return "", errors.New("no session calls a tool")
}

// callsIn lists the files of the session's calls.
func callsIn(storage, id string) (calls []string, err error) {
	messages, err := os.ReadDir(filepath.Join(storage, "message", id))
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		parts, err := filepath.Glob(filepath.Join(storage, "part", strings.TrimSuffix(m.Name(), ".json"), "*.json"))
		if err != nil {
			return nil, err
		}
		for _, name := range parts {
			data, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			if raw, _ := jsonedit.Get(data, "type"); string(raw) == `"tool"` {
				calls = append(calls, name)
			}
		}
	}
	return calls, nil
}

func stopAll(calls []string, n int) error {
	for i := range n {
		name := calls[i%len(calls)]
		data, err := os.ReadFile(name)
		if err == nil && i < len(calls) {
			data, err = running(data)
		} else if err == nil {
			data, name = copyCall(data, name)
		}
		if err == nil {
			err = os.WriteFile(name, data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// running returns a call as it is stored while it runs.
func running(data []byte) ([]byte, error) {
	data, err := jsonedit.Set(data, []byte(`"running"`), "state", "status")
	for _, name := range []string{"output", "title", "metadata"} {
		if err == nil {
			data, err = jsonedit.Remove(data, "state", name)
		}
	}
	if err == nil {
		data, err = jsonedit.Remove(data, "state", "time", "end")
	}
	return data, err
}

// copyCall returns a copy of a call with other ids, and the path of its file.
func copyCall(data []byte, name string) ([]byte, string) {
	id := strings.TrimSuffix(filepath.Base(name), ".json")
	for _, old := range []string{id, "toolu_"} {
		data = bytes.Replace(data, []byte(`"`+old), []byte(`"`+old+"x"), 1)
	}
	return data, filepath.Join(filepath.Dir(name), id+"x.json")
}

// stopRows is stopFiles for a database.
func stopRows(data string, n int) (id string, err error) {
	db, err := sqlite3.Open(filepath.Join(data, "opencode.db"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const isCall = `json_extract(data, '$.type') = 'tool'`
	st, _, err := db.Prepare(`SELECT session_id FROM part WHERE ` + isCall + ` ORDER BY session_id DESC LIMIT 1`)
	if err != nil {
		return "", err
	}
	if st.Step() {
		id = st.ColumnText(0)
	}
	if err := errors.Join(st.Err(), st.Close()); err != nil || id == "" {
		return "", fmt.Errorf("no session calls a tool: %w", err)
	}
	return id, db.Exec(fmt.Sprintf(`UPDATE part SET data =
		json_remove(json_set(data, '$.state.status', 'running'), '$.state.output', '$.state.title', '$.state.metadata', '$.state.time.end')
		WHERE id IN (SELECT id FROM part WHERE session_id = '%s' AND %s LIMIT %d)`, id, isCall, n))
}
