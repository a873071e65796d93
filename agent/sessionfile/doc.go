// Package sessionfile reads and changes sessions each of which is a file of lines, with other files beside it and,
// of some agents, rows of an index. It has what all agents that store so share, and knows no line.
package sessionfile
