// Package codex runs the real Codex for tests, against a strict endpoint on loopback, and damages its rollouts.
package codex
