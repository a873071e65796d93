// Package diagnose finds what is wrong with a transcript of Claude Code, and offers fixes: a
// [State] is a transcript for the engine of package repair.
//
// There are two kinds of findings. Missing history: records in the file do not reach the
// request, because the chain of parents breaks, a line cannot be read, or records are marked
// as a subagent's. And invalid requests: the provider refuses each prompt. What the program
// corrects itself when it loads a transcript is not a finding.
//
// A fix appends lines, since the last line with an id replaces the earlier ones. The whole transcript
// is written again only if appended lines are not enough.
package diagnose
