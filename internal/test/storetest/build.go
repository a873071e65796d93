package storetest

import (
	"fmt"
	"os"
	"os/exec"
)

// Build builds a program of this module into a file. It keeps a copy of the linked program in the build
// cache, as "go run" does and "go build" does not: linking mend takes seconds.
func Build(pkg, file string, env []string, flags ...string) error {
	args := append([]string{"run", "-buildvcs=false", "-ldflags=-w", "-exec", "cp"}, flags...)
	cmd := exec.Command("go", append(args, pkg, file)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}
