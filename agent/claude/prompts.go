package claude

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"mend/agent"
	"mend/agent/claude/diagnose"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/request"
	"mend/linestore"
	"mend/repair"
	"mend/txn"
)

// historyFile has every prompt that was typed in the terminal. The clean-up after cleanupPeriodDays deletes only
// transcripts. According to the code of version 2.1.332, a line has display, timestamp, project, sessionId and
// pastedContents. pastedContents has, by number, each pasted text or its hash, which names a file in pasteCache.
const (
	historyFile = "history.jsonl"
	pasteCache  = "paste-cache"
)

// The greatest sizes in bytes of a history and a pasted text that are read.
const (
	largestHistory = 1 << 30
	largestPaste   = 16 << 20
)

// A promptHistory is the prompt history as a read-only store. Its sessions have the prompts of their users and no
// answers.
type promptHistory struct {
	agent.Base
	agent.Cases
	repair.Versions

	path string
}

var _ agent.Store = (*promptHistory)(nil)

func openHistory(path string) *promptHistory {
	s := &promptHistory{path: path, Versions: diagnose.Versions, Cases: cases}
	s.NewCase = func(head change.Head, r repair.Request) (*repair.Case, change.Stamp, error) {
		data, err := s.transcript(context.Background(), head)
		if err != nil {
			return nil, change.Stamp{}, err
		}
		return diagnose.New(diagnose.Source{
			Ref: head.Ref, Data: data, Version: r.Version, Texts: repair.TextsOf(r),
		}), change.Stamp{}, nil
	}
	return s
}

// isHistory reports whether a path names a prompt history.
func isHistory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && filepath.Base(path) == historyFile
}

// A typedPrompt is a line of the history.
type typedPrompt struct {
	Display   string
	Timestamp int64
	Project   string
	SessionID string
	Pasted    map[string]json.RawMessage `json:"pastedContents"`
}

// isCommand reports whether the user typed a command of Claude Code or of the shell.
func (p typedPrompt) isCommand() bool {
	return strings.HasPrefix(p.Display, "/") || strings.HasPrefix(p.Display, "!")
}

// prompts calls yield for each prompt that belongs to a session. Like Claude Code, it skips other lines.
func (s *promptHistory) prompts(ctx context.Context, yield func(typedPrompt)) error {
	data, err := ownfile.ReadPlain(s.path, largestHistory)
	if err != nil {
		return fmt.Errorf("reading the history of prompts: %w", err)
	}
	for line := range bytes.Lines(data) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var p typedPrompt
		err := json.Unmarshal(line, &p)
		wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if err != nil && (!ok || wrong.Field != "pastedContents") {
			continue
		}
		if isSessionID(p.SessionID) && filepath.IsAbs(p.Project) && strings.TrimSpace(p.Display) != "" {
			yield(p)
		}
	}
	return nil
}

func (s *promptHistory) ID() change.StoreID { return change.StoreID{Kind: "prompts", Root: s.path} }

// List implements [agent.Reader]. It leaves out a session that has only typed commands, because there is nothing to
// restore.
func (s *promptHistory) List(ctx context.Context) (heads []change.Head, err error) {
	at := map[string]int{}
	err = s.prompts(ctx, func(p typedPrompt) {
		if p.isCommand() {
			return
		}
		i, ok := at[p.SessionID]
		if !ok {
			i, at[p.SessionID] = len(heads), len(heads)
			project := folderOf(p.Project)
			heads = append(heads, change.Head{
				ID: p.SessionID, Project: project, Title: promptsTitle(p), Directory: p.Project, Created: p.Timestamp,
				Ref:     change.Ref{Kind: change.KindSession, Project: project, Session: p.SessionID},
				Version: transcript.Version,
			})
		}
		heads[i].Updated = max(heads[i].Updated, p.Timestamp)
	})
	return heads, err
}

func promptsTitle(p typedPrompt) string { return request.Short("(prompts only) "+p.Display, 80) }

// promptsNote is the first message of a session that consists of its prompts. It tells the model what is missing.
const promptsNote = "Note: the program deleted this conversation. Only the user's prompts are left, which follow " +
	"without the answers to them."

