package damage

import (
	"encoding/json"
	"strings"
)

// otherFiles has files beside the records of a tree: 1.1.53 reads any file there as a record unless its name
// is hidden. A database has no equivalent.
var otherFiles = []Kind{
	{"a backup among the parts", addFileToParts("%.json.bak", "x"), treeOnly(Dead)},
	{"a backup by an editor among the parts", addFileToParts("%.json~", "x"), treeOnly(Dead)},
	{"an editor's probe among the parts", addFileToParts("4913", ""), treeOnly(Dead)},
	{"a thumbnail store among the parts", addFileToParts("Thumbs.db", "\xd0\xcf"), treeOnly(Dead)},
	{"a folder's settings among the parts", addFileToParts("desktop.ini", "[x]"), treeOnly(Dead)},
	{"hidden files among the parts", combine(addFileToParts(".DS_Store", "x"), addFileToParts("._%.json", "x"), addFileToParts(".%.json.swp", "x"), addFileToParts(".%.json.icloud", "x")), treeOnly(Alive)},
	{"a copy of a text among the parts", addFileToParts("% (conflicted copy).json", ""), treeOnly(Alive)},
	{"a copy of a call among the parts", addFileBesidePart(OneCall, "tool", "% (conflicted copy).json", ""), treeOnly("R17")},
	{"a damaged copy among the parts", addFileToParts("% (conflicted copy).json", "{"), treeOnly(Dead)},
	{"a name that leads to a call", addFileBesidePart(OneCall, "tool", "%.orig", "x"), treeOnly("R17")},
	{"a backup in a folder among the parts", addFileToParts("old/%.json.bak", "x"), treeOnly(Dead)},
	{"a part in a folder among the parts", addFileToParts("old/%.json", ""), treeOnly(Alive)},
	{"a backup in a folder with the name of a part", addFileToParts("prt_old.json/x.bak", "x"), treeOnly(Dead)},
	{"a backup in a hidden folder among the parts", addFileToParts(".old/%.json.bak", "x"), treeOnly(Alive)},
	{"a backup among the messages", addFileToMessages("%.json.bak", "x"), treeOnly(Dead)},
	{"a thumbnail store among the messages", addFileToMessages("Thumbs.db", "x"), treeOnly(Dead)},
	{"a copy among the messages", addFileToMessages("% (conflicted copy).json", ""), treeOnly(Alive)},
	{"a name that leads to an answer with a call", addFileToMessages("%.orig", "x"), treeOnly("R17")},
	{"a copy among the messages whose name is no id of one", addFileToMessages("Copy of %.json", ""), treeOnly(Dead)},
	{"a file among the messages whose name is no id of one", addFileToMessages("package.json", "{}"), treeOnly(Dead)},
	{"a message in a folder among the messages", addFileToMessages("old/%.json", ""), treeOnly(Dead)},
	{"hidden files among the messages", combine(addFileToMessages(".DS_Store", "x"), addFileToMessages(".%.json.swp", "x")), treeOnly(Alive)},
	{"a thumbnail store among the sessions", addFile("session/global/Thumbs.db", "x"), treeOnly(Alive)},
	{"thumbnail stores above the records", combine(addFile("session/Thumbs.db", "x"), addFile("message/Thumbs.db", "x"), addFile("part/Thumbs.db", "x"), addFile("Thumbs.db", "x"), addFile("session_diff/Thumbs.db", "x"), addFile("todo/Thumbs.db", "x")), treeOnly(Alive)},
	{"a file in place of a folder of parts", replacePartsFolder(Hello), treeOnly(Alive)},
}

func treeOnly(want string) [len(Versions)]string { return byVersion(want, Alive, Alive) }

func addFileToParts(name, data string) func(Store) {
	return addFileBesidePart(Hello, "text", name, data)
}

// addFileBesidePart adds a file beside the first part of a type in a message. In its name % is replaced by the part's
// id. Without data the file is a copy of the part.
func addFileBesidePart(n int, kind, name, data string) func(Store) {
	return func(s Store) {
		for _, p := range nthPart(s, n, kind, 0) {
			addFileBeside(s, "part/"+p.Owner+"/", p, name, data)
		}
	}
}

// addFileToMessages adds a file beside the message with one call, as addFileBesidePart does.
func addFileToMessages(name, data string) func(Store) {
	return func(s Store) {
		for _, m := range nthMessage(s, OneCall) {
			addFileBeside(s, "message/"+sessionOf(m)+"/", m, name, data)
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

func addFileBeside(s Store, folder string, r Record, name, data string) {
	if data == "" {
		data = r.Data
	}
	addFile(folder+strings.ReplaceAll(name, "%", r.ID), data)(s)
}

func addFile(name, data string) func(Store) {
	return func(s Store) {
		if l, ok := s.(FileStore); ok {
			l.WriteFile(name, data)
		}
	}
}

// replacePartsFolder replaces the folder of a message's parts by a file.
func replacePartsFolder(n int) func(Store) {
	return func(s Store) {
		if _, ok := s.(FileStore); !ok {
			return
		}
		for _, m := range nthMessage(s, n) {
			dropParts(n)(s)
			if t, ok := s.(Tree); ok {
				t.dropFolder("part/" + m.ID)
			}
			addFile("part/"+m.ID, "x")(s)
		}
	}
}
