// Package keep stores copies of sessions before anything happens to them: every record that makes a
// session whole, so that it can be restored after its agent has lost it.
//
// A [State] is a session as it was at one time. Its records are in chunks, each stored once under its hash,
// so a turn that is added to a long session costs about its own bytes.
package keep
