// Package repair is the engine: it searches for fixes of a session's findings and proves
// them. What a provider refuses is fixed by the engine itself, on blocks (rules.go, fix_*.go); what only
// an agent can know comes from it, as a [Case] and rows of the same table ([NewRules]).
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
