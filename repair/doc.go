// Package repair is the engine: it finds the problems of a session, searches for fixes and proves them. It fixes
// violations of a provider's rules itself, on blocks (rules.go, fix_*.go).
//
// # What an agent writes
//
// An agent reads a session into a [State], and the engine makes the [Case] ([New]). A State has
//
//   - Messages, Prompts, Records and Stored: what is stored;
//   - Send: the next request, and what the provider refuses of it ([FindingsOf] makes findings of that);
//   - Edit: an [Editor], a copy with operations on blocks, and Begin, Undo and State for one fix at a time;
//   - Faults, Refuses and Release, which [BaseState] has for an agent that needs none of them.
//
// If each turn of the request consists of stored messages, [Turns] implements everything but Records and Edit;
// [NoEdits] is the Editor of a store that supports no edits. An agent's own checks are rules in a table with the
// engine's ([NewRules]), or findings with their own Why and Fixes. Values that do not depend on the state (who uses
// the session, the texts of fixes, the window, the settings, how to fork) are in a [Context]. The engine does the
// rest: findings in each setting, descriptions, drafts, undo of a fix, and the protection of an open tool loop
// (loop.go). The toy agent of internal/mend does all this in 150 lines.
//
// # The search
//
// Fixes are tried on a copy, the one that loses least first. The copy is examined again under every setting: a fix
// holds if its finding is gone and there is no new finding (proof.go). If another fix removes a new finding, the two
// hold together or not at all.
//
// If the agent fails before it sends a request, problems of that request are hidden. A fix of the failure is not
// blamed for findings that it uncovers in other messages: these are fixed next.
//
// A fix is rejected only together with the fixes kept so far: after another fix is kept, it is tried again. A plan is
// complete when a plan of its result would be empty. A finding without a fix that holds stays, with the reason in
// WhyNot.
//
// [Broken] means that the provider refuses the session, or the agent fails, in the setting in use; [Latent] means the
// same in another setting; a [Note] is untidy.
package repair
