// Package repair is the engine: it searches for the fixes of a session's findings and
// proves them. What can be wrong with a session and how it is fixed, it is told by the
// agent, as a [Case].
//
// Fixes are tried on a copy, the one that loses least first, and the copy is examined
// again under every setting: the finding must be gone, and nothing may be there that was
// not before (the file proof.go). What a fix leaves behind may be fixed by another; then
// the two hold together or not at all. Where the agent ended before it sent anything,
// what else is wrong with that request was hidden: in another message the fix has not
// caused it. Under the setting in use it has to be fixed as well, under others it may
// stay. A fix is given up only for what it does to the session with the fixes that were
// kept: once another fix holds, it is tried again, and a plan goes on until a plan of its
// result would have nothing to do. If no fix holds, the diagnosis stays, with the reason
// in WhyNot.
//
// [Broken] is refused by the provider, or ends the agent, in the setting in use;
// [Latent] is so in another one; a [Note] is untidy.
package repair
