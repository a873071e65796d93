package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mend/agent"
	"mend/agent/claude/diagnose"
	"mend/agent/claude/transcript"
	"mend/agent/sessionfile"
	"mend/change"
	"mend/internal/ownfile"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/repair"
)

// Transcripts is the layout of every store of Claude Code.
const Transcripts = "transcripts"

// projects is the folder of the transcripts, below the root of a store.
const projects = "projects"

// Agent is Claude Code.
type Agent struct {
	agent.BaseAgent

	// Except has processes that do not count as users of a session, such as one that waits for mend.
	Except []int
	Step   func(call string) error // as in [sessionfile.Options]
}

var _ agent.Agent = Agent{}

// Name implements [agent.Agent].
func (Agent) Name() string { return "claude" }

// Title implements [agent.Agent].
func (Agent) Title() string { return "Claude Code" }

// Resume implements [agent.Agent].
func (Agent) Resume(id string) []string { return []string{"claude", "--resume", id} }

// Reload implements [agent.Agent].
func (Agent) Reload(id string) string { return "type /resume " + id + " there" }

// ParseAPIError implements [agent.Agent].
func (Agent) ParseAPIError(input []byte) request.APIError { return diagnose.ParseAPIError(input) }

// Guide implements [agent.Agent].
func (Agent) Guide() repair.Guide { return diagnose.Guide() }

// home is the folder of Claude Code.
var home = sessionfile.Home{
	Title: Agent{}.Title(), Layout: Transcripts, Variable: variable, Folder: folder, Marker: projects,
	Sessions: []string{projects}, IsHome: hasProjects,
}

// StoreFolders implements [agent.FolderStore].
func (Agent) StoreFolders(root string) []string { return home.Folders(root) }

// Find implements [agent.Agent].
func (Agent) Find() ([]agent.Located, error) { return home.Find() }

// hasProjects reports whether the folder has projects. The error means that this cannot be determined.
func hasProjects(root string) (bool, error) {
	dir := filepath.Join(root, projects)
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, _ := filepath.EvalSymlinks(dir)
		advice := "move its target to its place"
		if filepath.Base(target) == projects {
			advice = "name the folder of its target with --store " + ownfile.Quote(filepath.Dir(target))
		}
		return false, &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w to %s, which Claude Code follows and "+
			"mend does not: %s", agent.ErrLink, target, advice)}
	}
	return err == nil && info.IsDir(), nil
}

// Open implements [agent.Agent]. A path may lead to the root, to anything below its projects, or to the prompt
// history.
func (a Agent) Open(at agent.Located, warn func(string)) (agent.Store, error) {
	if isHistory(at.Path) {
		return openHistory(at.Path), nil
	}
	root, err := home.Root(at)
	if err != nil {
		return nil, err
	}
	s := &store{Versions: diagnose.Versions, except: a.Except, Cases: cases}
	s.NewCase = func(head change.Head, r repair.Request) (*repair.Case, change.Stamp, error) {
		return s.newCase(head, r, 0)
	}
	s.Store, err = sessionfile.New(root, &layout{}, sessionfile.Options{
		Note: warn, Head: headAt, Step: a.Step,
		InUse: func(p string) string { return s.whyBusy(change.Head{ID: locate(p)}, 0) },
	})
	return s, err
}

// cases has what the cases of all stores share.
var cases = agent.Cases{
	Version: transcript.Version, Provider: anthropic.Provider{}.Name(),
	Place: agent.Place{Turn: "messages.%d", Block: "content.%d"}, // as the provider's errors number them
}
