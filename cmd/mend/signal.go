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

// How long a verb that only reads may take to end after a signal, and to report it.
const (
	graceToEnd    = 400 * time.Millisecond
	graceToReport = 200 * time.Millisecond
)

// handleSignals cancels ctx on SIGINT or SIGTERM. A verb that has not ended after graceToEnd
// is ended, unless it holds writing for reading: a change is always finished first. A second
// signal kills the program as a crash would.
func handleSignals(cancel context.CancelCauseFunc, writing *sync.RWMutex, args []string, t terminal) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		err := &signalError{<-signals}
		signal.Stop(signals)
		cancel(err)
		writing.Lock() // waits for the current change and prevents others
		time.Sleep(graceToEnd)
		reported := make(chan struct{})
		go func() { // a write may block
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
