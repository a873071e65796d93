// Package repair tells what is wrong with a session and what cures it: an API
// error is recognised ([ParseAPIError]), a session is diagnosed ([Diagnose]), and
// the cures become a plan ([Plan]). It reads values and returns values.
//
// The rules, in the order in which their cures are tried:
//
//	class                        finds                                 cures by                                  loses
//	tool_result_missing          a tool part left pending or running   its state becomes an error                nothing
//	                             a tool_use part without tool_result   a failed tool_result behind it            nothing
//	thinking_block_order         signed thinking behind a call, last   the part moves to the front of its step,  nothing
//	                             in its step, or behind leading text   else it is removed                        the thinking
//	                             unsigned reasoning there (a note)     removed, when the class is asked for      the thinking
//	thinking_disabled_violation  answers with thinking, when asked     removed; placeholder where nothing stays  the thinking
//	empty_content_message        blank text beside other content       removed                                   nothing
//	                             blank text alone or beside thinking   the text becomes the placeholder          nothing
//	                             a step of nothing but thinking        the placeholder behind it                 nothing
//	                             a first prompt without parts          the placeholder in it                     nothing
//	                             any other message without parts, an   the same, when the class is asked for     nothing
//	                             answer of brackets only (notes)
//	unreadable_record            damaged records, missing fields       nothing: it is told, the bytes stay       nothing
//
// How bad a fault is depends on who reads the store: [Broken] is refused by the
// provider or stops the agent, [Latent] only with another version or setting,
// and a [Note] is untidy. A message that the agent leaves out of the request is
// never broken by what it says.
//
// # What a cure never does
//
// It writes no signature and no thinking. It does not touch the thinking of the
// newest answer while its tool loop is open, nor the newest answer of a session
// in which the agent is at work ([Busy]), nor any message with a part that
// cannot be read. What it injects or rewrites is marked synthetic.
//
// # How a cure is proved
//
// A rule looks at one message. Its fixes are tried in turn on a copy of that
// message, the one that loses least first, and one holds if the fault is gone
// and nothing is new or worse there. At the end [Plan] looks at the whole session
// once more. If no fix holds, the diagnosis stays, with the reason in WhyNot.
package repair
