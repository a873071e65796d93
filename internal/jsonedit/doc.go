// Package jsonedit reads, replaces and removes fields of a JSON text, and leaves every other byte unchanged. White
// space, the order of members, the spelling of numbers and the escapes in strings stay.
//
// It does no I/O. It imports nothing of mend. Read [Parse] and [Set] first.
//
// [Parse] makes a [Value], for reading many fields of one text. [Get], [Set], [Remove] and
// [Elements] take the text itself and a path: the names of members from the outermost object
// inwards.
//
// A text is read as JavaScript's JSON.parse reads it: if several members have the same name, the last one counts. There
// are two differences. Bytes in a string that are not UTF-8 are read as U+FFFD, and a text that nests deeper than
// [MaxDepth] is refused.
//
// No function changes its argument. Results may alias it; see each function.
package jsonedit
