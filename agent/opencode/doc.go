// Package opencode is the agent OpenCode: where its stores are, and what mend reads and
// writes in them.
package opencode
