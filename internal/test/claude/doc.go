// Package claude has what tests of Claude Code need: transcripts of the real program, ways to damage them,
// and, with the build tag e2e, the real program against a test endpoint.
package claude
