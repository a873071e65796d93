// Package hookfile edits the JSON file that lists the commands an agent runs at events. It also has the code that the
// installers of such agents share. Read [AddHooks] and [RemoveHooks] first.
package hookfile
