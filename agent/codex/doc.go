// Package codex implements the agent Codex: it finds its rollouts, and implements [agent.Store]. It does not judge
// rollouts; package rollout does.
//
// It may import agent, agent/codex/rollout, agent/hookfile, agent/sessionfile, change, internal/fail,
// internal/jsonedit, internal/ownfile, internal/processes, internal/provider, internal/provider/openai,
// internal/request, internal/safedir, internal/userdir, repair and sqlstore. Read store.newCase and store.BuildAside
// first.
//
// A store is the folder of Codex ($CODEX_HOME). A session is a rollout, a file below sessions or archived_sessions; it
// is one record, which is replaced as a whole under the lock that Codex holds while it has the session open. Another
// record is its row in the index of Codex, state_5.sqlite, which Codex rebuilds if it is missing.
package codex
