//go:build linux && !amd64

package faulttest

// firstCall is not a valid call: the inputs cannot be fixed on this architecture.
const firstCall = -1
