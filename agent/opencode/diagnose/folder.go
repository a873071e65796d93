package diagnose

import (
	"fmt"
	"strings"

	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/repair"
)

// folderRule is the code of the rule that a session's folder must exist.
const folderRule = "folder"

// The possible problems of a session's folder.
const (
	FolderMissing   = "does not exist on this machine"
	FolderIsFile    = "is a file and not a folder"
	FolderIsLink    = "is a link that leads to nothing"
	FolderOfWindows = "is a path of Windows, and this is another system"

	folderRelative = "is not an absolute path" // of a workspace
)

// findFolder finds a session without its folder: the agent answers no prompt in it. For a version that does not need
// the folder the finding is latent. A session with a workspace does not need its own folder: the agent works in the
// workspace's folder.
func findFolder(c *simulation) []finding {
	path, _ := c.folder()
	why := c.env.Folder(path)
	if c.s.InWorkspace && path != "" && (why == FolderOfWindows || !schema.IsAbsolute(path)) {
		why = folderRelative
	}
	if why == "" {
		return nil
	}
	severity := repair.Broken
	if !render.NeedsFolder(c.request.Version) {
		severity = repair.Latent
	}
	return []finding{{Code: folderRule, Class: repair.MissingFolder, Ref: c.s.Info.Ref, Text: why, Severity: severity}}
}

// folder returns the path of the folder where the agent works in the session, and a name for the folder.
func (c *simulation) folder() (path, name string) {
	if c.s.InWorkspace {
		return c.s.Workspace, "folder of the session's workspace"
	}
	return c.s.Directory, "session's folder"
}

func whyFolder(c *simulation, f finding) string {
	path, name := c.folder()
	return fmt.Sprintf("The %s %s %s. OpenCode 1.17.9 and later answer no prompt in a session without its folder (HTTP "+
		"500).", name, path, f.Text)
}

// whyNoFolder explains what the user can do about a missing folder; "" for other findings, and if there is a fix.
func (c *simulation) whyNoFolder(f finding) string {
	if _, certain := c.newFolder(f); f.Code != folderRule || f.Text == FolderOfWindows || certain {
		return ""
	}
	path, _ := c.folder()
	if f.Text == folderRelative {
		return "mend cannot know the right path."
	}
	if c.s.InWorkspace {
		return "Where it is now is not known. If the folder was deleted, create it: " + makeFolder(f, path)
	}
	to := "NEW"
	if all, _ := c.env.Places(); len(all) > 0 {
		to = shellQuote(all[0])
	}
	return fmt.Sprintf("Where it is now is not certain. If it was moved or renamed: mend move %s %s. If it was deleted, "+
		"create it (%s); if it is on another disk, mount that; then restart OpenCode.", shellQuote(path), to,
		makeFolder(f, path))
}

// makeFolder returns the command that makes a folder.
func makeFolder(f finding, path string) string {
	command := "mkdir -p -- " + shellQuote(path)
	if f.Text != FolderMissing {
		command = "move away what is there, then " + command
	}
	return command
}

// newFolder returns the new folder of a session that works in its own folder, if it is certain.
func (c *simulation) newFolder(f finding) (string, bool) {
	if f.Code != folderRule || c.s.InWorkspace || f.Text == FolderOfWindows || !c.s.Info.IsRow() {
		return "", false
	}
	all, certain := c.env.Places()
	if !certain {
		return "", false
	}
	return all[0], true
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fixFolder returns the fix of a folder whose new location is certain, or of a path of another system. No folder here
// can have such a path, which also makes the list of sessions fail.
func fixFolder(c *simulation, f finding) []repair.Fix {
	to, certain := c.newFolder(f)
	if !certain && f.Text != FolderOfWindows {
		return nil
	}
	text, loses := "The path is emptied. OpenCode then uses the folder that it is started in.", "The path of the session's "+
		"folder."
	if certain {
		text, loses = "The session belongs to "+to+" from now on, the one folder of the same repository. mend move does "+
			"that for all sessions of the old one.", ""
	}
	return infoFix(text, loses, func(r change.Record) (change.Record, error) {
		return r.WithCol(change.TextCol("directory", to)), nil
	})
}
