package repairs

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/config"
	"mend/internal/culprit"
	"mend/internal/ownfile"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// repairRequest converts flags and settings to a [repair.Request]. It also returns the possible readings of
// an error's text.
func repairRequest(ctx context.Context, env *frame.Env, f repairFlags) (r repair.Request, readings []repair.APIError, err error) {
	r = repair.Request{Latent: f.latent, Force: f.Force, All: f.all, SetAside: f.setAside}
	path, _ := config.Path() // without a home folder there is no file; only texts are read from it here
	c, err := frame.LoadSettingsFrom(path, nil)
	if _, ok := errors.AsType[*config.ProblemError](err); err != nil && !ok { // status names the ignored settings
		return r, nil, err
	}
	r.Placeholder = c.Placeholder
	if r.Classes, err = frame.ParseClasses(env, f.classes); err != nil || !f.hasError() {
		return r, nil, err
	}
	text := f.errorText
	if text == nil {
		if text, err = readInput(ctx, env.Terminal, f.apiError); err != nil {
			return r, nil, frame.Usagef("reading the error text: %w", err)
		}
	}
	if strings.TrimSpace(string(text)) == "" {
		return r, nil, frame.Usagef("the error text is empty")
	}
	readings = culprit.Readings(env.Opt.Agents, text)
	r.Error = &readings[0]
	return r, readings, nil
}

// maxInput is the maximum size of an error text, in bytes.
const maxInput = 16 << 20

// readInput returns the value of a flag: the text itself, the content of @FILE, or standard
// input for "-".
func readInput(ctx context.Context, t *term.Terminal, value string) ([]byte, error) {
	if value == "-" {
		return term.Await(ctx, func() ([]byte, error) { return ownfile.ReadAtMost(t.In, maxInput) })
	}
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return []byte(value), nil
	}
	return term.Await(ctx, func() ([]byte, error) { // it may be a pipe, as with <(COMMAND)
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return ownfile.ReadAtMost(f, maxInput)
	})
}

// subjectWords describe errors without a class. The explanation of an unknown error says so itself.
var subjectWords = map[request.Subject]string{
	request.AboutUnclear: "not named by this text",
	request.AboutSession: "none that a repair can fix",
	request.AboutStore:   "none: it is about the agent's files, not one session",
	request.AboutOther:   "none: it is about another agent",
	request.AboutService: "none: it is not about a stored session",
}

// printAPIError prints the meaning of an error.
func printAPIError(env *frame.Env, e repair.APIError) {
	apiError := show.APIErrorJSON(e)
	env.SetAnswers(FixAnswer{APIError: &apiError})
	class := cmp.Or(string(e.Class), subjectWords[e.About])
	if e.Class == "" && e.About == request.AboutSession && e.Rule != "" {
		class = "rule " + e.Rule
	}
	env.Say("%s %s", term.Faint("Error:"), term.OneLine(strings.TrimPrefix(e.Text, "Error: "), 200))
	if e.Recognised || class != "" {
		env.Printf("%s %s", term.Faint("Class:"), class)
		if e.Index >= 0 {
			env.Printf(", at message %d of the request", e.Index)
		}
		env.Printf("\n")
	}
	if e.Explanation != "" {
		env.Say("%s", term.Escape(e.Explanation))
	}
	env.Printf("\n")
}
