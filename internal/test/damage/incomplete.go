package damage

import "encoding/json"

// incomplete has messages that lack fields, as old programs wrote them or as a manual
// edit left them.
var incomplete = []Kind{
	{"role missing", unsetMessage(Hello, "role"), allVersions(Alive)},
	{"role missing in a prompt", unsetMessage(SecondPrompt, "role"), allVersions(Alive)},
	{"role missing in the first prompt", unsetMessage(FirstPrompt, "role"), allVersions("R16")},
	{"role missing in the last answer", unsetMessage(Goodbye, "role"), allVersions(Alive)},
	{"role unknown", setMessage(Hello, "role", "novel"), allVersions(Alive)},
	{"agent missing in an answer", unsetMessage(Hello, "agent"), allVersions(Alive)},
	{"agent missing in a prompt", unsetMessage(SecondPrompt, "agent"), allVersions(Alive)},
	{"agent missing in the last prompt", unsetMessage(FourthPrompt, "agent"), allVersions(Alive)},
	{"model missing in a prompt", unsetMessage(SecondPrompt, "model"), allVersions(Alive)},
	{"model missing in the last prompt", unsetMessage(FourthPrompt, "model"), allVersions(Alive)},
	{"model missing in every prompt", combine(unsetMessage(FirstPrompt, "model"), unsetMessage(SecondPrompt, "model"), unsetMessage(ThirdPrompt, "model"), unsetMessage(FourthPrompt, "model")), allVersions(Alive)},
	{"agent and model missing in every prompt", combine(unsetMessage(FirstPrompt, "model", "agent"), unsetMessage(SecondPrompt, "model", "agent"), unsetMessage(ThirdPrompt, "model", "agent"), unsetMessage(FourthPrompt, "model", "agent")), allVersions(Alive)},
	{"modelID missing", unsetMessage(Hello, "modelID"), allVersions(Alive)},
	{"modelID and providerID missing in the last answer", unsetMessage(Goodbye, "modelID", "providerID"), allVersions(Alive)},
	{"time missing in an answer", unsetMessage(Hello, "time"), byVersion(Alive, Alive, Dead)},
	{"time missing in a prompt", unsetMessage(SecondPrompt, "time"), byVersion(Alive, Alive, Dead)},
	{"time missing in the last answer", unsetMessage(Goodbye, "time"), byVersion(Alive, Alive, Dead)},
	{"time.created missing", setMessage(Hello, "time", fields{}), allVersions(Alive)},
	{"tokens missing", unsetMessage(Hello, "tokens"), allVersions(Alive)},
	{"tokens missing in the last answer", unsetMessage(Goodbye, "tokens"), allVersions(Dead)},
	{"tokens.cache missing in the last answer", setMessage(Goodbye, "tokens", fields{"input": 1, "output": 2}), allVersions(Dead)},
	{"tokens.total infinite in the last answer", setTokens("total", json.RawMessage("1e999")), allVersions(Alive)},
	{"tokens.total enormous in the last answer", setTokens("total", 1e308), allVersions(Alive)},
	{"tokens.total negative in the last answer", setTokens("total", -1), allVersions(Alive)},
	{"tokens.total a string in the last answer", setTokens("total", "12"), allVersions(Alive)},
	{"tokens.input infinite in the last answer", setTokens("input", json.RawMessage("1e999")), allVersions(Alive)},
	{"cost infinite in the last answer", setMessage(Goodbye, "cost", json.RawMessage("1e999")), allVersions(Alive)},
	{"finish missing in the last answer", unsetMessage(Goodbye, "finish"), allVersions(Alive)},
	{"parentID missing", unsetMessage(Hello, "parentID"), allVersions(Alive)},
	{"parentID missing in the last answer", unsetMessage(Goodbye, "parentID"), allVersions(Alive)},
	{"parentID of a message that is not there", setMessage(Goodbye, "parentID", "msg_0000000000000000"), allVersions(Alive)},
	{"mode, path and cost missing", unsetMessage(Hello, "mode", "path", "cost"), allVersions(Alive)},
	{"everything but the role missing in an answer", unsetMessage(Hello, "agent", "mode", "path", "cost", "tokens", "modelID", "providerID", "parentID", "finish", "time"), byVersion(Alive, Alive, Dead)},
	{"everything but the role missing in a prompt", unsetMessage(SecondPrompt, "agent", "model", "time", "summary"), byVersion(Alive, Alive, Dead)},
	{"time missing in text and reasoning", combine(unsetPart(Hello, "text", "time"), unsetPart(Hello, "reasoning", "time")), allVersions(Alive)},
}

// setTokens sets a count of the last answer. The agent adds them up to see whether the
// conversation is too long.
func setTokens(name string, to any) func(Store) {
	return editMessage(Goodbye, func(m fields) {
		tokens := fields{"input": 1, "output": 2, "reasoning": 0, "cache": fields{"read": 0, "write": 0}}
		tokens[name] = to
		m["tokens"] = tokens
	})
}
