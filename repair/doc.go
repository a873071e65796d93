// Package repair is the engine: it finds the problems of a session, searches for fixes and proves them. It fixes
// violations of a provider's rules itself, on blocks (rules.go, fix_*.go). It knows these rules by their codes, but no
// agent, no store and no form of a request.
//
// It does no I/O. It may import change, internal/fail, internal/jsonedit and internal/request. Read [Diagnose] and
// [Plan] first.
//
// # What an agent writes
//
// An agent reads a session into a [State], and the engine makes the [Case] ([New]). A State has
//
//   - Messages, Prompts, Records and Stored: what is stored;
//   - Send: the next request and its violations, which [FindingsOf] turns into findings;
//   - Edit: an [Editor]: a copy with operations on blocks, and Begin, Undo and State for one fix at a time;
//   - Faults, Refuses and Release, which an agent that needs none of them gets from [BaseState].
//
// If each turn of the request consists of stored messages, [Turns] implements everything but Records and Edit;
// an editor embeds [NoEdits] and implements the edits that its store supports. An agent's own checks are rules in a
// table with the engine's ([NewRules]), or findings with their own Why and Fixes. Values that do not depend on the state are in a
// [Context]: the process that uses the session, the texts of fixes, the window, the settings, how to fork. The engine
// does the rest: findings in each setting, descriptions, drafts, undo of a fix, and the protection of an open tool
// loop (loop.go). Package agent has the interface for finding and opening stores; its Base and BaseAgent have defaults
// for what a store or an agent does not support. The toy agent, internal/mend/toyagent_test.go, is complete.
//
// # The search
//
// Fixes are tried on a copy, the one that loses least first. The copy is examined again under every setting: a fix
// holds if its finding is gone and there is no new finding (proof.go). If a fix causes a new finding that another fix
// removes, both are kept or both are rejected.
//
// If the agent fails before it sends a request, the failure hides the problems of that request. A fix of the failure
// holds even if it uncovers findings in other messages; these are fixed next.
//
// A rejected fix is tried again after another fix is kept, because it may hold then. A plan is complete when a second
// plan, for its result, would be empty. A finding without a fix that holds stays, with the reason in WhyNot.
//
// [Broken] means that the provider refuses the session, or the agent fails, in the setting in use; [Latent] ("at risk"
// on the screen) means the same if the session is continued in another way, or that the agent shows it wrongly; [Lost]
// means that content is missing, and the agent does not report it; a [Note] is harmless.
package repair
