package damage

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Record is a message or a part of the fixture's session in either generation of
// stores.
type Record struct {
	Table string // "message" or "part"
	ID    string
	Owner string // a part's message
	Data  string // the stored JSON
	// Created is the time that Put sets in a row of a database, in milliseconds since 1970; 0: unchanged.
	Created int64
}

// A Store is a store that a test damages.
type Store interface {
	// Records returns the messages and the parts, each in the order of sending.
	Records() (messages, parts []Record)
	Put(Record)
	Drop(Record)
	// Replace replaces a text everywhere, in names too.
	Replace(old, new string)
}

// A FileStore is a [Store] of files that also takes other files beside its records.
type FileStore interface {
	Store
	WriteFile(name, data string) // name is below the storage folder
}

// A Failer ends a test; a [testing.TB] is one.
type Failer interface{ Fatal(...any) }

// A Tree is the store of JSON files.
type Tree struct {
	T       Failer
	Root    string // the storage folder
	Session string
}

// Records implements [Store].
func (s Tree) Records() (messages, parts []Record) {
	messages = s.read("message", s.Session)
	for _, m := range messages {
		parts = append(parts, s.read("part", m.ID)...)
	}
	return messages, parts
}

// read reads a folder; the ids of the fixture sort like its times.
func (s Tree) read(table, owner string) []Record {
	files, err := filepath.Glob(filepath.Join(s.Root, table, owner, "*.json"))
	if err != nil {
		s.T.Fatal(err)
	}
	var out []Record
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			continue // a folder is not a record
		}
		data, err := os.ReadFile(f)
		if err != nil {
			s.T.Fatal(err)
		}
		out = append(out, Record{Table: table, ID: strings.TrimSuffix(filepath.Base(f), ".json"), Owner: owner, Data: string(data)})
	}
	return out
}

func (s Tree) file(r Record) string { return filepath.Join(s.Root, r.Table, r.Owner, r.ID+".json") }

// Put writes the file; the ids in the JSON follow the Record's.
func (s Tree) Put(r Record) {
	var fields map[string]any
	if json.Unmarshal([]byte(r.Data), &fields) == nil && fields != nil {
		fields["id"], fields["sessionID"] = r.ID, s.Session
		if r.Table == "part" {
			fields["messageID"] = r.Owner
		}
		data, err := json.MarshalIndent(fields, "", "  ")
		if err != nil {
			s.T.Fatal(err)
		}
		r.Data = string(data)
	}
	if err := os.WriteFile(s.file(r), []byte(r.Data), 0o644); err != nil {
		s.T.Fatal(err)
	}
}

// WriteFile implements [FileStore].
func (s Tree) WriteFile(name, data string) {
	name = filepath.Join(s.Root, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(data), 0o644)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// dropFolder removes an empty folder.
func (s Tree) dropFolder(name string) {
	if err := os.Remove(filepath.Join(s.Root, filepath.FromSlash(name))); err != nil {
		s.T.Fatal(err)
	}
}

// Drop removes the record.
func (s Tree) Drop(r Record) {
	if err := os.Remove(s.file(r)); err != nil {
		s.T.Fatal(err)
	}
}

// Replace implements [Store].
func (s Tree) Replace(old, new string) {
	err := filepath.WalkDir(s.Root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
		renamed := strings.ReplaceAll(file, old, new)
		if err := os.MkdirAll(filepath.Dir(renamed), 0o755); err != nil {
			return err
		}
		return os.WriteFile(renamed, []byte(strings.ReplaceAll(string(data), old, new)), 0o644)
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// A Database is the SQLite store.
type Database struct {
	Session string // whose records are meant; "" if there is only one

	// SQL runs one statement and returns its rows, without enforcing foreign keys.
	SQL func(statement string, args ...any) []map[string]any
}

// Records implements [Store].
func (s Database) Records() (messages, parts []Record) {
	const here = ` where ?1 in ('', m.session_id) order by m.time_created, m.id`
	messages = s.read("message", `select id, session_id as owner, data from message m`+here)
	parts = s.read("part", `select p.id, message_id as owner, p.data from part p join message m on m.id = message_id`+here+`, p.id`)
	return messages, parts
}

func (s Database) read(table, query string) []Record {
	var out []Record
	for _, row := range s.SQL(query, s.Session) {
		out = append(out, Record{Table: table, ID: row["id"].(string), Owner: row["owner"].(string), Data: row["data"].(string)})
	}
	return out
}

// Put changes the row; a new part gets the times of its message.
func (s Database) Put(r Record) {
	if r.Table == "part" {
		s.SQL("insert or ignore into part select ?, id, session_id, time_created, time_updated, '{}' from message where id = ?", r.ID, r.Owner)
	}
	s.SQL("update "+r.Table+" set data = ? where id = ?", r.Data, r.ID)
	if r.Created != 0 {
		s.SQL("update "+r.Table+" set time_created = cast(? as integer) where id = ?", r.Created, r.ID)
	}
}

// Drop removes the record.
func (s Database) Drop(r Record) {
	s.SQL("delete from "+r.Table+" where id = ?", r.ID)
}

// Replace implements [Store].
func (s Database) Replace(old, new string) {
	for column, table := range map[string]string{"message_id": "part", "session_id": "message"} {
		s.SQL("update "+table+" set id = replace(id, ?1, ?2), "+column+" = replace("+column+", ?1, ?2), data = replace(data, ?1, ?2)", old, new)
	}
}

// Edit returns the record with changed fields; a record that is not a JSON object is returned unchanged.
func (r Record) Edit(edit func(map[string]any)) Record {
	var fields map[string]any
	if json.Unmarshal([]byte(r.Data), &fields) != nil || fields == nil {
		return r
	}
	edit(fields)
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	r.Data = string(data)
	return r
}

// Type returns the part's type.
func (r Record) Type() string {
	var part struct{ Type string }
	_ = json.Unmarshal([]byte(r.Data), &part)
	return part.Type
}

// Parts returns the parts of one type in message number n.
func Parts(s Store, n int, kind string) []Record {
	return slices.DeleteFunc(messageParts(s, n), func(r Record) bool { return r.Type() != kind })
}

func messageParts(s Store, n int) []Record {
	messages, parts := s.Records()
	return slices.DeleteFunc(parts, func(r Record) bool { return n >= len(messages) || r.Owner != messages[n].ID })
}
