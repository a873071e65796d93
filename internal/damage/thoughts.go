package damage

// other makes an answer one of another model.
func other(n int) func(Store) { return mark(n, "modelID", "claude-other") }

// thought is a part of reasoning without a signature.
const thought = `{"type":"reasoning","text":"more","time":{"start":1,"end":2}}`

// thoughts are the order, the signatures and the models of reasoning.
var thoughts = []Kind{
	{"reasoning behind tool", thinkBehind(OneCall, "tool"), same("R1")},
	{"unsigned reasoning behind tool", every(thinkBehind(OneCall, "tool"), without(OneCall, "reasoning", "metadata")), same(Alive)},
	{"unsigned reasoning between two calls", add(TwoCalls, "tool", thought), same(Alive)},
	{"reasoning behind text", thinkBehind(OneCall, "text"), same(Alive)},
	{"answer of reasoning only", drop(Hello, "text"), same("R10")},
	{"last answer of reasoning only", drop(Goodbye, "text"), same("R10")},
	{"answer of unsigned reasoning only", every(drop(Hello, "text"), without(Hello, "reasoning", "metadata")), same("R6")},
	{"last answer of unsigned reasoning only", every(drop(Goodbye, "text"), without(Goodbye, "reasoning", "metadata")), same("R6")},
	{"reasoning last", thinkBehind(Hello, "text"), same("R10")},
	{"reasoning last in the last answer", thinkBehind(Goodbye, "text"), same("R10")},
	{"unsigned reasoning last", every(thinkBehind(Hello, "text"), without(Hello, "reasoning", "metadata")), same(Alive)},
	{"reasoning last in three answers", every(thinkBehind(Done, "text"), thinkBehind(Hello, "text"), thinkBehind(DoneAgain, "text")), same("R10")},
	{"unsigned reasoning", without(Hello, "reasoning", "metadata"), same(Alive)},
	{"altered reasoning", set(Hello, "reasoning", "text", "altered"), same("R7")},
	{"altered reasoning in the last answer", set(Goodbye, "reasoning", "text", "altered"), same("R7")},
	{"altered reasoning of a call", set(OneCall, "reasoning", "text", "altered"), same("R7")},
	{"reasoning emptied, signature kept", set(Hello, "reasoning", "text", ""), by(Alive, Alive, "R7")},
	{"altered signature", signed(fields{"anthropic": fields{"signature": "abc"}}), same("R7")},
	{"signature of no characters", signed(fields{"anthropic": fields{"signature": ""}}), same("R7")},
	{"signature null", signed(fields{"anthropic": fields{"signature": nil}}), same(Dead)},
	{"signature a number", signed(fields{"anthropic": fields{"signature": 5}}), same(Dead)},
	{"reasoning metadata null", signed(nil), same(Dead)},
	{"reasoning metadata flat", signed(fields{"x": 1}), same(Dead)},
	{"reasoning metadata a string", signed("x"), same(Dead)},
	{"reasoning of another provider", signed(fields{"openai": fields{"reasoningEncryptedContent": "gAAA"}}), same(Alive)},
	{"reasoning text missing", without(Hello, "reasoning", "text"), same(Dead)},
	{"redacted thinking", every(set(Hello, "reasoning", "text", ""), signed(fields{"anthropic": fields{"redactedData": "abc"}})), same(Alive)},
	{"redacted thinking last", every(signed(fields{"anthropic": fields{"redactedData": "abc"}}), thinkBehind(Hello, "text")), same("R10")},
	{"redacted data a number", signed(fields{"anthropic": fields{"redactedData": 5}}), same(Dead)},
	{"tool without thinking", drop(OneCall, "reasoning"), same(Alive)},
	{"answer of another model", other(Hello), same(Alive)},
	{"answer of another model, reasoning only", every(other(Hello), drop(Hello, "text")), by("R6", "R6", Alive)},
	{"answer of another model, empty text", every(other(Hello), Text(Hello, "")), by("R6", "R6", "R11")},
}
