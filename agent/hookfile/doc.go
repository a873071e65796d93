// Package hookfile edits the JSON file that lists the commands that an agent runs at events. It also has the code that
// the installers of such agents share. It runs no command.
//
// It may import agent, change, internal/fail, internal/jsonedit and internal/userdir. Read [AddHooks] and [RemoveHooks]
// first.
package hookfile
