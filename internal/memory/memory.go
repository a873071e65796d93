// Package memory reports how much memory the machine has.
package memory

// fallback is the assumed memory of the machine if the system does not report it.
const fallback = 8 << 30

// LargestSession is the size in bytes of the largest session that mend loads: an eighth of the
// machine's memory, since a repair needs six times the session's size.
func LargestSession() int64 {
	if n := total(); n > 0 {
		return n / 8
	}
	return fallback / 8
}
