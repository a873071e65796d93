//go:build !linux && !darwin

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func exchange(*os.File, string, *os.File, string) error { return unsupported() }

func renameNoReplace(*os.File, string, *os.File, string) error { return unsupported() }

func rename(*os.File, string, *os.File, string) error { return unsupported() }

func unsupported() error {
	return fmt.Errorf("%s has no such call: %w", runtime.GOOS, errors.ErrUnsupported)
}
