package claude

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/git"
	"mend/internal/jsonedit"
	"mend/internal/place"
)

// isUnlisted reports whether Claude Code lists the session nowhere: it lists only the sessions of its working
// directory, and the session's folder does not exist. A transcript that was moved to the project of another folder is
// listed there.
func (s *store) isUnlisted(head change.Head) bool {
	dir := head.Directory
	if !filepath.IsAbs(dir) || head.Project != folderOf(dir) {
		return false
	}
	if known, ok := s.unlisted.Load(dir); ok {
		return known.(bool)
	}
	unlisted := place.Gone(dir) && (place.IsLocal(dir) || s.isLocal()) &&
		!slices.ContainsFunc(place.Siblings(dir), func(other string) bool { return folderOf(other) == folderOf(dir) })
	s.unlisted.Store(dir, unlisted)
	return unlisted
}

// isLocal reports whether the store belongs to Claude Code on this machine. Another store may be a copy from
// another machine.
func (s *store) isLocal() bool {
	found, err := Agent{}.Find()
	if err != nil || len(found) == 0 {
		return false
	}
	root, err := filepath.EvalSymlinks(found[0].Path)
	return err == nil && root == s.ID().Root
}

// Settings implements [agent.Store]: the findings depend on the folder of the session.
func (s *store) Settings(head change.Head) string {
	if s.isUnlisted(head) {
		return "no folder"
	}
	return ""
}

func (s *store) Refresh() {
	s.unlisted.Clear()
	s.commits.Store(nil)
	s.trees.Clear()
}

// SameRepository implements [agent.Store]: a repository matches if it has one of the newest commits of the session's
// repository, which Claude Code listed at the beginning of the transcript.
func (s *store) SameRepository(ctx context.Context, head change.Head, folder string) bool {
	repo, found, err := git.Find(folder)
	if err != nil || !found {
		return false
	}
	all := s.commits.Load()
	if all == nil {
		list := s.goneCommits(ctx)
		all = &list
		s.commits.Store(all)
	}
	own := (*all)[head.Directory]
	if len(own) == 0 {
		return false
	}
	matches, known := s.trees.Load(repo.Common)
	if !known {
		var hashes []string
		for _, commitsOfFolder := range *all {
			for hash := range commitsOfFolder {
				hashes = append(hashes, hash)
			}
		}
		commits, err := repo.Commits(ctx, hashes)
		if matches = commits; err == nil {
			s.trees.Store(repo.Common, commits)
		}
	}
	for hash, subject := range own {
		if slices.ContainsFunc(matches.(map[string][]string)[subject],
			func(whole string) bool { return strings.HasPrefix(whole, hash) }) {
			return true
		}
	}
	return false
}

// goneCommits returns, by missing folder, the commits that the folder's newest transcript lists: subjects by
// short hash.
func (s *store) goneCommits(ctx context.Context) map[string]map[string]string {
	newest := map[string]change.Head{}
	heads, err := s.List(ctx)
	if err != nil {
		return nil
	}
	for _, h := range heads {
		if h.Directory != "" && h.Updated >= newest[h.Directory].Updated {
			newest[h.Directory] = h
		}
	}
	all := map[string]map[string]string{}
	for folder, h := range newest {
		if ctx.Err() == nil && place.Gone(folder) {
			all[folder] = s.commitsOf(h)
		}
	}
	return all
}

// contextSize is the number of bytes at the beginning of a transcript that are searched for the session's context.
const contextSize = 256 << 10

// commitsOf returns the newest commits at the beginning of a session: subjects by short hash.
func (s *store) commitsOf(head change.Head) map[string]string {
	d, name, err := s.OpenFolder(head.Ref)
	if err != nil {
		return nil
	}
	defer d.Close()
	begin, _, _ := d.ReadEnds(name, contextSize, 0)
	for line := range bytes.Lines(begin) {
		if !bytes.Contains(line, []byte(`"gitStatus"`)) {
			continue
		}
		status := jsonedit.Parse(bytes.TrimSpace(line)).TextAt("attachment", "context", "gitStatus")
		if _, list, found := strings.Cut(status, "\nRecent commits:\n"); found {
			commits := map[string]string{}
			for commit := range strings.Lines(list) {
				if hash, subject, ok := strings.Cut(strings.TrimRight(commit, "\n"), " "); ok {
					commits[hash] = subject
				}
			}
			return commits
		}
	}
	return nil
}
