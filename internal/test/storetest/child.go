package storetest

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

const childKey = "MEND_TEST_CHILD"

// IsChild reports whether this process was started by RunInChild.
func IsChild() bool { return os.Getenv(childKey) != "" }

// StartPiped starts a program with pipes to its standard input and from its standard output.
func StartPiped(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}
