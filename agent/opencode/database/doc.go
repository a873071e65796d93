// Package database reads the sessions that OpenCode 1.2 and later stores in its SQLite
// database, opencode.db: it finds databases, knows their tables, lists and loads
// sessions. Package sqlstore makes the changes.
package database
