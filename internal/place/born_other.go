//go:build !linux

package place

import "time"

// Born returns the zero time: how this system says when a folder was made is not used.
func Born(string) time.Time { return time.Time{} }
