// Package tree reads the sessions that OpenCode 1.0 and 1.1 store as a tree of JSON files with one file per record. It
// finds trees, lists and loads sessions, and knows the path of every record. Package fsstore makes the changes.
// OpenCode 1 itself migrates the trees of 0.x.
//
// It may import agent, agent/opencode/record, change, fsstore, internal/memory, internal/ownfile, internal/processes
// and internal/safedir. Read [Find] and [Store.Load] first.
//
//	storage/                                    the root
//	  session/{project}/{session}.json
//	  message/{session}/{message}.json          or message/{any}/{session}/{message}.json
//	  part/{message}/{part}.json
//	  project/{project}.json
//
// Ids are data: a name that is not a valid id never becomes part of a path, and no link is followed below the root.
// Anything else in the place of a record is reported as a [change.Stray], or as a record with the defect Unreadable.
package tree
