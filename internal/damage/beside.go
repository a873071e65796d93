package damage

import (
	"encoding/json"
	"strings"
)

// beside are files that lie beside the records of a tree: 1.1.53 takes any file there
// for a record, but hidden ones. A database has no such place.
var beside = []Kind{
	{"a backup among the parts", layParts("%.json.bak", "x"), inTree(Dead)},
	{"a backup by an editor among the parts", layParts("%.json~", "x"), inTree(Dead)},
	{"an editor's probe among the parts", layParts("4913", ""), inTree(Dead)},
	{"a thumbnail store among the parts", layParts("Thumbs.db", "\xd0\xcf"), inTree(Dead)},
	{"a folder's settings among the parts", layParts("desktop.ini", "[x]"), inTree(Dead)},
	{"hidden files among the parts", every(layParts(".DS_Store", "x"), layParts("._%.json", "x"), layParts(".%.json.swp", "x"), layParts(".%.json.icloud", "x")), inTree(Alive)},
	{"a copy of a text among the parts", layParts("% (conflicted copy).json", ""), inTree(Alive)},
	{"a copy of a call among the parts", lay(OneCall, "tool", "% (conflicted copy).json", ""), inTree("R17")},
	{"a damaged copy among the parts", layParts("% (conflicted copy).json", "{"), inTree(Dead)},
	{"a name that leads to a call", lay(OneCall, "tool", "%.orig", "x"), inTree("R17")},
	{"a backup in a folder among the parts", layParts("old/%.json.bak", "x"), inTree(Dead)},
	{"a part in a folder among the parts", layParts("old/%.json", ""), inTree(Alive)},
	{"a backup in a folder with the name of a part", layParts("prt_old.json/x.bak", "x"), inTree(Dead)},
	{"a backup in a hidden folder among the parts", layParts(".old/%.json.bak", "x"), inTree(Alive)},
	{"a backup among the messages", layMessages("%.json.bak", "x"), inTree(Dead)},
	{"a thumbnail store among the messages", layMessages("Thumbs.db", "x"), inTree(Dead)},
	{"a copy among the messages", layMessages("% (conflicted copy).json", ""), inTree(Alive)},
	{"a name that leads to an answer with a call", layMessages("%.orig", "x"), inTree("R17")},
	{"a copy among the messages whose name is no id of one", layMessages("Copy of %.json", ""), inTree(Dead)},
	{"a file among the messages whose name is no id of one", layMessages("package.json", "{}"), inTree(Dead)},
	{"a message in a folder among the messages", layMessages("old/%.json", ""), inTree(Dead)},
	{"hidden files among the messages", every(layMessages(".DS_Store", "x"), layMessages(".%.json.swp", "x")), inTree(Alive)},
	{"a thumbnail store among the sessions", layFile("session/global/Thumbs.db", "x"), inTree(Alive)},
	{"thumbnail stores above the records", every(layFile("session/Thumbs.db", "x"), layFile("message/Thumbs.db", "x"), layFile("part/Thumbs.db", "x"), layFile("Thumbs.db", "x"), layFile("session_diff/Thumbs.db", "x"), layFile("todo/Thumbs.db", "x")), inTree(Alive)},
	{"a file in place of a folder of parts", inPlace(Hello), inTree(Alive)},
}

func inTree(want string) [len(Versions)]string { return by(want, Alive, Alive) }

func layParts(name, data string) func(Store) { return lay(Hello, "text", name, data) }

// lay puts a file beside the first part of a type in a message. In its name % stands
// for that part's id; without data it is a copy of that part.
func lay(n int, kind, name, data string) func(Store) {
	return func(s Store) {
		for _, p := range nth(s, n, kind, 0) {
			layBeside(s, "part/"+p.Owner+"/", p, name, data)
		}
	}
}

// layMessages does the same beside the message with the one call.
func layMessages(name, data string) func(Store) {
	return func(s Store) {
		for _, m := range message(s, OneCall) {
			layBeside(s, "message/"+sessionOf(m)+"/", m, name, data)
		}
	}
}

func sessionOf(m Record) string {
	var fields struct{ SessionID string }
	if json.Unmarshal([]byte(m.Data), &fields) != nil {
		return ""
	}
	return fields.SessionID
}

func layBeside(s Store, folder string, r Record, name, data string) {
	if data == "" {
		data = r.Data
	}
	layFile(folder+strings.ReplaceAll(name, "%", r.ID), data)(s)
}

func layFile(name, data string) func(Store) {
	return func(s Store) {
		if l, ok := s.(FileStore); ok {
			l.Lay(name, data)
		}
	}
}

// inPlace takes the parts of a message and puts a file in place of their folder.
func inPlace(n int) func(Store) {
	return func(s Store) {
		if _, ok := s.(FileStore); !ok {
			return
		}
		for _, m := range message(s, n) {
			empty(n)(s)
			if t, ok := s.(Tree); ok {
				t.dropFolder("part/" + m.ID)
			}
			layFile("part/"+m.ID, "x")(s)
		}
	}
}
