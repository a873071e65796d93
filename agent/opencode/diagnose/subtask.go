package diagnose

import (
	"slices"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// isSubtask reports whether the part is a subtask.
func (c *simulation) isSubtask(ref change.Ref) bool {
	_, p := c.part(ref)
	return p != nil && p.Type == "subtask"
}

// findSubtasks finds subtasks that the agent runs before it answers the next prompt, if
// nothing worse is known of one. Latent: whether their agents and models exist is unknown.
func findSubtasks(c *simulation) (fs []finding) {
	set := c.settings[own]
	all := c.render(set).Subtasks
	if slices.ContainsFunc(c.violations(set), func(v request.Violation) bool { return slices.Contains(all, firstRef(v.Refs)) }) {
		return nil
	}
	for _, ref := range all {
		fs = append(fs, finding{Ref: ref, Severity: repair.Latent})
	}
	return fs
}

const notRun = "The subtask was not run, and OpenCode runs it before it answers the next prompt"

func whySubtask(c *simulation, f finding) string {
	if f.Text != "" {
		return notRun + ": " + f.Text + "."
	}
	return notRun + ". It fails if the subtask's agent or model does not exist, or if the provider requires thinking before the call."
}

// fixSubtasks replaces all subtasks that were not run by their prompts.
func fixSubtasks(c *simulation, f finding) []repair.Fix {
	all := c.render(c.settings[own]).Subtasks
	if !slices.Contains(all, f.Ref) {
		all = append(slices.Clip(all), f.Ref)
	}
	return []repair.Fix{{
		Text:  "A text with the subtask's prompt replaces each subtask that was not run.",
		Loses: "The subtask, which is not run.",
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			for _, ref := range all {
				if err := d.replaceByText(ref, d.promptOf); err != nil {
					return err
				}
			}
			return nil
		}),
	}}
}

// promptOf returns the prompt of a subtask, or the placeholder if that is blank.
func (d *draft) promptOf(raw []byte) string {
	if text := textAt(raw, "prompt"); !request.IsBlank(text) {
		return text
	}
	return d.texts.Placeholder
}
