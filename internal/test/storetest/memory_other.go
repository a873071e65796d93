//go:build !linux

package storetest

// Memory returns "": it is known for Linux alone.
func Memory() string { return "" }
