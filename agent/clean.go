package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/ownfile"
)

// A CleanRequest says what is removed from a store to make room.
type CleanRequest struct {
	Events    bool                    // all events
	Snapshots bool                    // what is kept of the files of projects that have no session
	Sessions  []change.Head           // of List, with all that is theirs
	DryRun    bool                    // write nothing
	Progress  func(done, total int64) // in bytes; nil for nothing
	// Each is called with the plan for each session of a store that is in files, one after the other, so that only one
	// is in memory. With nil they are only counted.
	Each func(change.Plan) error
}

// Cleaned is a plan to remove something. Nothing is removed yet.
type Cleaned struct {
	Plans   []change.Plan    // of a database; none if there is nothing to remove
	Rows    map[string]int64 // or records, by table or kind
	Content int64            // bytes of them
	Shared  []string         // sessions that are shared
	Packed  int64            // bytes that undo needs beside the store; 0 if the journal has them
	Discard func() error     // removes what was made beside the store and no plan has taken; call it in any case
}

// RemoveFiles plans the removal of the sessions of a store that is in files. ops returns what removes one, none for one
// that goes with another.
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

// A Space is what takes the space of a store.
type Space struct {
	Parts    []SpacePart // that together are all of it
	Sessions map[string]*SessionSpace
}

// A SpacePart is one of the things that take space.
type SpacePart struct {
	Name  string `json:"part"` // in words
	Bytes int64  `json:"bytes"`
	// Clean is what a [CleanRequest] removes of it: "events", "sessions", "images" or "snapshots"; "" for nothing.
	Clean string `json:"clean,omitempty"`
}

// A SessionSpace is what one session takes, in bytes.
type SessionSpace struct {
	Conversation int64 // without images
	Images       int64 // records that contain images
	Events       int64
}

// Total returns what the session takes.
func (s *SessionSpace) Total() int64 { return s.Conversation + s.Images + s.Events }

// Add adds a part if it takes any space.
func (s *Space) Add(name string, n int64, clean string) {
	if n > 0 {
		s.Parts = append(s.Parts, SpacePart{name, n, clean})
	}
}

// Session returns the space of a session, to add to it.
func (s *Space) Session(id string) *SessionSpace {
	if s.Sessions == nil {
		s.Sessions = map[string]*SessionSpace{}
	}
	if s.Sessions[id] == nil {
		s.Sessions[id] = &SessionSpace{}
	}
	return s.Sessions[id]
}

// SpaceOf returns the space of a store that is in files: each folder below its root as a part of its name, and the
// files of each session. A file is of a session if it, or a folder that it is in, has the name of the session, or that
// of one of its messages. parts has pairs of a folder and its part; the last one, without folder, is that of all
// others.
func SpaceOf(ctx context.Context, of Reader, parts [][2]string) (s Space, err error) {
	root, o := of.ID().Root, owners{map[string]bool{}, map[string]string{}}
	heads, err := of.List(ctx)
	if err != nil {
		return s, err
	}
	for _, h := range heads {
		o.sessions[h.ID] = true
	}
	// Messages are named by their own files, and their parts by the messages.
	if err := walkFiles(ctx, root, func(names []string, _ string, _ int64) { o.of(names) }); err != nil {
		return s, err
	}
	sums, images := map[string]int64{}, int64(0)
	err = walkFiles(ctx, root, func(names []string, path string, size int64) {
		i := slices.IndexFunc(parts, func(p [2]string) bool { return p[0] == names[0] || p[0] == "" })
		id, has := o.of(names), int64(0)
		if id != "" {
			if strings.Contains(filepath.Ext(path), ".json") && size > smallest {
				has = imageBytes(path)
			}
			s.Session(id).Conversation += size - has
			s.Session(id).Images += has
		}
		sums[parts[i][1]] += size - has
		images += has
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

// walkFiles calls each for the regular files below root, with the names in their paths. It follows no link.
func walkFiles(ctx context.Context, root string, each func(names []string, path string, size int64)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ctx.Err() // what cannot be read
		}
		info, err := d.Info()
		rel, errRel := filepath.Rel(root, path)
		if err == nil && errRel == nil {
			each(strings.Split(rel, string(filepath.Separator)), path, info.Size())
		}
		return ctx.Err()
	})
}

// owners say of which session a file is.
type owners struct {
	sessions map[string]bool
	messages map[string]string // sessions of messages, as far as they were seen
}

// of returns the session of a file, "" for none.
func (o owners) of(names []string) string {
	last := strings.TrimSuffix(names[len(names)-1], ".json")
	for i, name := range names {
		id := strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".jsonl")
		if !o.sessions[id] && len(id) > uuidSize { // files may have more behind the id, or before it
			if first, last := id[:uuidSize], id[len(id)-uuidSize:]; o.sessions[first] {
				id = first
			} else {
				id = last
			}
		}
		if o.sessions[id] {
			if i+1 < len(names) && strings.HasPrefix(last, "msg") {
				o.messages[last] = id
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

// Names of parts that every agent has.
const (
	Conversations = "conversations"
	Images        = "images in conversations"
)

const (
	uuidSize = 36
	smallest = 1000 // bytes of a record that contains an image
)

// imageMarks are in each line or row that contains an image.
var imageMarks = [][]byte{[]byte("data:image/"), []byte(`"media_type":"image/`)}

// imageBytes returns how many bytes the lines of a file have that contain an image. It does not hold a line in memory.
func imageBytes(path string) (total int64) {
	f, err := ownfile.OpenPlain(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	const overlap = 32 // more than a mark has
	buf := make([]byte, overlap+256<<10)
	kept, line, has := 0, int64(0), false
	for {
		n, err := f.Read(buf[kept:])
		for rest := buf[:kept+n]; len(rest) > 0; {
			end := bytes.IndexByte(rest, '\n')
			piece := rest
			if end >= 0 {
				piece = rest[:end+1]
			}
			for _, mark := range imageMarks {
				has = has || bytes.Contains(piece, mark)
			}
			line += int64(len(piece) - kept)
			kept, rest = 0, rest[len(piece):]
			if end < 0 {
				kept = copy(buf, piece[max(0, len(piece)-overlap):])
				break
			}
			if has {
				total += line
			}
			line, has = 0, false
		}
		if err != nil || n == 0 && errors.Is(err, io.EOF) {
			break
		}
	}
	if has {
		total += line
	}
	return total
}

// FolderSize returns how many bytes the files below a folder have. It follows no link.
func FolderSize(path string) (total int64) {
	_ = walkFiles(context.Background(), path, func(_ []string, _ string, size int64) { total += size })
	return total
}
