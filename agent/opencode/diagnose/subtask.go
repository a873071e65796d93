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

const notRun = "The subtask was not run, and OpenCode runs it before it answers the next prompt"

func whySubtask(_ *simulation, f finding) string { return notRun + ": " + f.Text + "." }

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
