// Package change has the values that describe a change of a store: an [Op] replaces
// one record, a [Plan] is a list of ops with its cause, an [Outcome] is the result of
// applying it, and an [Entry] is what the journal records of it.
//
// Every op has the record's bytes before and after. So a plan can be applied, reverted
// ([Inverse]) and merged with others ([Compose]) without any other source.
package change
