package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// What a signal leaves to a verb that only reads, to end by itself, and what it takes
// at most to say so.
const (
	graceToEnd    = 400 * time.Millisecond
	graceToReport = 200 * time.Millisecond
)

// handleSignals cancels ctx when SIGINT or SIGTERM comes. A verb that has not ended after a
// short while ends then, whatever it does, unless it holds writing for reading: it is
// in the middle of a change, which ends in order however long that takes. A second
// signal kills the program as a crash would.
func handleSignals(cancel context.CancelCauseFunc, writing *sync.RWMutex, args []string, t terminal) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		err := &signalError{<-signals}
		signal.Stop(signals)
		cancel(err)
		writing.Lock() // no other change begins
		time.Sleep(graceToEnd)
		reported := make(chan struct{})
		go func() { // nobody may read what is reported
			a := &app{terminal: t, asJSON: slices.Contains(args, "--json"), parsed: true}
			a.report(err)
			close(reported)
		}()
		select {
		case <-reported:
		case <-time.After(graceToReport):
		}
		os.Exit(exitCode(err))
	}()
}
