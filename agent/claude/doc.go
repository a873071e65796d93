// Package claude implements the agent Claude Code: it finds its transcripts, and implements [agent.Store]. It does not
// judge transcripts; the packages below this one do:
//
//	transcript  which records of a file reach the request, by version
//	diagnose    findings and fixes
//
// It may import agent, agent/claude/diagnose, agent/claude/transcript, agent/hookfile, agent/sessionfile, change,
// internal/fail, internal/git, internal/jsonedit, internal/ownfile, internal/place, internal/processes,
// internal/provider/anthropic, internal/request, internal/safedir, linestore, repair and txn. Read store.newCase and
// store.Copy first.
//
// A store is the folder of Claude Code's settings, with the transcripts in projects/. A session is a transcript; its
// records are lines, named by their uuid.
package claude
