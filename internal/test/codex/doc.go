// Package codex runs the real Codex for tests, against a strict endpoint on loopback, and damages its rollouts.
//
// It may import internal/ownfile, internal/test/damage, internal/test/endpoint, internal/test/npm,
// internal/test/storetest and testdata. Read [NewHome] and [Home.Damage] first.
package codex
