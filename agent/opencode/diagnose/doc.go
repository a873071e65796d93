// Package diagnose finds what is wrong with a session of OpenCode and how that is fixed.
// It is the [repair.State] of that agent: the requests that the agent will send are
// simulated, and the fixes edit a copy of the session. It reads values and returns values.
//
// # How a fault is found
//
// By simulation: package render makes the requests that the agent will send, as
// the version in use sends them, and where something is wrong as a fix must hold, and
// tells which of the provider's rules they break and at which record. Few faults
// are not seen that way and have a finder of their own ([rows]).
//
// How bad a fault is depends on who reads the store: [repair.Broken] is refused, or ends
// the agent, in the setting in use (the agent's version, thinking or not);
// [repair.Latent] is so in another one, or is stuck on the screen; a [repair.Note] is untidy.
// The rules are those of the provider that is asked next.
//
// # How a fault of the records is fixed
//
// What the provider refuses is fixed by the engine, see package repair.
//
//	rule             is about                          fixed by, the first that holds       loses
//	R12, R16, clock  ids from before the clock's wrap  ids in the order of time             the ids
//	unreadable       damaged records                   what can be read, and defaults       what cannot be read
//	field, screen    missing fields, or wrong types    the session's value, or a neutral    a value of a wrong type
//	beside, order, nothing, name, session, no-session, unlisted, stray, hidden, place, unavailable: see [rows]
//
// # What a fix never does
//
// It writes no signature and no thinking. It does not touch the thinking of the
// newest answer while its tool loop is open, nor the newest answer of a session
// in which the agent is at work ([WhyBusy]), nor any message of which something
// cannot be read. What it injects is marked synthetic.
package diagnose
