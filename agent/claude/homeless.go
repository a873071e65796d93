package claude

import (
	"path/filepath"
	"slices"

	"mend/change"
	"mend/internal/place"
)

// isHomeless reports whether the folder of a session is gone, so that the program lists the session nowhere: it
// lists those of the folder in which it is started. One whose transcript was put into the folder of projects of
// another folder is listed there.
func (s *store) isHomeless(head change.Head) bool {
	dir := head.Directory
	if !filepath.IsAbs(dir) || head.Project != projectID(folderOf(dir)) {
		return false
	}
	if known, ok := s.homeless.Load(dir); ok {
		return known.(bool)
	}
	gone := place.Gone(dir) && (place.IsLocal(dir) || s.isHere()) &&
		!slices.ContainsFunc(place.Beside(dir), func(other string) bool { return folderOf(other) == folderOf(dir) })
	s.homeless.Store(dir, gone)
	return gone
}

// isHere reports whether the store is that of the program on this machine. Another one may be a copy from
// another machine.
func (s *store) isHere() bool {
	found, err := Agent{}.Find("")
	if err != nil || len(found) == 0 {
		return false
	}
	root, err := filepath.EvalSymlinks(found[0].Path)
	return err == nil && root == s.ID().Root
}

// Settings implements [agent.Store]: what is found depends on the folder of the session.
func (s *store) Settings(head change.Head) string {
	if s.isHomeless(head) {
		return "no folder"
	}
	return ""
}

// Refresh implements [agent.Store].
func (s *store) Refresh() { s.homeless.Clear() }
