//go:build !linux && !darwin

package term

import "os"

// discardInput drops what was typed and not read yet, where that is possible.
func discardInput(*os.File) {}
