package fsstore

import (
	"os/exec"
	"path/filepath"
	"testing"

	"mend/internal/storetest"
)

func TestHeld(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	s := mustOpen(t, smallTree(t), "", Options{})
	if held, err := s.Held(t.Context()); err != nil || held {
		t.Skipf("Held = %v, %v: an agent runs here", held, err)
	}
	program := filepath.Join(storetest.FastDir(t), agent)
	storetest.CopyProgram(t, sleep, program)
	cmd := exec.Command(program, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Held(t.Context()); err != nil || !held {
		t.Errorf("Held = %v, %v while a program called %s runs", held, err, agent)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if held, err := s.Held(t.Context()); err != nil || held {
		t.Errorf("Held = %v, %v after it ended", held, err)
	}
}
