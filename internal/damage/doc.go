// Package damage breaks the session of a fixture, in every way in which real
// sessions were seen to break, in both generations of OpenCode's store. It is
// for tests.
package damage
