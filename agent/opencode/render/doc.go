// Package render renders a stored session as the request that OpenCode sends to its model.
//
// It does no I/O. It may import agent/opencode/js, agent/opencode/record, agent/opencode/schema, change,
// internal/jsonedit, internal/media, internal/provider and internal/request. Read [Render] and [NextPrompt] first.
//
// [Render] makes the request that OpenCode sends when the user types one more prompt. Each block
// has the record that it came from, so that "messages.4.content.1" in the provider's error leads to
// a record. [Check] returns the failures: of OpenCode itself, or of a rule of the provider. A
// [View] renders requests for many versions.
//
// The behaviour was observed with the versions that [Profiles] lists: their requests were captured
// and compared with this package's, for healthy and for damaged sessions (TestPrediction,
// build tag e2e).
//
// # How a session becomes a request
//
// OpenCode takes these steps; where versions differ, see [Profile]:
//
//  1. Read: a record that is not JSON is a [Failure]. A revert becomes final with the new
//     prompt: the hidden messages are dropped.
//  2. History: sort the messages, drop what a compaction summarized, decide whether to
//     answer at all.
//  3. Messages: a user message becomes text and files; an assistant message becomes steps,
//     each followed by its tool results.
//  4. Clean-up: empty text, empty messages, characters of call ids.
//  5. Turns: for Anthropic and Bedrock, neighbouring messages of one role are joined.
//
// # What cannot be known
//
// Only the provider can verify signatures of thinking. The text of the new prompt is a placeholder, and OpenCode's
// additions to it are unknown: reminders of plan mode, the prompt of a compaction. The model is assumed to read images
// and PDFs unless [Settings] say otherwise, and to have room for the whole conversation. A pending subtask, which
// OpenCode runs first, is not simulated.
package render
