package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/ownfile"
)

// A CleanRequest selects what is removed from a store to free space.
type CleanRequest struct {
	Events    bool                    // all events
	Snapshots bool                    // copies of files of projects that have no session
	Sessions  []change.Head           // sessions of List, with all their data
	DryRun    bool                    // write nothing
	Progress  func(done, total int64) // in bytes; may be nil
	// Each gets the plans for the sessions of a store of files, one at a time to save memory. If it is nil, the sessions
	// are only counted.
	Each func(change.Plan) error
}

// Cleaned is a plan to remove something. Nothing is removed yet.
type Cleaned struct {
	Plans   []change.Plan    // for a database; none if there is nothing to remove
	Rows    map[string]int64 // number of rows by table, or of records by kind
	Content int64            // size of the rows or records in bytes
	Shared  []string         // sessions that are shared
	Packed  int64            // bytes that undo needs beside the store; 0 if the journal has them
	Discard func()           // removes the built files that no plan has moved; the caller always calls it
}

// RemoveFiles plans the removal of the sessions of a store of files. ops returns the ops that remove one session, none
// if it is removed together with another.
func (r CleanRequest) RemoveFiles(ctx context.Context,
	ops func(h change.Head, c *Cleaned) ([]change.Op, error),
) (Cleaned, error) {
	c := Cleaned{Rows: map[string]int64{}}
	if r.Events || r.Snapshots {
		return c, errors.ErrUnsupported
	}
	for _, h := range r.Sessions {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		all, err := ops(h, &c)
		if err != nil {
			return c, err
		}
		change.Sort(all)
		for _, o := range all {
			if o.Ref.Kind != change.KindFolder {
				c.Rows[o.Ref.Kind.String()]++
				c.Content += int64(len(o.Pre.Data))
			}
		}
		if r.Each != nil && len(all) > 0 {
			err = r.Each(change.Plan{Session: h.ID, Cause: change.Cause{Title: h.Title, Folder: h.Directory}, Ops: all})
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// A Space is how the space of a store is used.
type Space struct {
	Parts    []SpacePart // together they cover the whole store
	Sessions map[string]*SessionSpace
}

// A SpacePart is one part of the used space.
type SpacePart struct {
	Name  string `json:"part"` // in words
	Bytes int64  `json:"bytes"`
	// Clean is the subcommand of "mend clean" that removes the part: "events", "sessions", "images", "snapshots" or
	// "pages"; "" for none.
	Clean string `json:"clean,omitempty"`
}

// A SessionSpace is the space used by one session, in bytes.
type SessionSpace struct {
	Conversation int64 `json:"conversation"` // without images
	Images       int64 `json:"images"`       // records that contain images
	Events       int64 `json:"events"`
}

// Total returns the space used by the session.
func (s *SessionSpace) Total() int64 { return s.Conversation + s.Images + s.Events }

// Add adds a part unless it is empty.
func (s *Space) Add(name string, n int64, clean string) {
	if n > 0 {
		s.Parts = append(s.Parts, SpacePart{name, n, clean})
	}
}

// Session returns the space of a session for the caller to add to.
func (s *Space) Session(id string) *SessionSpace {
	if s.Sessions == nil {
		s.Sessions = map[string]*SessionSpace{}
	}
	if s.Sessions[id] == nil {
		s.Sessions[id] = &SessionSpace{}
	}
	return s.Sessions[id]
}

// SpaceOf returns the space of a store of files: each folder below its root as a named part, and the files of each
// session. A file belongs to a session if the file, or one of its parent folders, is named after the session or one
// of its messages. parts has pairs of a folder and the name of its part; the last pair, without a folder, is for all
// other files.
func SpaceOf(ctx context.Context, store Reader, parts [][2]string) (s Space, err error) {
	root, o := store.ID().Root, owners{map[string]string{}, map[string]string{}}
	heads, err := store.List(ctx)
	if err != nil {
		return s, err
	}
	for _, h := range heads {
		o.sessions[h.ID] = h.ID
	}
	sums, images := map[string]int64{}, int64(0)
	err = walkFiles(ctx, root, func(names []string, path string, size int64) {
		i := slices.IndexFunc(parts, func(p [2]string) bool { return p[0] == names[0] || p[0] == "" })
		id, imageSize := o.sessionOf(names), int64(0)
		if id != "" {
			if strings.Contains(filepath.Ext(path), ".json") && size > smallest {
				imageSize = imageBytes(path)
			}
			s.Session(id).Conversation += size - imageSize
			s.Session(id).Images += imageSize
		}
		sums[parts[i][1]] += size - imageSize
		images += imageSize
	})
	for _, p := range parts {
		clean := ""
		if p[1] == Conversations {
			clean = "sessions"
		}
		s.Add(p[1], sums[p[1]], clean)
		delete(sums, p[1])
	}
	s.Add(Images, images, "images")
	return s, err
}

// walkFiles calls each for the regular files below root, in lexical order, with the names in their paths. It follows no
// link.
func walkFiles(ctx context.Context, root string, each func(names []string, path string, size int64)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ctx.Err() // unreadable files are skipped
		}
		info, err := d.Info()
		rel, errRel := filepath.Rel(root, path)
		if err == nil && errRel == nil {
			each(strings.Split(rel, string(filepath.Separator)), path, info.Size())
		}
		return ctx.Err()
	})
}

// owners find the session that a file belongs to.
type owners struct {
	sessions map[string]string // each id to itself, so that messages does not keep whole paths in memory
	messages map[string]string // the sessions of the messages seen so far: they are listed before their parts
}

// sessionOf returns the session of a file, "" for none.
func (o owners) sessionOf(names []string) string {
	last := strings.TrimSuffix(names[len(names)-1], ".json")
	for i, name := range names {
		id := strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".jsonl")
		if o.sessions[id] == "" && len(id) > uuidSize { // files may have more after the id, or before it
			if first, last := id[:uuidSize], id[len(id)-uuidSize:]; o.sessions[first] != "" {
				id = first
			} else {
				id = last
			}
		}
		if id = o.sessions[id]; id != "" {
			if i+1 < len(names) && strings.HasPrefix(last, "msg") {
				o.messages[strings.Clone(last)] = id
			}
			return id
		}
	}
	for _, name := range names {
		if id := o.messages[strings.TrimSuffix(name, ".json")]; id != "" {
			return id
		}
	}
	return ""
}

// Names of parts that all agents have.
const (
	Conversations = "conversations"
	Images        = "images in conversations"
)

const uuidSize = 36

// The sizes in bytes of the smallest record that contains an image, and of the largest file that is searched for images.
const (
	smallest        = 1000
	largestSearched = 1 << 30
)

// imageMarks occur in each line or row that contains an image.
var imageMarks = [][]byte{[]byte("data:image/"), []byte(`"media_type":"image/`)}

// imageBytes returns the total size of the lines in a file that contain an image; 0 if the file cannot be searched.
func imageBytes(path string) (total int64) {
	data, _ := ownfile.ReadPlain(path, largestSearched)
	for line := range bytes.Lines(data) {
		if slices.ContainsFunc(imageMarks, func(mark []byte) bool { return bytes.Contains(line, mark) }) {
			total += int64(len(line))
		}
	}
	return total
}

// FolderSize returns the total size in bytes of the files below a folder. It follows no link.
func FolderSize(path string) (total int64) {
	_ = walkFiles(context.Background(), path, func(_ []string, _ string, size int64) { total += size })
	return total
}
