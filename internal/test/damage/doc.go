// Package damage breaks the session of a fixture for tests, in every way in which real
// sessions were seen to break, in both generations of OpenCode's store. [Table] lists the
// kinds of damage.
package damage
