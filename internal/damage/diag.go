package damage

import "strings"

// diag are damages that the next prompt inherits, calls that the provider ran, and
// messages dated in the future.
var diag = []Kind{
	{"modelID missing in the last prompt's model", model(fields{"providerID": "anthropic"}, FourthPrompt), by(Dead, Dead, Alive)},
	{"providerID missing in the last prompt's model", model(fields{"modelID": "claude-fake"}, FourthPrompt), by(Dead, Dead, Alive)},
	{"modelID null in the last prompt's model", model(fields{"providerID": "anthropic", "modelID": nil}, FourthPrompt), by(Dead, Dead, Alive)},
	{"modelID of no characters in the last prompt's model", model(fields{"providerID": "anthropic", "modelID": ""}, FourthPrompt), by(Dead, Dead, Alive)},
	{"last prompt's model a string", model("anthropic/claude-fake", FourthPrompt), by(Dead, Dead, Alive)},
	{"last prompt's model null", model(nil, FourthPrompt), same(Alive)},
	{"modelID missing in an older prompt's model", model(fields{"providerID": "anthropic"}, SecondPrompt), same(Alive)},
	{"model empty in every prompt", model(fields{}, FirstPrompt, SecondPrompt, ThirdPrompt, FourthPrompt), by(Dead, Dead, Alive)},
	{"every message truncated at its end", spoilAll(func(s string) string { return strings.TrimRight(s, "}\n ") }), same(Dead)},
	{"every message truncated behind its model", spoilAll(before(`"modelID": "claude-fake"`)), same(Dead)},
	{"every message of no bytes", spoilAll(gone), same(Dead)},
	{"every prompt of no bytes", every(rawMessage(FirstPrompt, gone), rawMessage(SecondPrompt, gone), rawMessage(ThirdPrompt, gone), rawMessage(FourthPrompt, gone)), same(Dead)},
	{"the provider ran the call", call("metadata", fields{"providerExecuted": true}), by(Dead, Dead, Alive)},
	{"the provider ran the call, with more metadata", call("metadata", fields{"providerExecuted": true, "anthropic": fields{"x": "y"}}), by(Dead, Dead, Alive)},
	{"the provider did not run the call", call("metadata", fields{"providerExecuted": false}), by(Dead, Dead, Alive)},
	{"an unknown part beside a text of no bytes", every(add(Hello, "reasoning", `{"type":"novel","x":1}`), raw(Hello, "text", gone)), same(Dead)},
	{"last answer dated in the future", dated(Goodbye), by(Alive, "R12", "R12")},
	{"last prompt dated in the future", dated(FourthPrompt), by(Alive, Dead, Dead)},
	{"last prompt and answer dated in the future", dated(FourthPrompt, Goodbye), by(Alive, Dead, Dead)},
	{"answer dated in the future", dated(Hello), by(Alive, "R12", "R12")},
	{"prompt and answer dated in the future", dated(SecondPrompt, Hello), by(Alive, Dead, Dead)},
	{"every message dated in the future", dated(FirstPrompt, OneCall, Done, SecondPrompt, Hello, ThirdPrompt, TwoCalls, DoneAgain, FourthPrompt, Goodbye), by(Alive, Dead, Dead)},
}

// model gives prompts another model.
func model(to any, prompts ...int) func(Store) {
	return func(s Store) {
		for _, n := range prompts {
			mark(n, "model", to)(s)
		}
	}
}

// spoilAll replaces the stored bytes of every message's own record.
func spoilAll(to func(string) string) func(Store) {
	return func(s Store) {
		messages, _ := s.Records()
		spoil(s, messages, to)
	}
}

// future is the beginning of the year 2099.
const future = 4070908800000

// dated gives messages times in the future, in their order.
func dated(numbers ...int) func(Store) {
	return func(s Store) {
		messages, _ := s.Records()
		for _, n := range numbers {
			if n >= len(messages) {
				continue
			}
			at := int64(future + 1000*n)
			m := messages[n].Edit(func(m fields) {
				time := fields{"created": at}
				if m["role"] == "assistant" {
					time["completed"] = at + 500
				}
				m["time"] = time
			})
			m.Created = at
			s.Put(m)
		}
	}
}
