// Package agent defines what mend needs of a coding agent: [Agent] finds and opens its
// stores, and a [Store] lists sessions, reads them for a diagnosis, and changes records
// in transactions. [Base] answers for what a store does not have; an [Installer] is how the agent starts mend.
//
// Each agent has its own package below this one. The list of agents is made by the
// caller of package mend.
package agent
