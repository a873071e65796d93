// Package hookfile edits a file of JSON in which an agent finds the commands that it runs at events, and
// has what the installers of such agents share.
package hookfile
