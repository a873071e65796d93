package opencode

import (
	"bytes"
	"context"
	"encoding/json"
)

// sqlScript runs one statement in OpenCode's JavaScript engine.
const sqlScript = `
import { Database } from "bun:sqlite";
const { file, statement, args } = await Bun.stdin.json();
const db = new Database(file, { readwrite: true });
db.run("pragma busy_timeout = 60000");
console.log(JSON.stringify(db.query(statement).all(...args)));
db.close();
`

// SQL runs one statement on the database in DataDir and returns its rows. It uses the SQLite in the
// executable, without OpenCode's changes to a database at its start. Foreign keys are not enforced.
func (h *Home) SQL(statement string, args ...any) []map[string]any {
	h.t.Helper()
	input, err := json.Marshal(map[string]any{
		"file":      h.database(h.DataDir()),
		"statement": statement,
		"args":      append([]any{}, args...),
	})
	if err != nil {
		h.t.Fatalf("encoding %s: %v", statement, err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), timeout)
	defer cancel()
	cmd := h.command(ctx, "-e", sqlScript)
	cmd.Env = append(cmd.Env, "BUN_BE_BUN=1")
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &stderr
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("running %s: %v: %s", statement, err, &stderr)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		h.t.Fatalf("reading rows of %s: %v", statement, err)
	}
	return rows
}
