// Package damage breaks the session of a fixture for tests, in all ways in which real sessions break, in both
// generations of OpenCode's store. [Table] lists the kinds of damage.
//
// It imports nothing of mend. Read [Table] and [Edit] first.
package damage
