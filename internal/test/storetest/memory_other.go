//go:build !linux

package storetest

// Memory returns "": only Linux has one.
func Memory() string { return "" }
