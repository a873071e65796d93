package bigstore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"mend/testdata"
)

// A Uniform store has equal sessions in one folder. Each has equal turns: a prompt, a call with its result,
// and a response.
type Uniform struct {
	Sessions, Turns int
	Folder          string
	CallID          func(turn int) string // nil for a different id for each call
	Answer          string                // "" for "Done."
}

func (u Uniform) answer() string { return cmp.Or(u.Answer, "Done.") }

func (u Uniform) callID(turn int) string {
	if u.CallID != nil {
		return u.CallID(turn)
	}
	return fmt.Sprintf("toolu_%d", turn)
}

// Mix creates the sessions of a tree or a database.
func (u Uniform) Mix(put func(record) error) error {
	w := newWriter(put)
	for i := range u.Sessions {
		w.clock = start + int64(i)*1000 // so that few sessions are dated in the future
		w.session = w.id("ses")
		began := w.clock
		for turn := range u.Turns {
			prompt, err := w.ask(nil)
			if err == nil {
				err = w.reply(prompt, nil, object{"type": "step-start"}, callData(u.callID(turn), "ls", "said", w.clock), finishData("tool-calls"))
			}
			if err == nil {
				err = w.reply(prompt, nil, object{"type": "text", "text": u.answer(), "time": span(w.clock, w.clock)})
			}
			if err != nil {
				return err
			}
		}
		data := sessionData(w.session, began, w.clock)
		data["directory"] = u.Folder
		if err := put(record{kind: sessionRecord, id: w.session, session: w.session, message: w.session, folder: u.Folder, created: began, data: data}); err != nil {
			return err
		}
	}
	return nil
}

// Transcripts writes the sessions as a folder of Claude Code at dir.
func (u Uniform) Transcripts(dir string) error {
	project := filepath.Join(dir, "projects", regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllLiteralString(u.Folder, "-"))
	folder, err := json.Marshal(u.Folder)
	if err != nil {
		return err
	}
	return u.write(func(session string) (string, []byte) {
		var b bytes.Buffer
		n, at := 0, time.UnixMilli(start).UTC()
		record := func(kind, message, content string) {
			parent := "null"
			if n > 0 {
				parent = fmt.Sprintf(`"%08x-0000-4000-8000-000000000000"`, n)
			}
			n++
			fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"role":%[2]q,%s"content":%s},"uuid":"%08x-0000-4000-8000-000000000000","timestamp":%q,"cwd":%s,"sessionId":%q,"version":"2.1.330"}`+"\n",
				parent, kind, message, content, n, at.Add(time.Duration(n)*time.Minute).Format("2006-01-02T15:04:05.000Z"), folder, session)
		}
		for turn := range u.Turns {
			answer := func(k int) string {
				return fmt.Sprintf(`"id":"msg_%d_%d","type":"message","model":"claude-opus-4-5",`, turn, k)
			}
			record("user", "", `"Do it."`)
			record("assistant", answer(0), fmt.Sprintf(`[{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"ls"}}]`, u.callID(turn)))
			record("user", "", fmt.Sprintf(`[{"type":"tool_result","tool_use_id":%q,"content":"said"}]`, u.callID(turn)))
			record("assistant", answer(1), fmt.Sprintf(`[{"type":"text","text":%q}]`, u.answer()))
		}
		return filepath.Join(project, session+".jsonl"), b.Bytes()
	})
}

// Rollouts writes the sessions as a folder of Codex at dir.
func (u Uniform) Rollouts(dir string) error {
	begin, _, _ := bytes.Cut(testdata.Codex, []byte("\n"))
	begin = bytes.ReplaceAll(begin, []byte("/home/user/src/cx/base/work"), []byte(u.Folder))
	return u.write(func(session string) (string, []byte) {
		var b bytes.Buffer
		b.Write(bytes.ReplaceAll(begin, []byte(testdata.CodexSession), []byte(session)))
		n := 0
		item := func(format string, args ...any) {
			n++
			fmt.Fprintf(&b, "\n"+`{"timestamp":"2026-11-22T15:51:05.050Z","ordinal":%d,"type":"response_item","payload":{%s}}`, n, fmt.Sprintf(format, args...))
		}
		for turn := range u.Turns {
			item(`"type":"message","id":"msg_%d_0","role":"user","content":[{"type":"input_text","text":"Do it."}]`, turn)
			item(`"type":"function_call","status":"completed","id":"fc_%d","name":"exec_command","arguments":"{\"cmd\": \"ls\"}","call_id":%q`, turn, u.callID(turn))
			item(`"type":"function_call_output","id":"fco_%d","call_id":%q,"output":"said"`, turn, u.callID(turn))
			item(`"type":"message","status":"completed","id":"msg_%d_1","role":"assistant","content":[{"type":"output_text","text":%q,"annotations":[]}]`, turn, u.answer())
		}
		b.WriteByte('\n')
		return filepath.Join(dir, "sessions", "2026", "11", "22", "rollout-2026-11-22T15-51-04-"+session+".jsonl"), b.Bytes()
	})
}

func (u Uniform) write(file func(session string) (path string, data []byte)) error {
	for i := range u.Sessions {
		path, data := file(fmt.Sprintf("%08x-0000-7000-8000-000000000000", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
