package damage

// otherModel sets another model in an answer.
func otherModel(n int) func(Store) { return setMessage(n, "modelID", "claude-other") }

// unsignedReasoning is a reasoning part without a signature.
const unsignedReasoning = `{"type":"reasoning","text":"more","time":{"start":1,"end":2}}`

// reasoning has orders, signatures and models of reasoning.
var reasoning = []Kind{
	{"reasoning after tool", moveReasoningAfter(OneCall, "tool"), allVersions("R1")},
	{"unsigned reasoning after tool", combine(moveReasoningAfter(OneCall, "tool"), unsetPart(OneCall, "reasoning", "metadata")), allVersions(Alive)},
	{"unsigned reasoning between two calls", addPart(TwoCalls, "tool", unsignedReasoning), allVersions(Alive)},
	{"reasoning after text", moveReasoningAfter(OneCall, "text"), allVersions(Alive)},
	{"answer of reasoning only", dropPart(Hello, "text"), allVersions("R10")},
	{"last answer of reasoning only", dropPart(Goodbye, "text"), allVersions("R10")},
	{"answer of unsigned reasoning only", combine(dropPart(Hello, "text"), unsetPart(Hello, "reasoning", "metadata")), allVersions("R6")},
	{"last answer of unsigned reasoning only", combine(dropPart(Goodbye, "text"), unsetPart(Goodbye, "reasoning", "metadata")), allVersions("R6")},
	{"reasoning last", moveReasoningAfter(Hello, "text"), allVersions("R10")},
	{"reasoning last in the last answer", moveReasoningAfter(Goodbye, "text"), allVersions("R10")},
	{"unsigned reasoning last", combine(moveReasoningAfter(Hello, "text"), unsetPart(Hello, "reasoning", "metadata")), allVersions(Alive)},
	{"reasoning last in three answers", combine(moveReasoningAfter(Done, "text"), moveReasoningAfter(Hello, "text"), moveReasoningAfter(DoneAgain, "text")), allVersions("R10")},
	{"unsigned reasoning", unsetPart(Hello, "reasoning", "metadata"), allVersions(Alive)},
	{"altered reasoning", setPart(Hello, "reasoning", "text", "altered"), allVersions("R7")},
	{"altered reasoning in the last answer", setPart(Goodbye, "reasoning", "text", "altered"), allVersions("R7")},
	{"altered reasoning of a call", setPart(OneCall, "reasoning", "text", "altered"), allVersions("R7")},
	{"reasoning emptied, signature kept", setPart(Hello, "reasoning", "text", ""), byVersion(Alive, Alive, "R7")},
	{"altered signature", setReasoningMetadata(fields{"anthropic": fields{"signature": "abc"}}), allVersions("R7")},
	{"signature of no characters", setReasoningMetadata(fields{"anthropic": fields{"signature": ""}}), allVersions("R7")},
	{"reasoning metadata null", setReasoningMetadata(nil), allVersions(Dead)},
	{"reasoning of another provider", setReasoningMetadata(fields{"openai": fields{"reasoningEncryptedContent": "gAAA"}}), allVersions(Alive)},
	{"redacted thinking", combine(setPart(Hello, "reasoning", "text", ""), setReasoningMetadata(fields{"anthropic": fields{"redactedData": "abc"}})), allVersions(Alive)},
	{"redacted thinking last", combine(setReasoningMetadata(fields{"anthropic": fields{"redactedData": "abc"}}), moveReasoningAfter(Hello, "text")), allVersions("R10")},
	{"tool without thinking", dropPart(OneCall, "reasoning"), allVersions(Alive)},
	{"answer of another model", otherModel(Hello), allVersions(Alive)},
	{"answer of another model, reasoning only", combine(otherModel(Hello), dropPart(Hello, "text")), byVersion("R6", "R6", Alive)},
	{"answer of another model, empty text", combine(otherModel(Hello), Text(Hello, "")), byVersion("R6", "R6", "R11")},
}
