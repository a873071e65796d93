package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// Settings implements [repair.Case].
func (c *simulation) Settings() (all []repair.Setting) {
	for _, set := range c.settings {
		all = append(all, repair.Setting{Version: c.versionOf(set), Thinking: set.thinking})
	}
	return all
}

// Sent implements [repair.Case].
func (c *simulation) Sent(setting int) (request.Request, []request.Violation) {
	set := c.settings[setting]
	return c.render(set).Request, c.violations(set)
}

// versionOf returns the version that stands for a setting.
func (c *simulation) versionOf(set setting) string {
	switch {
	case render.Tested(c.request.Version) && set.profile == c.settings[own].profile:
		return c.request.Version
	case set.profile == render.ProfileFor(""):
		return render.NewestVerified
	}
	return set.profile.Version
}

// UnknownProvider implements [repair.Case].
func (c *simulation) UnknownProvider() string {
	q := c.render(c.settings[own])
	if q.Target.IsKnown(q.Model) {
		return ""
	}
	return q.Target.Package
}

// Window implements [repair.Case].
func (c *simulation) Window() int {
	if c.env.Window == nil {
		return 0
	}
	return c.env.Window(c.render(c.settings[own]).Model)
}

// Current implements [repair.Case].
func (c *simulation) Current() (request.Request, []request.Violation) { return c.Sent(own) }

// LastError implements [repair.Case].
func (c *simulation) LastError() []byte {
	if m := c.s.LatestAssistant(); m != nil && m.Failed {
		return m.Data
	}
	return nil
}

// ForkBefore implements [repair.Case].
func (c *simulation) ForkBefore(prompt change.Ref) string {
	i := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref == prompt })
	if i < 0 {
		return ""
	}
	s := *c.s
	s.Messages = s.Messages[:i]
	if len(c.withSession(&s).violations(c.settings[own])) > 0 {
		return ""
	}
	return fmt.Sprintf("To continue without it, fork the session before the prompt %s.", c.s.Messages[i].ID)
}
