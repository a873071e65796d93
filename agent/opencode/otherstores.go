package opencode

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/change"
)

// OtherStores implements [agent.Reader]. It returns the tree that OpenCode 1.1 wrote, which 1.18 no longer imports, and
// the databases of other channels or names in the same folder.
func (s *store) OtherStores(ctx context.Context, have map[string]bool) (all []agent.OtherStore, err error) {
	if s.tree != nil {
		return nil, nil
	}
	dir := filepath.Dir(s.ID().Root)
	for _, path := range append(s.databases().Others(dir), filepath.Join(dir, s.name+".db")) {
		if path == s.ID().Root || !hasDatabase(s.program, path) {
			continue
		}
		one := agent.OtherStore{Path: path, Sessions: map[string]bool{}}
		var heads []change.Head
		db, err := database.Open(path, database.Options{Program: s.databases()})
		if err == nil {
			heads, err = db.List(ctx)
		}
		for _, h := range heads {
			if h.ID != "" && !have[h.ID] {
				one.Sessions[h.ID] = true
			}
		}
		if one.Err = err; err != nil || len(one.Sessions) > 0 {
			all = append(all, one)
		}
	}
	if former := s.Former(); former != "" {
		one := agent.OtherStore{Path: former, Sessions: map[string]bool{}}
		projects, err := os.ReadDir(filepath.Join(former, "session"))
		for _, p := range projects {
			files, _ := os.ReadDir(filepath.Join(former, "session", p.Name())) // only a folder has entries
			for _, f := range files {
				if id, ok := strings.CutSuffix(f.Name(), ".json"); ok && !have[id] {
					one.Sessions[id] = true
				}
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			one.Err = err
		}
		if one.Err != nil || len(one.Sessions) > 0 {
			all = append(all, one)
		}
	}
	return all, ctx.Err()
}

// Adopt implements [agent.Reader]. Files of a tree become the rows that the migration of OpenCode 1.2 would make.
func (s *store) Adopt(ctx context.Context, copied *agent.Copy) ([]change.Op, error) {
	db, ok := s.records.(*database.Store)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	records := copied.Records
	if slices.ContainsFunc(records, func(r change.Record) bool { return r.Mode != 0 }) {
		var err error
		var lost []string
		if records, lost, err = db.RowsOf(ctx, records); err != nil {
			return nil, err
		}
		copied.Unread = append(copied.Unread, lost...)
	}
	ops := make([]change.Op, len(records))
	for i := range records {
		ops[i] = change.Op{Ref: records[i].Ref, Post: change.ImageOf(&records[i])}
	}
	return ops, nil
}
