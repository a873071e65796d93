package damage

import "maps"

// marker makes a compaction's prompt of the fourth and its summary of the last
// answer; from is the message with which the tail that is kept begins, nothing
// for no tail.
func marker(from ...int) func(Store) {
	return func(s Store) {
		part := fields{"type": "compaction", "auto": false}
		for _, n := range from {
			for _, m := range message(s, n) {
				part["tail_start_id"] = m.ID
			}
		}
		change(FourthPrompt, "text", 0, func(p fields) {
			delete(p, "text")
			maps.Copy(p, part)
		})(s)
		info(Goodbye, func(m fields) { m["summary"], m["agent"], m["mode"] = true, "compaction", "compaction" })(s)
	}
}

// older gives the messages up to number n, and their parts, ids from before the
// id clock's wrap.
func older(n int) func(Store) {
	return func(s Store) {
		for i := range n + 1 {
			for _, r := range append(partsOf(s, i), message(s, i)...) {
				s.Replace(r.ID, r.ID[:4]+"f"+r.ID[5:])
			}
		}
	}
}

// lost are messages and parts that are not there, or not where they belong.
var lost = []Kind{
	{"message without parts", empty(Hello), same(Alive)},
	{"last answer lost its parts", empty(Goodbye), same(Alive)},
	{"call's message lost its parts", empty(OneCall), same(Alive)},
	{"first prompt lost its parts", empty(FirstPrompt), same("R16")},
	{"prompt lost its parts", empty(SecondPrompt), same(Alive)},
	{"last prompt lost its parts", empty(FourthPrompt), same(Alive)},
	{"every prompt lost its parts", every(empty(FirstPrompt), empty(SecondPrompt), empty(ThirdPrompt), empty(FourthPrompt)), same("R16")},
	{"first prompt gone", lose(FirstPrompt), same("R16")},
	{"first prompt gone, its parts stay", orphan(FirstPrompt), same("R16")},
	{"prompt gone", lose(SecondPrompt), same(Alive)},
	{"prompt gone, its parts stay", orphan(SecondPrompt), same(Alive)},
	{"last prompt gone", lose(FourthPrompt), same(Alive)},
	{"last prompt gone, its parts stay", orphan(FourthPrompt), same(Alive)},
	{"answer gone", lose(Hello), same(Alive)},
	{"answer gone, its parts stay", orphan(Hello), same(Alive)},
	{"call's message gone, its parts stay", orphan(OneCall), same(Alive)},
	{"last answer gone", lose(Goodbye), same(Alive)},
	{"last answer gone, its parts stay", orphan(Goodbye), same(Alive)},
	{"first prompt and answer gone", every(lose(Done), lose(OneCall), lose(FirstPrompt)), same(Alive)},
	{"every prompt gone", every(lose(FourthPrompt), lose(ThirdPrompt), lose(SecondPrompt), lose(FirstPrompt)), same("R16")},
	{"ids from before the clock's wrap", func(s Store) {
		s.Replace("msg_1", "msg_f")
		s.Replace("prt_1", "prt_f")
	}, by(Dead, Dead, Alive)},
	{"ids from both sides of the clock's wrap", older(TwoCalls), by("R16", Alive, Alive)},
	{"first ids from before the clock's wrap", older(Done), by(Dead, Alive, Alive)},
	{"compacted", marker(), same(Alive)},
	{"compacted, tail kept", marker(SecondPrompt), same(Alive)},
	{"compacted, tail starts in a pair", marker(Done), same(Alive)},
	{"compacted, blank answer before", every(marker(), Text(Hello, " ")), same(Alive)},
	{"compacted, part before of no bytes", every(marker(), raw(Hello, "text", gone)), by(Alive, Dead, Dead)},
	{"compaction never done", change(SecondPrompt, "text", 0, func(p fields) {
		delete(p, "text")
		p["type"], p["auto"] = "compaction", true
	}), same(Alive)},
}
