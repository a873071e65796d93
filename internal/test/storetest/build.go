package storetest

import (
	"fmt"
	"os"
	"os/exec"
)

// Build builds a program of this module into a file. Of a program that "go run" has linked a copy stays in the
// build cache, of one that "go build" has linked none does: to link mend takes seconds.
func Build(pkg, file string, env []string, flags ...string) error {
	args := append([]string{"run", "-buildvcs=false", "-ldflags=-w", "-exec", "cp"}, flags...)
	cmd := exec.Command("go", append(args, pkg, file)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}
