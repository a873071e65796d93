// Package memory reports how large a session mend can load on this machine. It does not limit the memory that mend
// uses.
//
// It imports nothing of mend. Read [LargestSession] first.
package memory

// fallback is the assumed memory of the machine if the system does not report it.
const fallback = 8 << 30

// LargestSession returns the size in bytes of the largest session that mend loads: an eighth of the machine's memory,
// since a repair needs six times the session's size.
func LargestSession() int64 {
	if n := total(); n > 0 {
		return n / 8
	}
	return fallback / 8
}
