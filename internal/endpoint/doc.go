// Package endpoint is a model provider for tests: it answers the Anthropic
// Messages API on loopback from a script, and refuses what the real provider
// refuses, in the provider's own words.
//
// A test starts a [Server], lets a program talk to it, and reads what was sent
// from [Server.Calls]. [Check] is the judge alone, without a server: the rules
// R1 to R17 of the project's list, one function each, in one table.
//
// Where the list leaves something open, this is what the judge does:
//
//   - Neighbouring messages of one role are one turn; the numbers in a message
//     are those of the request as it was sent, not of the joined turns.
//   - Of several broken rules the one with the lowest number is reported.
//   - The tool loop is open (R3, R4) while the last turn holds a tool result,
//     also when the user wrote something behind it.
//   - The final assistant turn of R4 is one that is gone on with: the loop is
//     open, or it ends the conversation. Thinking before a new prompt is taken,
//     since programs send it back when the model no longer thinks.
//   - Content that is the empty string is no content (R6), not an empty text
//     block (R5). Text inside a tool result is not judged.
//   - An image's size (R15) is the length of its base64 text, as the provider
//     counts it.
//   - R8 needs the memory of what was answered: Check takes it as an argument,
//     a Server remembers it, and without it R8 is never broken.
//
// Signatures are made with a fixed key, so that a thinking block that an
// earlier server answered is still good for a later one.
package endpoint
