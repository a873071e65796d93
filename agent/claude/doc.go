// Package claude implements the agent Claude Code: it finds its transcripts, and implements
// [agent.Store] with the packages below this one.
//
//	transcript  which records of a file reach the request, by version
//	diagnose    findings and fixes
//
// A store is the folder of Claude Code's settings, with the transcripts in projects/. A
// session is a transcript; its records are lines, named by their uuid. Read store.newCase and store.Copy first.
package claude
