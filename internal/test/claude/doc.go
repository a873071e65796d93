// Package claude has what tests of Claude Code need: a transcript that the real program wrote,
// ways to damage it, and, with the build tag e2e, the real program against a test endpoint.
package claude
