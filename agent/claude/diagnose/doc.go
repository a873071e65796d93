// Package diagnose finds the problems of a transcript of Claude Code, and offers fixes: a [State] is a transcript for
// the engine of package repair.
//
// It may import agent/claude/transcript, change, internal/jsonedit, internal/ownfile, internal/provider,
// internal/provider/anthropic, internal/request, linestore and repair. Read [New] and [State.Faults] first.
//
// There are two kinds of findings: missing history, if records in the file do not reach the request because the chain
// of parents breaks, a line cannot be read, or records are marked as a subagent's; and invalid requests, for which
// the provider refuses each prompt. Problems that Claude Code corrects itself when it loads a transcript are not
// findings.
//
// A fix appends lines, since the last line with an id replaces the earlier ones. The whole transcript is rewritten
// only if appending lines is not enough.
package diagnose
