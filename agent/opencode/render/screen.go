package render

import (
	"mend/agent/opencode/schema"
	"mend/session"
)

// FatalScreen is the code of a record that the agent's screen cannot show.
const FatalScreen = "screen"

// Screen lists the records for which the agent cannot show the session: its
// server refuses to list any message of it, with status 400 or 500, while a
// prompt may well go through (docs/opencode.md F12, F13, F15). From
// some version on every record must have exactly the form that the agent itself
// writes; a kind of part that it does not know is enough. A message is judged once,
// and so is what is stored beside a record that cannot be read.
func (is *Reading) Screen(p Profile) []Fatal {
	var all []Fatal
	for _, m := range is.all {
		all = append(all, m.broken...)
		if !p.Strict {
			continue
		}
		if !m.screened {
			m.screened, m.screen = true, m.unfit()
		}
		all = append(all, m.screen...)
	}
	return all
}

// unfit are the records of a message that have not the form which is wanted.
func (m *message) unfit() (all []Fatal) {
	add := func(ref session.Ref, why string) {
		if why != "" {
			all = append(all, Fatal{FatalScreen, why, ref})
		}
	}
	if m.body.Exists() {
		add(m.ref, schema.CheckMessage(m.id, m.body))
	}
	for _, part := range m.parts {
		add(part.ref, schema.CheckPart(part.id, part.body))
	}
	return all
}
