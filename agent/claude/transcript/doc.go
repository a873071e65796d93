// Package transcript reads the transcripts of Claude Code as the program does: which records
// of a file become the conversation, and what of them is sent. Facts are in
// docs/claude-code.md.
//
// [Parse] reads the lines of a file. [Load] finds the records that reach the request, as a
// version of the program would, and [Conversation.Request] makes that request.
package transcript