// transcript returns a transcript with the prompts of a session that Claude Code can open. It depends only on these
// prompts.
func (s *promptHistory) transcript(ctx context.Context, head change.Head) ([]byte, error) {
	var out bytes.Buffer
	var parent any // the id of the previous record
	title := ""
	add := func(p typedPrompt, text string, isMeta bool) {
		sum := sha256.Sum256(fmt.Append(nil, p.SessionID, out.Len(), text))
		sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // as in a random UUID
		id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
		writeLine(&out, map[string]any{
			"parentUuid": parent, "isSidechain": false, "type": transcript.User, "isMeta": isMeta,
			"message": map[string]any{"role": change.RoleUser, "content": text}, "uuid": id,
			"timestamp": time.UnixMilli(p.Timestamp).UTC().Format("2006-01-02T15:04:05.000Z"),
			"userType":  "external", "cwd": p.Project, "sessionId": p.SessionID, "version": transcript.Version,
		})
		parent = id
	}
	err := s.prompts(ctx, func(p typedPrompt) {
		if p.SessionID != head.ID {
			return
		}
		if parent == nil {
			add(p, promptsNote, true)
		}
		if title == "" && !p.isCommand() {
			title = promptsTitle(p)
		}
		add(p, s.expand(p), false)
	})
	if err == nil && parent == nil {
		err = fmt.Errorf("reading session %s: the history has no prompt of this session: %w", head.ID, fs.ErrNotExist)
	}
	writeLine(&out, map[string]any{"type": "custom-title", "customTitle": title, "sessionId": head.ID})
	return out.Bytes(), err
}

func writeLine(out *bytes.Buffer, record map[string]any) {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(record) // strings and booleans can be encoded
}

// pasted matches the mark of a pasted text in a prompt.
var pasted = regexp.MustCompile(`\[(?:Pasted text|\.\.\.Truncated text) #(\d+)[^\]]*\]`)

// pasteHash matches the hash of a text in the pasteCache.
var pasteHash = regexp.MustCompile(`^[0-9a-f]{16}$`)

// expand returns a prompt with its pasted texts in place of their marks. The mark of a lost text stays.
func (s *promptHistory) expand(p typedPrompt) string {
	return pasted.ReplaceAllStringFunc(p.Display, func(name string) string {
		var one struct{ Type, Content, ContentHash string }
		if json.Unmarshal(p.Pasted[pasted.FindStringSubmatch(name)[1]], &one) != nil || one.Type != "text" {
			return name
		}
		if one.Content == "" && pasteHash.MatchString(one.ContentHash) {
			file := filepath.Join(filepath.Dir(s.path), pasteCache, one.ContentHash+".txt")
			data, _ := ownfile.ReadPlain(file, largestPaste)
			one.Content = strings.ToValidUTF8(string(data), "\uFFFD")
		}
		return cmp.Or(one.Content, name)
	})
}

func (s *promptHistory) Copy(ctx context.Context, head change.Head) (c agent.Copy, err error) {
	data, err := s.transcript(ctx, head)
	if err != nil {
		return c, err
	}
	c.Records, c.PromptsOnly = []change.Record{{Ref: head.Ref, Data: data, Mode: linestore.Mode}}, true
	c.Messages, c.First = countMessages(data)
	return c, nil
}

var errReadOnly = fail.New(fail.Refused, "mend restore brings back a session of it",
	"mend does not change the history of prompts")

func (s *promptHistory) Read(context.Context, []change.Ref) ([]*change.Image, error) {
	return nil, errReadOnly
}

func (s *promptHistory) Changeable(context.Context) error { return errReadOnly }

func (s *promptHistory) Writer(string) (txn.Store, error) { return nil, errReadOnly }

// OtherStores implements [agent.Reader]. It returns the prompt history, with the sessions that Claude Code deleted.
func (s *store) OtherStores(ctx context.Context, have map[string]bool) ([]agent.OtherStore, error) {
	path := filepath.Join(s.ID().Root, historyFile)
	if !isHistory(path) {
		return nil, nil
	}
	one := agent.OtherStore{Path: path, Sessions: map[string]bool{}, PromptsOnly: true}
	heads, err := openHistory(path).List(ctx)
	if one.Err = err; ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, h := range heads {
		if !have[h.ID] {
			one.Sessions[h.ID] = true
		}
	}
	if len(one.Sessions) == 0 && err == nil {
		return nil, nil
	}
	return []agent.OtherStore{one}, nil
}

func (s *store) Adopt(_ context.Context, copied *agent.Copy) ([]change.Op, error) {
	ops := make([]change.Op, len(copied.Records))
	for i := range copied.Records {
		ops[i] = change.Op{Ref: copied.Records[i].Ref, Post: change.ImageOf(&copied.Records[i])}
	}
	return ops, nil
}
