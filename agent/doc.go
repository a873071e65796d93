// Package agent defines what mend needs of a coding agent: [Agent] finds and opens its stores, and a [Store] lists
// sessions, reads them for a diagnosis, and changes records in transactions. [Base] implements everything that a store
// does not support; an [Installer] sets up how the agent starts mend.
//
// It may import change, internal/fail, internal/ownfile, internal/request, repair and txn. Read [Agent] and [Store]
// first.
//
// Each agent has its own package below this one. The caller of package mend makes the list of agents.
package agent
