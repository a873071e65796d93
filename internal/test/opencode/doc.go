// Package opencode runs the real OpenCode for tests, offline, against an [endpoint.Server].
//
// It may import internal/test/damage, internal/test/endpoint, internal/test/npm and testdata. Read [Install] and
// [Home.Continue] first.
//
// [Install] gets the executable of a version, [New] creates a scratch home for it, [Home.Unpack] puts a store
// of testdata there, [Home.Continue] and [Server.Prompt] send one more prompt and return its [Result]. A
// [StoreRunner] is a server for many stores. Tests that run the program have the build tag e2e:
//
//	go test -tags e2e ./internal/test/opencode         (each kind of damage on one version)
//	go test -tags e2e -short ./internal/test/opencode  (one damage in sixteen)
//
// The stores of testdata have ids of November 2026. The program works on them if the clock is after that time
// and before the next wrap of the id clock, in October 2028; versions before 1.18.15 answer no prompt then.
//
// # Observed behaviour
//
// The tests here confirm docs/opencode.md for 1.1.53, 1.2.27 and 1.18.33, and add to it. If no version is
// named, all three behave alike.
//
//   - A part whose id does not start with prt is sent in the position that its id
//     sorts to. With the id bad_… a text precedes the reasoning, and R10 follows
//     from the order; with txt_… it stays after it, and the session continues.
//   - 1.18.33 sends an assistant's text "" as " ": R11, not R5. The older versions
//     leave it out. All leave out a prompt's text "", and with it the whole
//     message if it has no other part.
//   - A response with only unsigned reasoning is sent with empty content: R6.
//     If it is signed, R10.
//   - With thinking turned off the signed thinking of earlier responses is still
//     sent. R4 is therefore taken to mean the turn that is continued, as the
//     provider describes it; otherwise every healthy session would break it.
//   - A callID's characters outside the pattern of R13 are sent as "_"; only an
//     empty callID breaks the rule.
//   - A tool result's content is a string, even an empty one, and with
//     attachments a list of a text and images. There 1.1.53 and 1.2.27 send an
//     output "" as an empty text block, 1.18.33 leaves it out.
//   - An output that was compacted away is sent as "[Old tool result content
//     cleared]"; a call that did not end as "[Tool execution was interrupted]".
//   - If a response between two prompts is left out, the prompts become one turn.
//     If a prompt is left out, the responses become one turn with thinking in its
//     middle, which is accepted.
//   - 1.18.33 fails in a session whose stored directory is missing; the others do
//     not. [Home.Unpack] therefore stores the scratch project as the directory.
//   - "opencode run" stores a prompt with blanks in it in quotation marks.
//   - "opencode db QUERY" may write in 1.18.33 and is read-only in 1.2.27.
//     [Home.SQL] uses the SQLite in the executable instead (3.51.2 in 1.2.27,
//     3.53.0 in 1.18.33).
//   - The servers of all three versions read the store again for every prompt.
//   - After a regular exit opencode.db-wal and -shm still exist.
//   - At its start the program downloads plugins from a package registry; [New]
//     turns the default ones off and gives the rest an unreachable registry, which
//     it tolerates.
package opencode
