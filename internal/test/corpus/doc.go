// Package corpus has journals and stores that mend wrote at commit 3163f4c2, and the test that the current program
// still lists, shows, verifies, undoes, redoes and settles all of them.
//
// It imports nothing of mend.
//
// Each archive in testdata is one case: a store, a verb that changed it, and the home
// folder in several states. Each state has the store and mend's own folder:
//
//	before      before the verb
//	done        after the verb, with an export of the journal
//	undone      after an undo of the verb, with an export of the journal
//	cut N       the program was killed while the entry was pending: at the first such
//	            call, in the middle, and at the last
//	conflicted  the program was killed, another program wrote, recovery found a conflict
//
// case.json in the archive has the entries of each state as the frozen program listed
// them, and the commands that the test runs. After each command the store must be as in
// another state of the archive. testdata/corpus.sum has the SHA-256 of each archive
// and the entries of each state, so that no archive disappears or changes unnoticed.
//
// After a cut the change may be finished or reverted: the store is then as in "done" or as
// in "before", as the state of the entry requires. Nothing else is allowed.
//
// The archives are zstd with dictionary.zst as their dictionary, which keeps them small.
// They cannot be read without it, so it never changes.
//
// A journal names its store by an absolute path. So each case has a fixed home below
// /dev/shm/mend-corpus, where the test unpacks it, one test process at a time. That needs
// Linux; elsewhere the package has no tests.
//
// # Rules
//
// An archive is never changed and never removed: it represents journals on users' disks,
// which cannot be recreated. The current program passes each case, or refuses it for a
// reason: a row in the table refusals of the test, with a sentence that is also in
// CHANGELOG.md.
//
// To add a case, add a row to the recipes and run
//
//	go test ./internal/test/corpus -run TestMake -make /path/to/mend
//
// with the program to freeze. The test writes only archives that do not exist yet, and
// adds their lines to corpus.sum. The recipes of Codex also need -fixtures, the folder
// with codex-0.169.0.tar.gz, a home that the real Codex wrote.
package corpus
