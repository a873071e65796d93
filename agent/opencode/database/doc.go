// Package database reads the sessions that OpenCode 1.2 and later stores in its SQLite
// database, opencode.db. It finds databases, knows their tables, and lists and loads
// sessions. Package sqlstore makes the changes.
package database
