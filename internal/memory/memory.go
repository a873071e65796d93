// Package memory reports how much memory the machine has.
package memory

// fallback is what a machine is taken to have where the system does not report it.
const fallback = 8 << 30

// Total is the size of the machine's memory in bytes.
func Total() int64 {
	if n := total(); n > 0 {
		return n
	}
	return fallback
}
