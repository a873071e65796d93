// Package agent defines what mend needs of a coding agent: [Agent] finds and opens its
// stores, and a [Store] lists sessions, reads them for a diagnosis, and changes records
// in transactions. The smaller interfaces are for what only some stores can do.
//
// Each agent has its own package below this one. The list of agents is made by the
// caller of package mend.
package agent
