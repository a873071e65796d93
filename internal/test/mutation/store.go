package mutation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

func (s *Store) openTree() error {
	glob := func(table, owner string) error {
		files, err := filepath.Glob(filepath.Join(s.Path, table, owner, "*.json"))
		if err != nil {
			return err
		}
		sort.Strings(files) // the fixture's ids sort as its times do
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			id := strings.TrimSuffix(filepath.Base(f), ".json")
			s.Records[table] = append(s.Records[table], Record{Table: table, ID: id, Data: data, path: f, owner: owner})
		}
		return nil
	}
	err := errors.Join(glob("session", "*"), glob("project", ""), glob("message", s.Session))
	for _, m := range s.Records["message"] {
		err = errors.Join(err, glob("part", m.ID))
	}
	return err
}

func (s *Store) openDatabase() error {
	db, err := sqlite3.Open(s.Path)
	if err != nil {
		return err
	}
	s.db = db
	err = errors.Join(db.BusyTimeout(5*time.Second), db.Exec("pragma foreign_keys = off; pragma synchronous = off"))
	for table, query := range map[string]string{
		"session": "select id, '', * from session where id = ?1", "project": "select id, '', * from project where ?1 = ?1",
		"message": "select id, session_id, data from message where session_id = ?1 order by time_created, id",
		"part":    "select p.id, message_id, p.data from part p join message m on m.id = message_id where m.session_id = ?1 order by m.time_created, m.id, p.id",
	} {
		if err == nil {
			err = s.rows(table, query)
		}
	}
	return err
}

// HasTable reports whether a database has that table, which not every version has.
func HasTable(db *sqlite3.Conn, table string) bool {
	st, _, err := db.Prepare("select 1 from " + table)
	if err == nil {
		_ = st.Close()
	}
	return err == nil
}

func (s *Store) rows(table, query string) error {
	st, _, err := s.db.Prepare(query)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if err := st.BindText(1, s.Session); err != nil {
		return err
	}
	for st.Step() {
		r := Record{Table: table, ID: st.ColumnText(0), owner: st.ColumnText(1), json: table == "message" || table == "part"}
		if r.json {
			r.Data = []byte(st.ColumnText(2))
		} else {
			object := map[string]json.RawMessage{}
			for i := 2; i < st.ColumnCount(); i++ {
				if text := st.ColumnText(i); st.ColumnType(i) == sqlite3.TEXT && strings.Trim(text, "[{") != text && json.Valid([]byte(text)) {
					object[st.ColumnName(i)] = json.RawMessage(text)
				}
			}
			if r.Data, err = json.Marshal(object); err != nil {
				return err
			}
		}
		s.Records[table] = append(s.Records[table], r)
	}
	return st.Err()
}

func (s *Store) exec(sql string, args ...string) error {
	st, _, err := s.db.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	for i, a := range args {
		if err := st.BindText(i+1, a); err != nil {
			return err
		}
	}
	if err := st.Exec(); err != nil {
		return errors.Join(ErrNoChange, err) // such as NOT NULL
	}
	return nil
}

// column sets a column to the value of an expression.
func (s *Store) column(r *Record, name, expression string) error {
	name = sqlite3.QuoteIdentifier(name)
	before := s.db.TotalChanges()
	err := s.exec(fmt.Sprintf("update %[1]s set %[2]s = (%[3]s) where id = ?1 and quote(%[2]s) is not quote((%[3]s))", r.Table, name, expression), r.ID)
	if err == nil && s.db.TotalChanges() == before {
		return ErrNoChange
	}
	return err
}

// entry adds an entry to a folder of the tree.
func (s *Store) entry(folder, name, kind, arg string) error {
	if s.db != nil {
		return ErrNoChange
	}
	path := filepath.Join(s.Path, folder, name)
	if _, err := os.Lstat(path); err == nil || !filepath.IsLocal(filepath.Join(folder, name)) {
		return ErrNoChange
	}
	from := filepath.Join(s.Path, arg)
	switch kind {
	case "file":
		return os.WriteFile(path, []byte(arg), 0o644)
	case "copy":
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o644)
	case "link":
		return os.Symlink(from, path)
	case "hardlink":
		return os.Link(from, path)
	case "folder":
		return os.Mkdir(path, 0o755)
	case "fifo":
		return mkfifo(path, 0o644)
	}
	return errors.New("unknown kind of entry")
}

