package diagnose

import (
	"fmt"
	"strings"

	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/repair"
)

// folderRule is the code of the rule that a session's folder exists.
const folderRule = "folder"

// What is in the place of a session's folder.
const (
	FolderMissing   = "does not exist on this machine"
	FolderIsFile    = "is a file and not a folder"
	FolderIsLink    = "is a link that leads to nothing"
	FolderOfWindows = "is a path of Windows, and this is another system"

	folderRelative = "is not an absolute path" // of a workspace
)

// findFolder finds a session whose folder does not exist: the agent answers no prompt in it. For
// a version that does without the folder it is latent. The agent works in the folder of the
// session's workspace, if there is one: then the session's own need not exist.
func findFolder(c *simulation) []finding {
	path, _ := c.folder()
	why := c.env.Folder(path)
	if path != c.s.Directory && (why == FolderOfWindows || !schema.IsAbsolute(path)) {
		why = folderRelative
	}
	if why == "" {
		return nil
	}
	severity := repair.Broken
	if !render.NeedsFolder(c.request.Version) {
		severity = repair.Latent
	}
	return []finding{{Code: folderRule, Class: MissingFolder, Ref: c.s.Info.Ref, Text: why, Severity: severity}}
}

// folder returns the path of the folder in which the agent works in the session, and what it
// is.
func (c *simulation) folder() (path, name string) {
	if c.s.Workspace != "" {
		return c.s.Workspace, "folder of the session's workspace"
	}
	return c.s.Directory, "session's folder"
}

func whyFolder(c *simulation, f finding) string {
	path, name := c.folder()
	return fmt.Sprintf("The %s %s %s. OpenCode 1.17.9 and later answer no prompt in a session without its folder (HTTP 500).", name, path, f.Text)
}

// whyNoFolder returns what the user can do about a missing folder; "" for other findings,
// and if there is a fix.
func (c *simulation) whyNoFolder(f finding) string {
	if f.Code != folderRule || f.Text == FolderOfWindows || c.canLeave() {
		return ""
	}
	path, _ := c.folder()
	if f.Text == folderRelative {
		return "mend changes no path, because it cannot know the right one. If the session's own folder exists, mend repair takes the session out of its workspace."
	}
	make := "mkdir -p -- " + shellQuote(path)
	if f.Text != FolderMissing {
		make = "move away what is there, then " + make
	}
	advice := fmt.Sprintf("mend changes no path, because it cannot know the right one. If the folder was deleted, create it (%s), if it is on another disk, mount that; then restart OpenCode.", make)
	if path != c.s.Directory {
		return advice + " If the session's own folder exists, mend repair takes the session out of its workspace."
	}
	return advice + fmt.Sprintf(" If it was moved or renamed, run in its new place: opencode export %[1]s > %[1]s.json && opencode import %[1]s.json", c.s.ID)
}

// canLeave reports whether the session is in a workspace and could work in its own folder.
func (c *simulation) canLeave() bool {
	return c.s.Workspace != "" && schema.IsAbsolute(c.s.Directory) && c.env.Folder(c.s.Directory) == ""
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fixFolder returns the fix of a path of another system, which cannot be created: the list of
// sessions fails on it, too. A session whose workspace has no folder leaves it if its own
// folder exists.
func fixFolder(c *simulation, f finding) []repair.Fix {
	if c.canLeave() {
		return []repair.Fix{{
			Text:  "The session leaves its workspace. OpenCode then works in " + c.s.Directory + ".",
			Loses: "The session's workspace.",
			Whole: true,
			Edit: draftEdit(func(d *draft) error {
				d.s.Info, d.s.Workspace = d.s.Info.WithCol(change.Col{Name: "workspace_id", Class: change.ClassNull}), ""
				return nil
			}),
		}}
	}
	if f.Text != FolderOfWindows {
		return nil
	}
	return []repair.Fix{{
		Text:  "The path is emptied. OpenCode then uses the folder that it is started in.",
		Loses: "The path of the session's folder.",
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			d.s.Info, d.s.Directory = d.s.Info.WithCol(change.TextCol("directory", "")), ""
			return nil
		}),
	}}
}
