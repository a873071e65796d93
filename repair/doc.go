// Package repair is the engine: it finds what is wrong with a session, searches for fixes and proves them. What a
// provider refuses it fixes itself, on blocks (rules.go, fix_*.go).
//
// # What an agent writes
//
// An agent reads a session and makes a [State] of it, and the engine makes the [Case] ([New]). A State has
//
//   - Messages, Prompts, Records and Stored: what is stored;
//   - Send: the next request, and what the provider refuses of it ([FindingsOf] makes findings of that);
//   - Edit: an [Editor], a copy with operations on blocks, and Begin, Undo and State for one fix at a time;
//   - Faults, Refuses and Release, which [BaseState] has for an agent that needs none of them.
//
// Where each turn of the request is of stored messages, [Turns] has all but Records and Edit; [NoEdits] is the Editor
// of a store that can hold no result. Its own faults are rules of a table with those of the engine ([NewRules]), or
// findings with their own Why and Fixes. What does not depend on the state (who uses the session, the texts of fixes,
// the window, the settings, how to fork) are values of a [Context]. The engine does the rest: findings in each
// setting, descriptions, drafts, undo of a fix, and the protection of an open tool loop (loop.go). The toy agent of
// internal/mend has it all in 150 lines.
//
// # The search
//
// Fixes are tried on a copy, the one that loses least first. The copy is examined again
// under every setting: a fix holds if its finding is gone and nothing new is wrong
// (proof.go). If something new is wrong that another fix removes, the two hold together
// or not at all.
//
// Where the agent fails before it sends a request, faults of that request are hidden. A
// fix of the failure does not cause what it uncovers in other messages: that is fixed next.
//
// A fix is given up only for its effect beside the fixes that were kept: after another
// fix is kept, it is tried again. A plan ends when a plan of its result would be empty.
// A finding without a fix that holds stays, with the reason in WhyNot.
//
// [Broken] is refused by the provider, or makes the agent fail, in the setting in use;
// [Latent] does so in another setting; a [Note] is untidy.
package repair