// place replaces a folder of the tree by an entry.
func (s *Store) place(folder, kind, arg string) error {
	if s.db != nil {
		return ErrNoChange
	}
	path := filepath.Join(s.Path, folder)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() || !filepath.IsLocal(folder) {
		return ErrNoChange
	}
	if kind == "link" {
		return errors.Join(os.Rename(path, filepath.Join(s.Path, arg)), os.Symlink(filepath.Join(s.Path, arg), path))
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return s.entry(filepath.Dir(folder), filepath.Base(folder), kind, arg)
}

// otherProject moves or copies the file of a session to the folder of another project.
func (s *Store) otherProject(r *Record, how, project string) error {
	path := filepath.Join(s.Path, "session", project, filepath.Base(r.path))
	if path == r.path || !filepath.IsLocal(project) {
		return ErrNoChange
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if how == "move" {
		return os.Rename(r.path, path)
	}
	return os.WriteFile(path, r.Data, 0o644)
}

// Copy copies the content of the folder from into to: names, kinds, bytes, modes.
func Copy(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, name)
		target := filepath.Join(to, rel)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			if in, err := filepath.Rel(from, link); err == nil && filepath.IsLocal(in) {
				link = filepath.Join(to, in)
			}
			return os.Symlink(link, target)
		case info.Mode()&fs.ModeNamedPipe != 0:
			return mkfifo(target, uint32(info.Mode().Perm()))
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	})
}

// delete removes a message, a part, or the file of a session.
func (s *Store) delete(r *Record) error {
	if r.Table == "project" || r.Table == "session" && s.db != nil {
		return ErrNoChange
	}
	if s.db == nil {
		return os.Remove(r.path)
	}
	return s.exec("delete from "+r.Table+" where id = ?1", r.ID)
}

// insertedID returns the id of a record that is added behind the one with that id.
func insertedID(id string) string { return id + "a" }

// insert adds a message or a part behind the record.
func (s *Store) insert(r *Record, object string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		return err
	}
	all := map[string]json.RawMessage{}
	if r.Table == "message" {
		if err := json.Unmarshal(r.Data, &all); err != nil {
			return err
		}
	}
	maps.Copy(all, members)
	if s.db == nil {
		all["id"], all["sessionID"] = quote(insertedID(r.ID)), quote(s.Session)
		if r.Table == "part" {
			all["messageID"] = quote(r.owner)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if s.db == nil {
		return os.WriteFile(filepath.Join(filepath.Dir(r.path), insertedID(r.ID)+".json"), data, 0o644)
	}
	return s.copyRow(r, map[string]string{"id": insertedID(r.ID), "data": string(data)})
}

func quote(s string) json.RawMessage { return json.RawMessage(strconv.Quote(s)) }

// copy adds a message and its parts a second time.
func (s *Store) copy(r *Record) error {
	id := insertedID(r.ID)
	rename := func(data []byte) []byte { return bytes.ReplaceAll(data, []byte(r.ID), []byte(id)) }
	if s.db != nil {
		if err := s.copyRow(r, map[string]string{"id": id}); err != nil {
			return err
		}
	} else if err := errors.Join(os.WriteFile(filepath.Join(filepath.Dir(r.path), id+".json"), rename(r.Data), 0o644), os.Mkdir(filepath.Join(s.Path, "part", id), 0o755)); err != nil {
		return err
	}
	for _, p := range s.Records["part"] {
		if p.owner != r.ID {
			continue
		}
		pid := insertedID(p.ID)
		var err error
		if s.db != nil {
			err = s.copyRow(&p, map[string]string{"id": pid, "message_id": id})
		} else {
			data := bytes.ReplaceAll(rename(p.Data), []byte(p.ID), []byte(pid))
			err = os.WriteFile(filepath.Join(s.Path, "part", id, pid+".json"), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyRow adds a row a second time, with these values of columns.
func (s *Store) copyRow(r *Record, values map[string]string) error {
	st, _, err := s.db.Prepare("select name from pragma_table_info(" + sqlite3.Quote(r.Table) + ")")
	if err != nil {
		return err
	}
	var names, from []string
	for st.Step() {
		name := sqlite3.QuoteIdentifier(st.ColumnText(0))
		names = append(names, name)
		if value, ok := values[st.ColumnText(0)]; ok {
			name = sqlite3.Quote(value)
		}
		from = append(from, name)
	}
	if err := errors.Join(st.Err(), st.Close()); err != nil {
		return err
	}
	return s.exec(fmt.Sprintf("insert into %[1]s (%[2]s) select %[3]s from %[1]s where id = ?1", r.Table, strings.Join(names, ","), strings.Join(from, ",")), r.ID)
}
