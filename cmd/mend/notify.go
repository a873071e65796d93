package main

import (
	"context"
	"html"
	"os/exec"
	"runtime"
	"time"

	"mend/internal/term"
)

// notifyTimeout limits how long a notification may take.
const notifyTimeout = 5 * time.Second

// notifyCommand returns the command that shows a notification on a system such as "linux"; nil if there
// is none. No shell sees the texts.
func notifyCommand(system, title, text string) []string {
	switch system {
	case "linux":
		return []string{"notify-send", "--app-name=mend", "--", title, html.EscapeString(text)} // it may read markup
	case "darwin":
		const script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
		return []string{"osascript", "-e", script, "--", title, text}
	}
	return nil
}

// notify shows a notification on the desktop, if the settings say so.
func (w *watcher) notify(ctx context.Context, title, text string) {
	command := notifyCommand(runtime.GOOS, title, term.OneLine(text, 200))
	if !w.config.DesktopNotifications || command == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	if err := exec.CommandContext(ctx, command[0], command[1:]...).Run(); err != nil {
		w.log.Warn("showing a notification", "error", err)
	}
}
