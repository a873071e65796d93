// Package endpoint simulates the model providers for tests: on loopback it answers Anthropic's Messages API, OpenAI's
// Responses API, chat completions, Gemini and Bedrock's Converse API (with AWS event streams) from a script, and
// refuses what the real providers refuse, with the same error texts.
//
// It imports nothing of mend. Read [New] and [Check] first.
//
// A test starts a [Server], lets a program send requests to it, and reads these from [Server.Calls]. [Check]
// checks a request to Anthropic without a server, [Refused] one to the others. The rules are listed in
// docs/providers.md, one function each, in a table for each API; the server also limits the size of requests.
// They share no code and no table with package provider, so that tests can compare the two.
//
// If the rules of Anthropic are ambiguous, Check does this:
//
//   - Neighbouring messages of one role are one turn; the numbers in a message
//     are the request's, not the joined turns'.
//
//   - Of several broken rules the one with the lowest number is reported.
//
//   - The tool loop is open (R3, R4) while the last turn has a tool result,
//     even if a text of the user follows it.
//
//   - The final assistant turn of R4 is one that the model continues: the loop is
//     open, or the turn ends the conversation. Thinking before a new prompt is
//     accepted, because programs also send it after thinking was turned off.
//
//   - Content that is the empty string is missing content (R6), not an empty text
//     block (R5). Text inside a tool result is not checked.
//
//   - An image's size (R15) is the length of its base64 text, as the provider
//     counts it.
//
//   - R8 needs the earlier answers: Check takes them as an argument, a Server remembers
//     them, and without them R8 is never broken.
//
//   - R28 also needs the conversation before each block: a Server remembers it for each block that it
//     returned, for the models that bind thinking; [Bindings] of a test derive it from a request. With drop_block
//     such blocks are accepted, and the call lists them.
//
// The paths of the other APIs begin with the name of a setting, such as /openai or /kimi, which determines
// the rules. A provider remembers what it issued: encrypted reasoning, items and signatures belong to an
// account. [Known] has the issued content of an existing store, and [Server.SetAccount] switches to another account.
//
// Signatures of Anthropic are made with a fixed key, so that a thinking block of one server is valid for a
// later one.
package endpoint
