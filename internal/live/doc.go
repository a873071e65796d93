// Package live repairs sessions while their agent runs. When the provider refuses a request because of stored data, it
// repairs the stored session through the journal and can resume the turn.
//
// It may import agent, change, internal/termjson and repair. Read [Hook.Look] and [Watch.Run] first.
//
// [Hook.Look] makes all decisions: it gets a [Situation], which is a session with the cause to examine it, and returns
// a [Verdict]. A Hook calls an [Agent] and a [Repairer], and keeps no file and no journal open. A [Watch] passes
// situations to a Hook, one at a time. The pure function step derives them from a stream of events. A [Pipe] is an
// agent that is reached through its plugin, with the protocol of docs/plugin-protocol.md. The hooks of other agents and
// "mend watch" call Look themselves.
//
// Each repair is one attempt with these steps; rows.go has the differences between causes.
//
//  1. Detect: is there something to do? A message that failed must still be the newest.
//  2. Claim the message. Further reports of it are ignored.
//  3. Begin: check the limit, and tell the agent's other plugins. After an error this step comes here, otherwise
//     once there is a plan that may be applied.
//  4. If the session was changed since the message was created, only inform the user.
//  5. End a running turn of the agent.
//  6. Plan and repair.
//  7. Count, log and show the result, and resume the turn if that is enabled and useful.
//  8. Always tell the other plugins that the recovery has ended.
//
// Loops are prevented: a message is recovered once, and a session at most [Options.MaxAttempts] times until one of its
// turns succeeds. This package sends a prompt only if [Options.AutoResume] is set, and never after the agent has ended.
package live
