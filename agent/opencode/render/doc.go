// Package wire tells what an agent will send to its model for a stored session,
// and what the model's provider will refuse of it.
//
// [Render] turns a session into the request that OpenCode sends to Anthropic's
// Messages API when the user types one more prompt. Each block knows the record
// it came from, so that "messages.4.content.1" in the provider's error leads to
// a record ([Request.At]). [Check] tells which of the provider's rules the
// request breaks, R1 to R17 of docs/providers.md, in the provider's words.
// A [Reading] does both for every profile, and a [Renderer] after every edit.
//
// What is said of the agent was observed on the programs that [Profiles] lists:
// their requests were captured and compared with ours, for healthy sessions and
// for broken ones (the test TestPrediction, build tag e2e). What is said of the
// provider is the rule list; the real one may be stricter.
//
// # How a session becomes a request
//
// In this order, as the agent does it; where versions differ, a [Profile] says so:
//
//  1. Read: records that are no JSON end the agent ([Fatal]). A revert that is
//     still undoable becomes final: what it hid is gone.
//  2. History: the order of messages; what an earlier compaction summed up is
//     left out; whether the agent answers at all.
//  3. Messages: a prompt becomes text and files, an answer becomes steps, each
//     with the results of its tools behind it.
//  4. Clean up: empty text, empty messages, characters of call ids.
//  5. Turns: neighbouring messages of one role are joined.
//
// # What cannot be known
//
// Signatures of thinking (R7, R8) can be judged by the provider alone. The
// prompt itself is a stand-in, and what the agent adds to it is unknown: the
// reminders of plan mode, the words of a compaction. A model is taken to read
// images and PDFs, as Claude does, and to have room for the whole conversation.
// Tasks for sub-agents that were never run are taken not to run.
package render
