package damage

import "maps"

// compact turns the fourth prompt into a compaction and the last response into its summary. tail is the first
// message that the compaction keeps; without it nothing is kept.
func compact(tail ...int) func(Store) {
	return func(s Store) {
		part := fields{"type": "compaction", "auto": false}
		for _, n := range tail {
			for _, m := range nthMessage(s, n) {
				part["tail_start_id"] = m.ID
			}
		}
		editPart(FourthPrompt, "text", 0, func(p fields) {
			delete(p, "text")
			maps.Copy(p, part)
		})(s)
		editMessage(Goodbye, func(m fields) { m["summary"], m["agent"], m["mode"] = true, "compaction", "compaction" })(s)
	}
}

// idsBeforeWrap gives the messages up to number n, and their parts, ids from before the wrap of the id clock.
func idsBeforeWrap(n int) func(Store) {
	return func(s Store) {
		for i := range n + 1 {
			for _, r := range append(messageParts(s, i), nthMessage(s, i)...) {
				s.Replace(r.ID, r.ID[:4]+"f"+r.ID[5:])
			}
		}
	}
}

// lost has messages and parts that are missing or misplaced.
var lost = []Kind{
	{"message without parts", dropParts(Hello), allVersions(Alive)},
	{"last answer lost its parts", dropParts(Goodbye), allVersions(Alive)},
	{"call's message lost its parts", dropParts(OneCall), allVersions(Alive)},
	{"first prompt lost its parts", dropParts(FirstPrompt), allVersions("R16")},
	{"prompt lost its parts", dropParts(SecondPrompt), allVersions(Alive)},
	{"last prompt lost its parts", dropParts(FourthPrompt), allVersions(Alive)},
	{"every prompt lost its parts", combine(dropParts(FirstPrompt), dropParts(SecondPrompt), dropParts(ThirdPrompt), dropParts(FourthPrompt)), allVersions("R16")},
	{"first prompt gone", dropMessage(FirstPrompt), allVersions("R16")},
	{"first prompt gone, its parts stay", dropMessageRecord(FirstPrompt), allVersions("R16")},
	{"prompt gone", dropMessage(SecondPrompt), allVersions(Alive)},
	{"prompt gone, its parts stay", dropMessageRecord(SecondPrompt), allVersions(Alive)},
	{"last prompt gone", dropMessage(FourthPrompt), allVersions(Alive)},
	{"last prompt gone, its parts stay", dropMessageRecord(FourthPrompt), allVersions(Alive)},
	{"answer gone", dropMessage(Hello), allVersions(Alive)},
	{"answer gone, its parts stay", dropMessageRecord(Hello), allVersions(Alive)},
	{"call's message gone, its parts stay", dropMessageRecord(OneCall), allVersions(Alive)},
	{"last answer gone", dropMessage(Goodbye), allVersions(Alive)},
	{"last answer gone, its parts stay", dropMessageRecord(Goodbye), allVersions(Alive)},
	{"first prompt and answer gone", combine(dropMessage(Done), dropMessage(OneCall), dropMessage(FirstPrompt)), allVersions(Alive)},
	{"every prompt gone", combine(dropMessage(FourthPrompt), dropMessage(ThirdPrompt), dropMessage(SecondPrompt), dropMessage(FirstPrompt)), allVersions("R16")},
	{"ids from before the clock's wrap", func(s Store) {
		s.Replace("msg_1", "msg_f")
		s.Replace("prt_1", "prt_f")
	}, byVersion(Dead, Dead, Alive)},
	{"ids from both sides of the clock's wrap", idsBeforeWrap(TwoCalls), byVersion("R16", Alive, Alive)},
	{"first ids from before the clock's wrap", idsBeforeWrap(Done), byVersion(Dead, Alive, Alive)},
	{"compacted", compact(), allVersions(Alive)},
	{"compacted, tail kept", compact(SecondPrompt), allVersions(Alive)},
	{"compacted, tail starts in a pair", compact(Done), allVersions(Alive)},
	{"compacted, blank answer before", combine(compact(), Text(Hello, " ")), allVersions(Alive)},
	{"compacted, part before of no bytes", combine(compact(), rewritePart(Hello, "text", noBytes)), byVersion(Alive, Dead, Dead)},
	{"compaction never done", editPart(SecondPrompt, "text", 0, func(p fields) {
		delete(p, "text")
		p["type"], p["auto"] = "compaction", true
	}), allVersions(Alive)},
}
