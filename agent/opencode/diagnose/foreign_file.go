package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// This file finds and fixes files of other programs that the agent takes for records.

// findFiles finds the files beside the records. Their severity is simulated: the
// request with what the agent reads for them is compared with the request without.
func findFiles(c *simulation) []fault {
	if c.files == nil {
		found := c.newFiles()
		c.files = &found
	}
	return *c.files
}

func (c *simulation) newFiles() []fault {
	if len(c.s.Files) == 0 {
		return nil
	}
	use, worst := c.settings[own], repair.Broken
	if !use.profile.Tree() { // the version in use reads the tree once, to import it
		trees := slices.DeleteFunc(render.Profiles(), func(p render.Profile) bool { return !p.Tree() })
		use.profile, worst = trees[len(trees)-1], repair.Latent
	}
	fs := make([]fault, len(c.s.Files))
	var live []int
	fatal := c.fatalFiles(use)
	broken := c.brokenInPlace(use)
	for i := range c.s.Files {
		f := &c.s.Files[i]
		fs[i] = fault{Ref: f.Ref, Text: c.describeFile(f)}
		why, dies := fatal[f.Ref]
		switch there := f.Reads != (session.Ref{}); {
		case f.Opens == "" && f.Ref.Message == "":
			fs[i].Severity = worst
		case f.Opens == "" && broken[f.Ref.Message]:
			fs[i].Severity = worst
			fs[i].Text += " The message is broken, and the file prevents its repair."
		case f.Opens == "":
		case dies && there:
			fs[i].Severity = worst
			fs[i].Text += fmt.Sprintf(", and fails: %s.", why)
		case dies:
			fs[i].Severity = worst
			fs[i].Text += ", and fails."
		case there:
			live = append(live, i)
		default:
			fs[i].Severity = repair.Latent
			fs[i].Text += "; the next prompt does not read that far back."
		}
	}
	refused := c.refused(use, live)
	for _, i := range live {
		if fs[i].Text += "."; refused != nil {
			fs[i].Severity, fs[i].ShownCode = worst, refused.Rule
			fs[i].Text += " The provider then rejects the request: " + refused.Message
		}
	}
	return fs
}

// brokenInPlace returns the ids of the broken messages with a file in the place of their
// folder of parts.
func (c *simulation) brokenInPlace(use setting) map[string]bool {
	if len(c.inPlace) == 0 {
		return nil
	}
	broken := map[string]bool{}
	for _, v := range c.violations(use) {
		if use == c.settings[own] && c.severity(v) != repair.Broken {
			continue
		}
		for _, ref := range v.Refs {
			broken[ref.Message] = true
		}
	}
	return broken
}

// describeFile returns what the agent does with a file. There is no full stop if the
// agent opens one for it.
func (c *simulation) describeFile(f *record.File) string {
	kind := "parts"
	if f.Ref.Message == "" {
		kind = "messages"
	}
	switch {
	case f.Opens == "" && f.Ref.Message == "":
		return fmt.Sprintf("The file %s is in the place of the session's folder of messages, so OpenCode cannot store any.", shown(f.Path))
	case f.Opens == "":
		return fmt.Sprintf("The file %s is in the place of the message's folder of parts, so OpenCode reads none.", shown(f.Path))
	case f.Reads == (session.Ref{}):
		return fmt.Sprintf("OpenCode reads every file among the %s as one of them. For %s it opens %s, which does not exist", kind, shown(f.Path), shown(f.Opens))
	}
	return fmt.Sprintf("OpenCode reads every file among the %s as one of them. For %s it reads %s as one more", kind, shown(f.Path), shown(f.Opens))
}

// fatalFiles returns the files on which the agent fails, with the reason.
func (c *simulation) fatalFiles(use setting) map[session.Ref]string {
	fatal := map[session.Ref]string{}
	for _, v := range c.violationsWith(use, nil) {
		for _, ref := range v.Refs {
			if ref.Kind == session.KindFile && !isRule(v.Rule) {
				fatal[ref] = v.Message
			}
		}
	}
	return fatal
}

// refused returns what the provider refuses in a request with these files, nil if it
// refuses nothing more than without them.
func (c *simulation) refused(use setting, live []int) *request.Violation {
	if len(live) == 0 {
		return nil
	}
	was := map[string]int{}
	for _, v := range c.violations(use) {
		was[v.Rule]++
	}
	examined := make(map[session.Ref]bool, len(live))
	for _, i := range live {
		examined[c.s.Files[i].Ref] = true
	}
	for _, v := range c.violationsWith(use, func(f *record.File) bool { return examined[f.Ref] }) {
		if was[v.Rule]--; was[v.Rule] < 0 {
			return &v
		}
	}
	return nil
}

// violationsWith returns the violations of the request with what the agent reads for
// the files that keep accepts, or for all if keep is nil.
func (c *simulation) violationsWith(use setting, keep func(*record.File) bool) []request.Violation {
	is := new(render.Renderer).Read(render.WithFiles(c.s, keep))
	r := is.Render(render.Settings{Profile: use.profile, Model: c.request.Model, Now: c.now, Missing: c.env.Missing, Target: c.env.Target})
	return is.Check(ProviderOf(r), r, use.thinking)
}

func whyBeside(_ *simulation, f fault) string { return f.Text }

const asksForFiles = "mend repair --class " + string(ForeignFile)

// whyKept returns why the file is not moved, as a sentence; "" if it can be moved, or
// if ref is not a file.
func (c *simulation) whyKept(ref session.Ref) string {
	if ref.Kind != session.KindFile {
		return ""
	}
	if c.fileAt == nil {
		c.fileAt = make(map[session.Ref]int, len(c.s.Files))
		for i := range c.s.Files {
			c.fileAt[c.s.Files[i].Ref] = i
		}
	}
	i, ok := c.fileAt[ref]
	switch {
	case !ok:
		return ""
	case c.request.Unattended:
		return "This may be your own file, so only mend repair moves it, after asking."
	case c.s.Files[i].Locked == "":
		return ""
	}
	f := &c.s.Files[i]
	return fmt.Sprintf("mend cannot move it away and restore it later (%s). Move it out of the store by hand. In the store's folder, run: mv -- './%s' ~/", f.Locked, shown(f.Path))
}

// fixBeside returns the fix that moves the file away, with all others of the same
// severity.
func fixBeside(c *simulation, at fault) []fix {
	return []fix{{
		text:  "The file is moved into mend's journal. Undo restores it, and mend gc never deletes it.",
		whole: true,
		edit: func(d *draft) error {
			away := map[session.Ref]bool{}
			for _, f := range findFiles(c) {
				away[f.Ref] = cmp.Or(f.Severity, repair.Note) == at.Severity && c.whyKept(f.Ref) == ""
			}
			d.s.Files = slices.DeleteFunc(slices.Clone(d.s.Files), func(f record.File) bool { return away[f.Ref] })
			return nil
		},
	}}
}

// shown returns a path with unprintable characters escaped as in a Go string.
func shown(path string) string {
	quoted := strconv.Quote(path)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], "\ufffd", `\ufffd`)
}
