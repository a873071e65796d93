// Package mutation changes a healthy store at random for tests. A change can be written on
// one line and applied again.
package mutation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// A Mutation is one change, as words:
//
//	json TABLE N /pointer set VALUE       a member gets another value, as JSON text
//	json TABLE N /pointer add NAME VALUE  a member is added to an object
//	json TABLE N /pointer remove
//	json TABLE N /pointer rename NAME
//	json TABLE N /pointer repeat VALUE    the member is there a second time
//	text TABLE N cut BYTES                the text of the record is truncated
//	text TABLE N put TEXT                 it is another text
//	column TABLE N NAME EXPRESSION        SQL
//	sql STATEMENTS                        in a database
//	entry FOLDER NAME file TEXT           an entry is added to a folder of the tree
//	entry FOLDER NAME copy PATH           with the bytes of another file
//	entry FOLDER NAME link|hardlink PATH
//	entry FOLDER NAME folder|fifo
//	place FOLDER file TEXT                the folder of the tree and what is in it are removed, and an entry is in its place
//	place FOLDER fifo
//	place FOLDER link NAME                the folder is moved, and a link to it is in its place
//	record session N move|copy PROJECT    the file of a session is in the folder of another project, too if it is a copy
//	record TABLE N delete                 a message, a part, or the file of a session is removed; what belongs to it stays
//	record part N insert OBJECT           a part is added behind that one, in the same message
//	record message N insert OBJECT        a message without parts is added behind that one, whose members it
//	                                      has unless OBJECT says otherwise
//	record message N copy                 a message and its parts are there a second time, behind it
//
// TABLE is session, message, part or project, and N counts its records from 0 in the
// order of the healthy conversation. In a session or a project of a database the
// pointer starts with the name of a column.
//
// In every word {session} is replaced by the session's id, {message 3} by that of a
// message, {part 3} by that of a part, {now} by the present in milliseconds since 1970,
// and {now+N} or {now-N} by another time.
type Mutation []string

// A Case is a list of mutations of a version's healthy store.
type Case struct {
	Version   string
	Mutations []Mutation
}

// String returns the case on one line.
func (c Case) String() string {
	line := []any{c.Version}
	for _, m := range c.Mutations {
		line = append(line, m)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		panic(err) // strings
	}
	return strings.TrimSpace(b.String())
}

// Parse parses what String returns.
func Parse(line string) (Case, error) {
	var words []json.RawMessage
	if err := json.Unmarshal([]byte(line), &words); err != nil || len(words) < 2 {
		return Case{}, fmt.Errorf("reading case %s: want a list of a version and mutations", line)
	}
	c := Case{Mutations: make([]Mutation, len(words)-1)}
	err := json.Unmarshal(words[0], &c.Version)
	for i := range c.Mutations {
		err = errors.Join(err, json.Unmarshal(words[i+1], &c.Mutations[i]))
	}
	return c, err
}

// ErrNoChange is the error of a mutation that changes nothing, or that the store refuses.
var ErrNoChange = errors.New("nothing to change")

// A Record is a record of the healthy store.
type Record struct {
	Table string
	ID    string
	Data  []byte // JSON; of a row of a session or a project, an object of its columns that hold JSON

	path  string // its file
	json  bool   // Data is in a column called data
	owner string
}

// A Store is a store to change.
type Store struct {
	Path    string // the folder storage, or the file of the database
	Session string
	Records map[string][]Record // by table

	db *sqlite3.Conn
}

// Open reads a healthy store.
func Open(path, session string) (*Store, error) {
	s := &Store{Path: path, Session: session, Records: map[string][]Record{}}
	if filepath.Ext(path) == ".db" {
		return s, s.openDatabase()
	}
	return s, s.openTree()
}

// Close closes the store.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// Apply applies the mutations in order, up to the first that fails.
func (s *Store) Apply(all []Mutation) error {
	for _, m := range all {
		if err := s.apply(m); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(m, " "), err)
		}
	}
	return nil
}

