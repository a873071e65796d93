//go:build !linux && !darwin

package main

import "os"

// discardInput drops what was typed and not read yet, where that is possible.
func discardInput(*os.File) {}
