package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/internal/ownfile"
)

const (
	claimTimeout = time.Minute // a recovery takes a second or two
	maxClaims    = 256         // messages that are remembered
)

// claimMessages returns a function for [live.Options.Claim]. The processes of mend that share
// a journal, such as that of a plugin and a watch, share a file of the messages that they
// have handled, each with a checksum of its store. They lock it while they handle one.
func claimMessages(journal string, store change.StoreID, log *slog.Logger) func(message string) (release func(handled bool), ok bool) {
	path := filepath.Join(journal, "handled")
	return func(message string) (release func(handled bool), ok bool) {
		nothing := func(bool) {}
		lock, err := ownfile.Acquire(path, os.O_RDWR|os.O_CREATE, false, claimTimeout)
		if err != nil {
			log.Warn("waiting for other processes of mend", "error", err)
			return nothing, true
		}
		text, err := ownfile.ReadAtMost(lock.File(), 1<<20)
		if err != nil {
			log.Warn("reading which messages were handled", "error", err)
		}
		handled := strings.Fields(string(text))
		message = fmt.Sprintf("%s@%08x", message, crc32.ChecksumIEEE([]byte(store.Root)))
		if slices.Contains(handled, message) {
			_ = lock.Close()
			return nothing, false
		}
		return func(now bool) {
			defer func() { _ = lock.Close() }()
			if !now {
				return
			}
			handled = append(handled, message)
			text := strings.Join(handled[max(0, len(handled)-maxClaims):], "\n") + "\n"
			_, err := lock.File().Seek(0, io.SeekStart)
			if err == nil {
				err = lock.File().Truncate(0)
			}
			if err == nil {
				_, err = io.WriteString(lock.File(), text)
			}
			if err != nil {
				log.Warn("recording that a message was handled", "error", err)
			}
		}, true
	}
}
