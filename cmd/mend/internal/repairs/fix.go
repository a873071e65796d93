// Package repairs has the verbs fix, undo and log.
//
// It may import change, cmd/mend/internal/agents, cmd/mend/internal/frame, cmd/mend/internal/show, internal/config,
// internal/culprit, internal/fail, internal/mend, internal/ownfile, internal/request, internal/term, internal/termjson,
// journal and repair. Read runRepair and runUndo first.
package repairs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/term"
	"mend/repair"
)

// Fix returns the verb fix.
func Fix(env *frame.Env, finish Finish) *cobra.Command {
	f := repairFlags{finish: &finish}
	cmd := &cobra.Command{
		Use:     "fix [SESSION|ERROR TEXT...]",
		Aliases: []string{"repair"}, // its former name
		Short:   "Repair all broken sessions, one session, or the cause of an error",
		Long: `Fix plans the smallest change that repairs a session, tests it on a copy, shows it, asks,
writes it to the journal, and applies it: all or nothing. Without a terminal, and with
--json, fix changes a session only with --yes.

Without SESSION, fix repairs every broken session; on a terminal it also moves sessions whose
folder is gone. Damaged databases are salvaged first. It shows all repairs, and asks once; to
repair only some sessions, name them one by one. If nothing is broken, fix asks for the error
that you see. SESSION is an id, the start of one, a title or a part of it, . for the newest
session of this folder, or @ for the newest of all.

Or paste the error that the agent shows, as it is, or describe what happened: fix finds the
session whose next request causes the error, or tells you what helps instead. On a command
line, put the text between single quotes, because the shell would run text between backticks.
With - fix reads standard input, with @FILE a file.

Fix chooses a session itself only if the text has its id, if the error names a position and
only one session is broken there, or if the newest session of this folder failed with this
error, such as one about signatures of thinking. Otherwise fix asks; without a terminal it
lists the sessions and exits with 5. If none matches, fix offers the broken ones, or asks
what happened and offers the commands that help.

With SESSION, --error TEXT also repairs what that error names. The provider names one bad
signature per error. To remove all of them at once, use --all, or run fix again with the
second such error.

` + setAsideHelp,
		Example: "  mend fix                                   all broken sessions: show, ask, repair\n" +
			"  mend fix \"dark mode\"                       the session with this in its title\n" +
			"  mend fix . --dry-run -p                    what would change in the newest session of this folder\n" +
			"  mend fix 'my sessions are gone after the update'\n" +
			"  pbpaste | mend fix - --yes                 the text from the clipboard, without a question",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			var names []string
			switch text := strings.Join(words, " "); {
			case len(words) == 0:
			case strings.TrimSpace(text) == "":
				return frame.Usagef("the error text is empty")
			case cmd.CalledAs() == "repair" || text == "@" || f.apiError != "" || f.hasFilter() && namesSession(cmd.Context(), env, text):
				names = []string{text}
			case text == "." && !namesSession(cmd.Context(), env, text): // nor is it an error
				names = []string{text}
			default:
				f.apiError = text
			}
			switch {
			case f.all && f.apiError == "":
				return frame.Usagef("--all needs --error, or the text of an error")
			case f.setAside && len(words) == 0 && f.apiError == "":
				return frame.Usagef("--set-aside needs a session")
			case f.apiError != "" && !f.All():
				return frame.Usagef("--here and --since cannot be combined with a session or an error")
			}
			f.asksError = len(words) == 0 && f.repairs()
			return runRepair(cmd.Context(), env, names, f)
		},
	}
	addRepairFlags(env, cmd, &f)
	return cmd
}

// A FixAnswer is the answer of fix, which repairs, restores, moves, or shows other help.
type FixAnswer struct {
	APIError   *show.APIErrorAnswer `json:"apiError,omitempty"`
	Culprit    *culpritAnswer       `json:"culprit,omitempty"`    // the session that the error came from
	Candidates []culpritAnswer      `json:"candidates,omitempty"` // possible sessions of the error
	Ways       []way                `json:"ways,omitempty"`       // the ways to lose a conversation that may apply, with the commands that help
	Repairs    []show.RepairJSON    `json:"repairs,omitempty"`
	Restore    *show.RestoreJSON    `json:"restore,omitempty"`
	Sessions   []any                `json:"sessions,omitempty"` // as in the answers of restore, move or salvage
	Folders    []show.GoneJSON      `json:"folders,omitempty"`
	Folder     string               `json:"folder,omitempty"`
	To         string               `json:"to,omitempty"`
	Next       string               `json:"next,omitempty"` // the command that helps
	*show.SalvageParts
	frame.ContinueAnswer
}

// hasFilter reports whether flags select the repairs of the named session. Otherwise fix also restores that
// session.
func (f *repairFlags) hasFilter() bool { return f.latent || f.setAside || len(f.classes) > 0 }

// namesSession reports whether a text is the name of a session rather than an error.
func namesSession(ctx context.Context, env *frame.Env, text string) bool {
	if text == "-" || strings.HasPrefix(text, "@") || slices.ContainsFunc(culprit.Readings(env.Opt.Agents, []byte(text)), func(e repair.APIError) bool { return e.Recognised }) {
		return false
	}
	all, _, _ := frame.NamedSessions(ctx, env, frame.Sources{})
	return frame.IsSession(all, text)
}

// askForError reads the text of an error from the user, up to a blank line or the end of the input. If mend knows no
// error in the text up to the first blank line, it says so and reads up to the next one.
func askForError(ctx context.Context, env *frame.Env) ([]byte, error) {
	t := env.Terminal
	if !t.CanAsk {
		return nil, frame.Usagef(`fix needs the error text: mend fix 'TEXT', or mend fix - to read standard input`)
	}
	t.PrintErr("Paste the error, then press Enter on an empty line:\n")
	asked := false
	text, err := term.Await(ctx, func() ([]byte, error) {
		return readText(t.Input(), func(text []byte) bool {
			readings := culprit.Readings(env.Opt.Agents, text)
			known := asked || sessionID().Match(text) || findWay(readings) != nil || slices.ContainsFunc(readings, func(e repair.APIError) bool { return e.Recognised })
			if asked = true; !known {
				t.PrintErr("mend knows no error in this text. Paste the rest, or press Enter again:\n")
			}
			return known
		})
	})
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, term.ErrDeclined
	}
	t.DiscardTyped()
	return text, nil
}

// readText reads lines up to a blank line at which whole reports that the text is complete.
func readText(r *bufio.Reader, whole func(text []byte) bool) ([]byte, error) {
	var text []byte
	for {
		line, err := r.ReadString('\n')
		if strings.TrimSpace(line) == "" && strings.TrimSpace(string(text)) != "" && err == nil && whole(text) {
			return text, nil
		}
		text = append(text, line...)
		switch {
		case len(text) > maxInput:
			return nil, fmt.Errorf("longer than %d bytes", maxInput)
		case errors.Is(err, io.EOF):
			return []byte(strings.TrimSpace(string(text))), nil
		case err != nil:
			return nil, err
		}
	}
}
