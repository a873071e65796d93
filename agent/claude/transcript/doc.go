// Package transcript reads transcripts as Claude Code does: which records of a file become the
// conversation, and which parts of them are sent. The facts are in docs/claude-code.md.
//
// [Parse] reads the lines of a file. [Load] finds the records that reach the request, as a version
// of the program would, and [Conversation.Request] makes that request.
package transcript
