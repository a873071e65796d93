package diagnose

import "mend/change"

func (c *simulation) isSubtask(ref change.Ref) bool {
	_, p := c.part(ref)
	return p != nil && p.Type == "subtask"
}

const notRun = "The subtask was not run, and OpenCode runs it before it answers the next prompt"

func whySubtask(_ *simulation, f finding) string { return notRun + ": " + f.Text + "." }
