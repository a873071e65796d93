// Package aside changes whole files and folders beside a store: a database and the one that replaces it, an archive of
// rows, folders of snapshots. They are renamed and never copied, so a file that is too large to be copied can be changed.
//
// A change is a list of moves between two places below the store's folder, and a commit point between the moves before it
// and those after it (see [Change]). What is taken away is kept in .mend/OWNER, where the owner is the id of a journal; it
// stays until [Area.Sweep].
//
// What a change needs and does not exist yet is built in .mend/built, in a folder that the process has locked ([Area.Build]).
// Nothing there belongs to a journal: the first move of a change, after the begin of its entry, takes it to the owner. So what
// a killed process has built is in no entry, and the next writer removes it ([Area.SweepBuilt]), but never that of a process
// that is running.
//
// After a crash the content and the places alone decide ([Area.Settle]). A move whose source and target both exist is not made:
// another program has made the target, and the change reports a conflict.
package aside
