// Package diagnose finds what is wrong with a transcript of Claude Code, and offers fixes: a
// [Case] is a transcript for the engine of package repair.
//
// There are two kinds of findings. Missing history: records in the file do not reach the
// request, because the chain of parents breaks, a line cannot be read, or records are marked
// as a subagent's. And requests that the provider refuses, at each prompt. What the program
// heals itself when it loads a transcript is no finding.
//
// A fix appends lines, since the last line with an id replaces the earlier ones. Only what
// appending cannot do writes the whole transcript again.
package diagnose
