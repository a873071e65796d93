package claude

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// CleanUp starts the program with these settings until it removes old transcripts, which it does some time after its
// start. It reports whether the program did so within a time.
func (h *Home) CleanUp(settings string, within time.Duration) bool {
	h.t.Helper()
	mark := filepath.Join(h.Root(), ".last-cleanup")
	_ = os.Remove(mark) // it may not exist
	if err := os.WriteFile(filepath.Join(h.Root(), "settings.json"), []byte(settings), 0o600); err != nil {
		h.t.Fatal(err)
	}
	api := NewEndpoint(Script)
	defer api.Close()
	ctx, cancel := context.WithTimeout(h.t.Context(), within)
	defer cancel()
	cmd := h.command(ctx, api.URL, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model", model)
	in, err := cmd.StdinPipe() // stays open, so that the program waits for a prompt
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	cleaned := false
	for ctx.Err() == nil && !cleaned {
		time.Sleep(100 * time.Millisecond)
		_, err := os.Stat(mark)
		cleaned = err == nil
	}
	_ = in.Close()
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // it was killed
	h.WaitEnded()
	return cleaned
}

// Age makes a transcript as old as a time.
func (h *Home) Age(session string, to time.Duration) {
	h.t.Helper()
	at := time.Now().Add(-to)
	if err := os.Chtimes(h.File(session), at, at); err != nil {
		h.t.Fatal(err)
	}
}
