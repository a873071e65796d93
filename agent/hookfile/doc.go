// Package hookfile edits a JSON file with the commands that an agent runs at events, and
// has what the installers of such agents share.
package hookfile
