// Package diagnose finds what is wrong with a session of OpenCode and how that is fixed.
// It is the [repair.Case] of that agent: the requests that the agent will send are
// simulated, and the fixes edit a copy of the session. It reads values and returns values.
//
// # How a fault is found
//
// By simulation: package render makes the requests that the agent will send, as
// every version of it that is known sends them, with thinking and without, and
// tells which of the provider's rules they break and at which record. Few faults
// are not seen that way and have a finder of their own ([Rules]).
//
// How bad a fault is depends on who reads the store: [repair.Broken] is refused, or ends
// the agent, in the setting in use (the agent's version, thinking or not);
// [repair.Latent] is so in another one, or is stuck on the screen; a [repair.Note] is untidy.
// The provider's rules are Anthropic's: a session with a model that is asked
// elsewhere is at most latent by them.
//
// # How a fault is fixed
//
//	rule            is about                                fixed by, the first that holds                     loses
//	R1              content behind a call in its step       a step's start between them                        nothing
//	                thinking there                          it moves to the front of its step, else it goes    nothing, else the thinking
//	R3, R4          an open tool loop, and thinking         thinking moves first; the loop is closed by text   nothing
//	R5, R11         blank text                              it goes, or becomes the placeholder                nothing
//	R6              a turn without content                  the placeholder                                    nothing
//	R7, R8          thinking that was signed otherwise      the named block, or that of the answer, goes       that thinking
//	R10             thinking at the end of a step           it moves to the front, or the placeholder behind   nothing
//	R12, clock      messages dated in the future            their times follow those of the messages before    when they were written
//	R13, R17        the id of a call                        an id of the part's own                            that id
//	R14             an input that is no object              it is put into one                                 nothing
//	R15, media      files that cannot be sent               a line of text that says what was there            the file
//	R16             a lost first prompt                     the placeholder in it, or in a new prompt          nothing
//	R16             answers dated before the first prompt   the time in their record, or in their id           the former time
//	unreadable      damaged records                         what can be read stays, the rest is rebuilt        what cannot be read
//	field, screen   missing fields, or of a wrong form      from the session, or one that means nothing        a value of a wrong form
//	clock           ids from before the clock's wrap        ids in the order of time, with all references      the ids
//	subtask         subtasks that were not run              a text with the prompt                             the subtask
//	unfinished      calls that never got a result           their state becomes an error, the input stays      nothing
//	tool-name       a name that providers refuse            one of the characters that they take               the name
//	thinking        thinking, when none is wanted           it goes; the placeholder where nothing stays       that thinking
//	encrypted       reasoning of another account            it goes, its summary stays                         that reasoning
//	beside          files of the user's own among the records   they move into the journal, if the user agrees   nothing
//	no-result, order, nothing, name, session, no-session, unlisted, stray, hidden, place, unavailable: see [Rules]
//
// # What a fix never does
//
// It writes no signature and no thinking. It does not touch the thinking of the
// newest answer while its tool loop is open, nor the newest answer of a session
// in which the agent is at work ([Busy]), nor any message of which something
// cannot be read. What it injects is marked synthetic.
package diagnose
