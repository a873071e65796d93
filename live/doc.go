// Package live recovers sessions of an agent while it runs. It follows what a
// running OpenCode tells of its sessions, and where the provider refused a
// request because of what is stored, it repairs the stored session through the
// journal and, if it may, lets the agent go on.
//
// A [Hook] knows what to do about one error; it is what another program embeds.
// It speaks with an [Agent] and a [Repairer], and holds no file and no journal
// open. A [Watch] feeds a Hook from a stream of events, one recovery after the
// other. There are two agents: a [Server] is reached over the HTTP API, of which
// [Server.Follow] reads the events too, and a [Pipe] through a plugin inside the
// agent, over the protocol of docs/plugin-protocol.md.
//
// The course of a recovery: see that the failed answer is still the newest of its
// session; take it once (a second report of the same answer is ignored); tell
// the abort callback; abort the session; fetch the messages, from the agent or,
// where it has no parts of them, from the store; leave it at telling the user if the
// session was changed since the answer was begun, by a [Hook.Sweep] or by a hook that
// was cut off; tell the user; repair; resume, if that is switched on and of use; tell
// the complete callback, whatever happened. What an agent that ended had no time to
// tell is found in the store by [Watch.Untold].
//
// Where the agent may read another store than the one that is repaired, as a server
// found by its address may, [Options.Prove] asks for proof of each session before
// anything is done.
//
// What keeps it from looping: an answer is recovered once; a session at most
// [Options.MaxAttempts] times until a turn of it ends well; nothing is prompted
// unless [Options.AutoResume] is set, and never for a recovery that comes late.
package live
