// Package endpoint is a model provider for tests: it answers the Anthropic Messages API
// on loopback from a script, and refuses what the real provider refuses, with the same
// error texts.
//
// A test starts a [Server], lets a program send requests to it, and reads these from
// [Server.Calls]. [Check] checks a request without a server: it has the rules R1 to R21
// of docs/providers.md, one function each, in one table; the server also refuses what is
// larger than a request may be. It shares no code with package
// provider/anthropic, so that tests can compare the two.
//
// Where the rules leave something open, Check does this:
//
//   - Neighbouring messages of one role are one turn; the numbers in a message
//     are those of the request as it was sent, not of the joined turns.
//   - Of several broken rules the one with the lowest number is reported.
//   - The tool loop is open (R3, R4) while the last turn has a tool result,
//     also if a text of the user follows it.
//   - The final assistant turn of R4 is one that the model continues: the loop is
//     open, or the turn ends the conversation. Thinking before a new prompt is
//     accepted, because programs send it also after thinking was turned off.
//   - Content that is the empty string is no content (R6), not an empty text
//     block (R5). Text inside a tool result is not checked.
//   - An image's size (R15) is the length of its base64 text, as the provider
//     counts it.
//   - R8 needs the earlier answers: Check has them as an argument, a Server remembers
//     them, and without them R8 is never broken.
//
// Signatures are made with a fixed key, so that a thinking block of one server is valid
// for a later one.
package endpoint