func (s *Store) apply(words Mutation) error {
	m := make(Mutation, len(words))
	for i := range words {
		m[i] = s.expand(words[i])
	}
	if m[0] == "sql" && len(m) == 2 && s.db != nil {
		return s.db.Exec(m[1])
	}
	if m[0] == "place" && len(m) > 2 {
		return s.place(m[1], m[2], strings.Join(m[3:], " "))
	}
	if len(m) < 4 {
		return errors.New("too few words")
	}
	if m[0] == "entry" {
		return s.entry(m[1], m[2], m[3], strings.Join(m[4:], " "))
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n < 0 || n >= len(s.Records[m[1]]) {
		return fmt.Errorf("no %s %s", m[1], m[2])
	}
	r := &s.Records[m[1]][n]
	switch {
	case m[0] == "column" && len(m) == 5 && s.db != nil:
		return s.column(r, m[3], m[4])
	case m[0] == "text" && len(m) == 5:
		return s.text(r, m[3], m[4])
	case m[0] == "json":
		return s.json(r, m[3], m[4], strings.Join(m[5:], " "))
	case m[0] == "record" && m[3] == "delete":
		return s.delete(r)
	case m[0] == "record" && r.Table == "session" && len(m) == 5 && s.db == nil:
		return s.otherProject(r, m[3], m[4])
	case m[0] == "record" && m[3] == "insert" && len(m) == 5:
		return s.insert(r, m[4])
	case m[0] == "record" && m[3] == "copy" && r.Table == "message":
		return s.copy(r)
	}
	return errors.New("unknown mutation")
}

// expand replaces the placeholders in a word.
func (s *Store) expand(word string) string {
	for from := 0; ; {
		i := strings.Index(word[from:], "{")
		if i < 0 {
			return word
		}
		i += from
		end := strings.Index(word[i:], "}")
		if end < 0 {
			return word
		}
		value, ok := s.placeholder(word[i+1 : i+end])
		if !ok {
			from = i + 1
			continue
		}
		word = word[:i] + value + word[i+end+1:]
		from = i + len(value)
	}
}

func (s *Store) placeholder(name string) (string, bool) {
	table, number, _ := strings.Cut(name, " ")
	n, err := strconv.Atoi(number)
	switch {
	case name == "session":
		return s.Session, true
	case (table == "message" || table == "part") && err == nil && n >= 0 && n < len(s.Records[table]):
		return s.Records[table][n].ID, true
	case strings.HasPrefix(name, "now"):
		delta, err := strconv.ParseInt(strings.TrimPrefix(name[3:], "+"), 10, 64)
		return strconv.FormatInt(time.Now().UnixMilli()+delta, 10), err == nil || name == "now"
	}
	return "", false
}

func (s *Store) text(r *Record, how, arg string) error {
	data := []byte(arg)
	if how == "cut" {
		n, err := strconv.Atoi(arg)
		if err != nil || n >= len(r.Data) {
			return ErrNoChange
		}
		data = r.Data[:n]
	}
	return s.put(r, data)
}

func (s *Store) json(r *Record, pointer, how, arg string) error {
	all := Nodes(r.Data)
	i := slices.IndexFunc(all, func(p Node) bool { return p.Pointer == pointer })
	if i < 0 {
		return ErrNoChange
	}
	data, ok := all[i].edit(r.Data, how, arg)
	if !ok || bytes.Equal(data, r.Data) {
		return ErrNoChange
	}
	if s.db != nil && !r.json { // the first name is a column
		_, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if rest == "" {
			return ErrNoChange
		}
	}
	return s.put(r, data)
}

// put replaces the record's text.
func (s *Store) put(r *Record, data []byte) error {
	if s.db == nil {
		r.Data = data
		return os.WriteFile(r.path, data, 0o644)
	}
	if r.json {
		r.Data = data
		return s.exec("update "+r.Table+" set data = cast(?2 as text) where id = ?1", r.ID, string(data))
	}
	was, now := columns(r.Data), columns(data)
	r.Data = data
	for name, text := range now {
		if was[name] != text {
			return s.exec("update "+r.Table+" set "+sqlite3.QuoteIdentifier(name)+" = cast(?2 as text) where id = ?1", r.ID, text)
		}
	}
	return ErrNoChange
}

// columns returns the texts of the members of an object.
func columns(data []byte) map[string]string {
	all := map[string]string{}
	for _, p := range Nodes(data) {
		if name, rest, deep := strings.Cut(p.Pointer, "/"); name == "" && !deep && rest == "" {
			continue
		}
		if strings.Count(p.Pointer, "/") == 1 {
			all[p.Pointer[1:]] = string(data[p.start:p.end])
		}
	}
	return all
}
