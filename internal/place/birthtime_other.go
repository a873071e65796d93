//go:build !linux

package place

import "time"

// BirthTime returns the zero time: the creation time is not read on this system.
func BirthTime(string) time.Time { return time.Time{} }
