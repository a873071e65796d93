// Package diagnose finds the problems of a session of OpenCode and their fixes. It implements [repair.State] for that
// agent: it simulates the requests that the agent will send, and the fixes edit a copy of the session.
//
// It does no I/O. It may import agent/opencode/js, agent/opencode/record, agent/opencode/render, agent/opencode/schema,
// change, internal/jsonedit, internal/media, internal/provider, internal/provider/anthropic, internal/provider/bedrock,
// internal/provider/chat, internal/provider/gemini, internal/provider/openai, internal/request and repair.
// Read [New] and simulation.Faults first.
//
// # How a problem is found
//
// The agent is simulated: package render makes the requests that the version in use sends, and after a finding also
// the requests of the other settings where a fix must hold. The rules of the provider then show the violations and
// their records. A few problems are not visible that way and have a finder of their own ([rows]).
//
// The severity of a problem depends on the setting in use (the agent's version, and thinking). There a
// [repair.Broken] problem is refused, or stops the agent. A [repair.Latent] problem does so in another setting, or is
// shown as running. A [repair.Lost] problem is missing content that the agent does not report. A [repair.Note] is
// harmless. The next request's provider determines the rules.
//
// # How a problem of the records is fixed
//
// The engine fixes violations of the provider's rules, see package repair.
//
//	rule             is about                          fixed by, the first that is valid    loses
//	R12, R16, clock  ids from before the clock's wrap  ids in the order of time             the ids
//	unreadable       damaged records                   what can be read, and defaults       what cannot be read
//	field, screen    missing fields                    the session's or a neutral value     nothing
//	all others       see [rows]
//
// # What a fix never does
//
// It writes no signature, and no thinking except a placeholder for models that require reasoning before a call. It does
// not touch the thinking of the newest answer while its tool loop is open, nor the newest answer of a busy session
// ([WhyBusy]), nor any message with unreadable content. Text that it injects is marked synthetic.
package diagnose
