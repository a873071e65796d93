// Package live recovers sessions while their agent runs. It follows the events of a
// running OpenCode, or is told by "mend watch" of a session that changed ([Hook.RepairStored]).
// When the provider refuses a request because of stored data, it repairs the stored session
// through the journal and can resume the turn.
//
// A [Hook] decides what to do about one error. It calls an [Agent] and a [Repairer], and
// keeps no file and no journal open. A [Watch] feeds a Hook from a stream of events, one
// recovery at a time: a pure function says what follows from an event. A [Pipe] is an agent
// that is reached through its plugin, by the protocol of docs/plugin-protocol.md.
//
// Whatever asks for a repair, an error, a session that is idle or about to be sent, it is one attempt, which takes these steps; rows.go has the table of what
// differs.
//
//  1. Detect: is there something to do? A message that failed must still be the newest.
//  2. Claim the message. Further reports of it are ignored.
//  3. Begin: check the limit, call the abort callback, and publish that. After an error this
//     comes now, else when there is a plan that may be applied.
//  4. If the session was changed since the message was created, only inform the user.
//  5. End the turn of the agent, if it has one, and wait until it is idle.
//  6. Plan and repair.
//  7. Count, log and show what became of it, and resume the turn if that is enabled and useful.
//  8. Call the complete callback, whatever happened.
//
// An error that the agent stored and did not report is found by following the store.
//
// Loops are prevented as follows: a message is recovered once, and a session at most
// [Options.MaxAttempts] times until one of its turns succeeds. This package sends a prompt
// only if [Options.AutoResume] is set, and never after a late recovery.
package live
