// Package transcript reads transcripts as Claude Code does: which records of a file become the conversation, and which
// parts of them are sent. It judges nothing and changes nothing. The facts are in docs/claude-code.md.
//
// It does no I/O. It may import change, internal/jsonedit and internal/request. Read [Load] and [Conversation.Request]
// first.
//
// [Parse] reads the lines of a file. [Load] finds the records that reach the request, as a version
// of Claude Code would, and [Conversation.Request] makes that request.
package transcript
