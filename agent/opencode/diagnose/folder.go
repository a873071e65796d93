package diagnose

import (
	"fmt"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/repair"
	"mend/session"
)

// folderRule is the code of the rule that a session's folder exists.
const folderRule = "folder"

// What is in the place of a session's folder.
const (
	FolderMissing   = "does not exist on this machine"
	FolderIsFile    = "is a file and not a folder"
	FolderIsLink    = "is a link that leads to nothing"
	FolderOfWindows = "is a path of Windows, and this is another system"
)

// folder returns why the agent cannot use the session's folder.
func (e *Environment) folder(path string) string {
	if e.Folder == nil {
		return ""
	}
	return e.Folder(path)
}

// findFolder finds a session whose folder does not exist. That is latent, because folders of
// finished work are often deleted, and the session lives again when the folder is there. A
// path of Windows is broken: it kills the list of all sessions. For a version that does
// without the folder it is a note.
func findFolder(c *simulation) []fault {
	why := c.env.folder(c.s.Directory)
	if why == "" {
		return nil
	}
	severity := repair.Note
	switch {
	case !render.NeedsFolder(c.request.Version):
	case why == FolderOfWindows:
		severity = repair.Broken
	default:
		severity = repair.Latent
	}
	return []fault{{Code: folderRule, Class: MissingFolder, Ref: c.s.Info.Ref, Text: why, Severity: severity}}
}

// FindFolder is [Diagnose] for a session in which nothing but its folder can be missing. It
// reports false if there is a fix, which a diagnosis has to prove.
func FindFolder(s *record.Session, o repair.Options, e Environment) ([]repair.Diagnosis, bool) {
	c := &simulation{s: s, request: repair.Request{Options: o}, env: e}
	var all []repair.Diagnosis
	for _, f := range findFolder(c) {
		d := c.Describe(f)
		if d.WhyNot = c.whyNoFolder(f); d.WhyNot == "" {
			return nil, false
		}
		all = append(all, d)
	}
	return all, true
}

func whyFolder(c *simulation, f fault) string {
	return fmt.Sprintf("The session's folder %s %s. OpenCode 1.17.9 and later answer no prompt in a session without its folder (HTTP 500).", c.s.Directory, f.Text)
}

// whyNoFolder returns what the user can do about a missing folder; "" for other findings,
// and if there is a fix.
func (c *simulation) whyNoFolder(f fault) string {
	if f.Code != folderRule || f.Text == FolderOfWindows {
		return ""
	}
	make := "mkdir -p -- " + shellQuote(c.s.Directory)
	if f.Text != FolderMissing {
		make = "move away what is there, then " + make
	}
	return fmt.Sprintf("mend changes no path, because it cannot know the right one. Create the folder (%s) or mount its disk, then restart OpenCode. "+
		"To continue in another folder, run there: opencode export %[2]s > %[2]s.json && opencode import %[2]s.json", make, c.s.ID)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// folderFixes returns the fix of a path of another system, which cannot be created: the list of sessions
// fails on it, too.
func folderFixes(_ *record.Session, f fault) []fix {
	if f.Text != FolderOfWindows || f.Severity != repair.Broken {
		return nil
	}
	return []fix{{
		text:  "The path is emptied. OpenCode then uses the folder that it is started in.",
		loses: "The path of the session's folder.",
		whole: true,
		edit: func(d *draft) error {
			d.s.Info, d.s.Directory = d.s.Info.WithCol(session.TextCol("directory", "")), ""
			return nil
		},
	}}
}
