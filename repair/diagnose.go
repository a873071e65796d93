package repair

import (
	"time"

	"mend/session"
)

// A Diagnosis is one fault of a session. Why, Cure, Loses and WhyNot are each a
// sentence for a person.
type Diagnosis struct {
	Class    Class
	Severity Severity
	Ref      session.Ref // the record at fault: a part, or a message for a fault of the whole message
	Message  string      // the id of the message that it is about, "" for none
	Why      string
	Cure     string // what a repair does about it; "" where it does nothing
	Loses    string // what the user loses by the cure; "" for nothing
	WhyNot   string // where Cure is "": the reason, and what the user can do
}

// Options is what a diagnosis needs to know besides the session.
type Options struct {
	Now     time.Time // decides with Held whether the session is busy, and nothing else
	Held    bool      // another process holds the store
	Version string    // of the agent that will read the store, such as "1.1.53"; "" if unknown
}

// A Rule looks for one class of faults, and knows its cures.
type Rule struct {
	Class Class
	// Asked says that the class is looked for only where it is asked for, by
	// name or by an API error: the records alone do not show it.
	Asked bool

	find func(exam) []finding
}

// Rules are all rules, in the order in which their cures are tried on a message:
// a rule may rely on those above it.
var Rules = []Rule{
	{Class: ToolResultMissing, find: findMissingResults},
	{Class: ThinkingBlockOrder, find: findThinkingOrder},
	{Class: ThinkingDisabledViolation, Asked: true, find: findThinking},
	{Class: EmptyContentMessage, find: findEmptyContent},
	{Class: UnreadableRecord, find: findUnreadable},
}

// Diagnose tells what is wrong with a session, message by message, each with the
// cure that holds: it was tried on a copy. The newest answer of a busy session
// is not looked at, since the agent still writes it.
func Diagnose(s *session.Session, o Options) []Diagnosis {
	return newChart(s, o, false).diagnose()
}

func (c *chart) diagnose() []Diagnosis {
	ds := c.ownRecord()
	for i := range c.s.Messages {
		ds = append(ds, c.prospects(i)...)
	}
	return ds
}

// prospects is what is wrong with message i, each with what would become of it
// if all of it were treated.
func (c *chart) prospects(i int) []Diagnosis {
	found := c.look(i, &c.s.Messages[i])
	if len(found) == 0 {
		return nil
	}
	cured, failed := c.treat(i, func(Diagnosis) bool { return true })
	told := map[key]Diagnosis{}
	for _, d := range append(cured, failed...) {
		told[d.key()] = d
	}
	ds := make([]Diagnosis, len(found))
	for j, f := range found {
		ds[j] = told[f.key()]
	}
	return ds
}
