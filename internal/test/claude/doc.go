// Package claude has what tests of Claude Code need: transcripts of the real program, ways to damage them, and, with
// the build tag e2e, the real program against a test endpoint.
//
// It may import agent/claude/diagnose, agent/claude/transcript, internal/jsonedit, internal/provider/anthropic,
// internal/request, internal/test/encode, internal/test/endpoint and internal/test/npm. Read [New] and [NewHome] first.
package claude
