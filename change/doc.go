// Package change holds what is done to a store, as values: an [Op] replaces one
// record, a [Plan] is a list of them with its cause, an [Outcome] says what
// became of it, and an [Entry] is how the journal remembers it.
//
// Every op carries the record's bytes before and after, so that a plan can be
// applied, taken back ([Inverse]) or merged with others ([Compose]) without
// asking anything but the plan itself.
package change
