package damage

import "strings"

// mixed has damage of models, which the next prompt takes from earlier messages, and of many messages.
var mixed = []Kind{
	{"modelID missing in the last prompt's model", setModel(fields{"providerID": "anthropic"}, FourthPrompt), byVersion(Dead, Dead, Alive)},
	{"providerID missing in the last prompt's model", setModel(fields{"modelID": "claude-fake"}, FourthPrompt), byVersion(Dead, Dead, Alive)},
	{"modelID null in the last prompt's model", setModel(fields{"providerID": "anthropic", "modelID": nil}, FourthPrompt), byVersion(Dead, Dead, Alive)},
	{"last prompt's model null", setModel(nil, FourthPrompt), allVersions(Alive)},
	{"modelID missing in an older prompt's model", setModel(fields{"providerID": "anthropic"}, SecondPrompt), allVersions(Alive)},
	{"model empty in every prompt", setModel(fields{}, FirstPrompt, SecondPrompt, ThirdPrompt, FourthPrompt), byVersion(Dead, Dead, Alive)},
	{"every message truncated at its end", rewriteMessages(func(s string) string { return strings.TrimRight(s, "}\n ") }), allVersions(Dead)},
	{"every message truncated after its model", rewriteMessages(upTo(`"modelID": "claude-fake"`)), allVersions(Dead)},
	{"every message of no bytes", rewriteMessages(noBytes), allVersions(Dead)},
	{"every prompt of no bytes", combine(rewriteMessage(FirstPrompt, noBytes), rewriteMessage(SecondPrompt, noBytes), rewriteMessage(ThirdPrompt, noBytes), rewriteMessage(FourthPrompt, noBytes)), allVersions(Dead)},
	{"an unknown part beside a text of no bytes", combine(addPart(Hello, "reasoning", `{"type":"novel","x":1}`), rewritePart(Hello, "text", noBytes)), allVersions(Dead)},
}

// Reported is the damage that mend reports and does not repair: sweeps of repairs leave it out.
var Reported = []Kind{
	{"last answer dated in the future", dateInFuture(Goodbye), byVersion(Alive, "R12", "R12")},
	{"last prompt dated in the future", dateInFuture(FourthPrompt), byVersion(Alive, Dead, Dead)},
	{"callID a number", setCall("callID", 5), allVersions(Dead)},
	{"tool metadata flat", setCall("metadata", fields{"x": 1}), allVersions(Dead)},
	{"attachment without mime", attach(fields{"type": "file", "url": png}), allVersions(Dead)},
	{"attachment without url", attach(fields{"type": "file", "mime": "image/png"}), allVersions(Dead)},
	{"attachments an object", setState("attachments", fields{"a": 1}), allVersions(Dead)},
	{"file without url in a prompt", promptFile(fields{"type": "file", "mime": "image/png"}), allVersions(Dead)},
	{"modelID of no characters in the last prompt's model", setModel(fields{"providerID": "anthropic", "modelID": ""}, FourthPrompt), byVersion(Dead, Dead, Alive)},
	{"last prompt's model a string", setModel("anthropic/claude-fake", FourthPrompt), byVersion(Dead, Dead, Alive)},
	{"the provider ran the call", setCall("metadata", fields{"providerExecuted": true}), byVersion(Dead, Dead, Alive)},
	{"the provider ran the call, with more metadata", setCall("metadata", fields{"providerExecuted": true, "anthropic": fields{"x": "y"}}), byVersion(Dead, Dead, Alive)},
	{"the provider did not run the call", setCall("metadata", fields{"providerExecuted": false}), byVersion(Dead, Dead, Alive)},
	{"signature a number", setReasoningMetadata(fields{"anthropic": fields{"signature": 5}}), allVersions(Dead)},
	{"signature null", setReasoningMetadata(fields{"anthropic": fields{"signature": nil}}), allVersions(Dead)},
	{"reasoning metadata flat", setReasoningMetadata(fields{"x": 1}), allVersions(Dead)},
	{"reasoning metadata a string", setReasoningMetadata("x"), allVersions(Dead)},
	{"reasoning text missing", unsetPart(Hello, "reasoning", "text"), allVersions(Dead)},
	{"redacted data a number", setReasoningMetadata(fields{"anthropic": fields{"redactedData": 5}}), allVersions(Dead)},
	{"output a number", setState("output", 5), allVersions(Alive)},
	{"output an object", setState("output", fields{"x": "x"}), byVersion(Dead, Dead, Alive)},
	{"output a list", setState("output", []any{"x"}), byVersion(Dead, Dead, Alive)},
	{"text a number", setPart(Hello, "text", "text", 5), allVersions(Dead)},
	{"text a number in a prompt", setPart(SecondPrompt, "text", "text", 5), allVersions(Dead)},
	{"text metadata flat", setPart(Hello, "text", "metadata", fields{"x": true}), allVersions(Dead)},
}

func setModel(to any, prompts ...int) func(Store) {
	return func(s Store) {
		for _, n := range prompts {
			setMessage(n, "model", to)(s)
		}
	}
}

// rewriteMessages replaces the stored bytes of every message's own record.
func rewriteMessages(to func(string) string) func(Store) {
	return func(s Store) {
		messages, _ := s.Records()
		rewrite(s, messages, to)
	}
}

// future is the start of the year 2099 in milliseconds since 1970.
const future = 4070908800000

// dateInFuture gives messages times in the future and keeps their order.
func dateInFuture(numbers ...int) func(Store) {
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
