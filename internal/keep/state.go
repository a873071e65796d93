package keep

import (
	"encoding/json"
	"fmt"
	"time"

	"mend/change"
)

// A State is a session at the time when it was kept.
type State struct {
	ID      string // id of the state; set by Add
	Agent   string // the name of the agent
	Store   change.StoreID
	Session string
	Ref     change.Ref // of the session's own record
	Title   string
	Folder  string // where the user worked
	Parent  string // for a subagent's session, the session that started it; "" for none, and in states from before 2026-11-27
	Time    time.Time
	Why     string // the reason for the copy, such as "turn" or "keep"

	Messages int
	First    string   // the id of the first message
	Lost     int      // messages of the previous state that this one lacks; set by Add
	Unread   string   // the unreadable part of the session; "" for none
	Stamp    [32]byte // of the session at that time; zero if unknown
	Updated  int64    // when the agent updated it, in milliseconds since 1970

	Records int   // set by Add
	Size    int64 // size of the records, in bytes; set by Add

	seq   uint64
	root  hash
	depth int // of the tree of nodes; 0: the root is a chunk
}

// Head returns the session at that time.
func (s *State) Head() change.Head {
	return change.Head{ID: s.Session, Ref: s.Ref, Project: s.Ref.Project, Title: s.Title, Directory: s.Folder, Parent: s.Parent, Updated: s.Updated}
}

// Complete reports whether the session can be restored from the state with all its messages: it had some, and
// all of it could be read.
func (s *State) Complete() bool { return s.Messages > 0 && s.Unread == "" }

// lost returns how many messages of the state before are missing from s, as far as the number of messages and
// the first message show.
func (s *State) lost(before *State) int {
	if before.First != s.First {
		return before.Messages
	}
	return max(0, before.Messages-s.Messages)
}

// Lacks reports whether the state has fewer messages, records or bytes than the one before it.
func (s *State) Lacks(before *State) bool {
	return s.Lost > 0 || s.Records < before.Records || s.Size < before.Size
}

// A storedState is the stored form of a state. Strings are stored as bytes. Frozen; members are added to it.
type storedState struct {
	Agent    []byte     `json:"agent"`
	Kind     string     `json:"kind"`
	Root     []byte     `json:"root"`
	Dev      uint64     `json:"dev"`
	Ino      uint64     `json:"ino"`
	Session  []byte     `json:"session"`
	Ref      change.Ref `json:"ref"`
	Title    []byte     `json:"title,omitempty"`
	Folder   []byte     `json:"folder,omitempty"`
	Parent   []byte     `json:"parent,omitempty"`
	Sec      int64      `json:"sec"`
	Nsec     int64      `json:"nsec"`
	Why      []byte     `json:"why,omitempty"`
	Messages int        `json:"messages"`
	First    []byte     `json:"first,omitempty"`
	Lost     int        `json:"lost,omitempty"`
	Unread   []byte     `json:"unread,omitempty"`
	Stamp    []byte     `json:"stamp,omitempty"`
	Updated  int64      `json:"updated,omitempty"`
	Records  int        `json:"records"`
	Size     int64      `json:"size"`
	Tree     []byte     `json:"tree"` // the hash of its root
	Depth    int        `json:"depth"`
}

func idOf(seq uint64) string { return fmt.Sprintf("k%d", seq) }

func encodeState(s *State) []byte {
	b, _ := json.Marshal(storedState{ // bytes and numbers always marshal
		Agent: []byte(s.Agent), Kind: s.Store.Kind, Root: []byte(s.Store.Root), Dev: s.Store.Dev, Ino: s.Store.Ino,
		Session: []byte(s.Session), Ref: s.Ref, Title: []byte(s.Title), Folder: []byte(s.Folder), Parent: []byte(s.Parent), Sec: s.Time.Unix(), Nsec: int64(s.Time.Nanosecond()),
		Why: []byte(s.Why), Messages: s.Messages, First: []byte(s.First), Lost: s.Lost, Unread: []byte(s.Unread), Stamp: s.Stamp[:], Updated: s.Updated,
		Records: s.Records, Size: s.Size, Tree: s.root[:], Depth: s.depth,
	})
	return b
}

func decodeState(seq uint64, b []byte) (State, error) {
	var t storedState
	if err := json.Unmarshal(b, &t); err != nil {
		return State{}, damageError("state %d: %v", seq, err)
	}
	if len(t.Tree) != len(hash{}) || t.Depth < 0 || t.Depth > maxDepth || t.Messages < 0 || t.Records < 0 || t.Size < 0 {
		return State{}, damageError("state %d is not one of mend's", seq)
	}
	s := State{
		ID: idOf(seq), Agent: string(t.Agent), Store: change.StoreID{Agent: string(t.Agent), Kind: t.Kind, Root: string(t.Root), Dev: t.Dev, Ino: t.Ino},
		Session: string(t.Session), Ref: t.Ref, Title: string(t.Title), Folder: string(t.Folder), Parent: string(t.Parent), Time: time.Unix(t.Sec, t.Nsec), Why: string(t.Why),
		Messages: t.Messages, First: string(t.First), Lost: t.Lost, Unread: string(t.Unread), Updated: t.Updated, Records: t.Records, Size: t.Size, seq: seq, root: hash(t.Tree), depth: t.Depth,
	}
	copy(s.Stamp[:], t.Stamp)
	return s, nil
}
