//go:build !linux && !darwin

package watch

// isRemote reports whether the system may not report all changes in a folder: here that is not
// known.
func isRemote(string) bool { return false }
