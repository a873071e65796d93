// Package live recovers sessions while their agent runs. It follows the events of a
// running OpenCode. When the provider refuses a request because of stored data, it
// repairs the stored session through the journal and can resume the turn.
//
// A [Hook] decides what to do about one error; other programs can embed it. It calls
// an [Agent] and a [Repairer], and keeps no file and no journal open. A [Watch]
// feeds a Hook from a stream of events, one recovery at a time. A [Pipe] is an agent that
// is reached through its plugin, by the protocol of docs/plugin-protocol.md.
//
// The steps of a recovery:
//
//  1. Check that the failed message is still the newest of its session.
//  2. Claim the message. Further reports of it are ignored.
//  3. If the session was changed since the message was created, by
//     [Hook.RecoverMissed] or by a hook that was interrupted, only inform the user.
//  4. Otherwise call the abort callback and abort the session.
//  5. Fetch the messages from the agent, or from the store if the agent sends no parts.
//  6. Inform the user, repair, and resume if that is enabled and useful.
//  7. Call the complete callback, whatever happened.
//
// A turn that does not end, since a message is dated in the future, has no error: the Watch
// counts the answers of such a turn, and [Hook.handleLoop] ends it.
//
// [Watch.RecoverUnreported] finds errors in the store that the agent did not report
// before it ended.
//
// Loops are prevented as follows: a message is recovered once, and a session at most
// [Options.MaxAttempts] times until one of its turns succeeds. A prompt is sent only
// if [Options.AutoResume] is set, and never after a late recovery.
package live
