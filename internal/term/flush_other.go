//go:build !linux && !darwin

package term

import "os"

// discardInput drops typed input that was not read, if the system can.
func discardInput(*os.File) {}
