package live

import (
	"time"

	"mend/change"
)

// maxRounds is how many answers in a row may bring a turn no nearer to its end before mend
// looks for the reason in the store for the first time.
const maxRounds = 3

// A turnState is what [countRounds] knows of the turn of a session.
type turnState struct {
	prompt  string  // the id of the newest prompt; "" if it is unknown
	created float64 // when that was created
	last    string  // the id of the last answer
	parent  string  // the prompt that it answers
	ended   bool    // it should have ended the turn
	rounds  int     // answers in a row that bring the turn no nearer to its end
}

// countRounds is the policy for a turn that does not end, because a message dated in the
// future sorts after the prompt or after its answers. It takes a message that the agent
// reports, and reports whether the store should be looked at. An answer counts if it answers
// another prompt than the newest, or if the one before it should have ended the turn.
func countRounds(s turnState, m Info, now time.Time) (turnState, bool) {
	if m.Role == change.RoleUser {
		if m.ID != s.prompt && m.Time.Created >= s.created && !m.Created().After(now) {
			s = turnState{prompt: m.ID, created: m.Time.Created}
		}
		return s, false
	}
	finish, _ := m.Finish.(string)
	if m.Role != change.RoleAssistant || finish == "" || m.HasError() || m.Summary == true || m.ID == s.last {
		return s, false
	}
	if s.prompt != "" && m.ParentID != s.prompt || s.ended && m.ParentID == s.parent {
		s.rounds++
	} else {
		s.rounds = 0
	}
	s.last, s.parent, s.ended = m.ID, m.ParentID, finish != "tool-calls" && finish != "unknown"
	n := s.rounds / maxRounds
	return s, n > 0 && s.rounds%maxRounds == 0 && n&(n-1) == 0 // after 3, 6, 12, … rounds
}
