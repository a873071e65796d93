package damage

// interrupt leaves a response in the state after a kill of the program.
func interrupt(n int) func(Store) {
	return combine(dropPart(n, "step-finish"), unsetMessage(n, "finish"), editMessage(n, func(m fields) {
		if time, ok := m["time"].(fields); ok {
			delete(time, "completed")
		}
	}))
}

// setError stores an error in an answer.
func setError(n int, name string) func(Store) {
	return setMessage(n, "error", fields{"name": name, "data": fields{"message": "x", "isRetryable": false}})
}

// dropAfter removes all messages after number n.
func dropAfter(n int) func(Store) {
	return func(s Store) {
		for i := Goodbye; i > n; i-- {
			dropMessage(i)(s)
		}
	}
}

var abortedState = fields{"status": "error", "input": fields{}, "error": "Tool execution aborted", "time": fields{"start": 1, "end": 2}}

// The states of a call that never ended.
var (
	runningState = fields{"status": "running", "input": fields{"command": "x"}, "time": fields{"start": 1}}
	pendingState = fields{"status": "pending", "input": fields{}, "raw": ""}
)

// setStates sets the states of a message's calls.
func setStates(n int, states ...fields) func(Store) {
	return func(s Store) {
		for i, state := range states {
			editPart(n, "tool", i, func(p fields) { p["state"] = state })(s)
		}
	}
}

// interrupted has responses that the user, an error or a kill stopped.
var interrupted = []Kind{
	{"tool running", setStates(OneCall, runningState), allVersions(Alive)},
	{"tool pending", setStates(OneCall, pendingState), allVersions(Alive)},
	{"two tools unfinished", setStates(TwoCalls, runningState, pendingState), allVersions(Alive)},
	{"every tool unfinished", combine(setStates(OneCall, runningState), setStates(TwoCalls, pendingState, runningState)), allVersions(Alive)},
	{"aborted call", setStates(OneCall, abortedState), allVersions(Alive)},
	{"aborted calls", combine(setStates(OneCall, abortedState), setStates(TwoCalls, abortedState, abortedState)), allVersions(Alive)},
	{"killed in a call", combine(dropAfter(OneCall), interrupt(OneCall), setStates(OneCall, runningState)), allVersions(Alive)},
	{"killed in two calls", combine(dropAfter(TwoCalls), interrupt(TwoCalls), setStates(TwoCalls, runningState, pendingState)), allVersions(Alive)},
	{"killed in a call without reasoning", combine(dropAfter(TwoCalls), interrupt(TwoCalls), setStates(TwoCalls, runningState, pendingState), dropPart(TwoCalls, "reasoning")), allVersions("R3")},
	{"killed between calls and answer", combine(dropAfter(TwoCalls), interrupt(TwoCalls)), allVersions(Alive)},
	{"killed in reasoning", combine(interrupt(Goodbye), dropPart(Goodbye, "text"), unsetPart(Goodbye, "reasoning", "metadata"), setPart(Goodbye, "reasoning", "time", fields{"start": 1})), allVersions("R6")},
	{"killed after reasoning", combine(interrupt(Goodbye), dropPart(Goodbye, "text")), allVersions("R10")},
	{"killed in an answer", combine(interrupt(Goodbye), setPart(Goodbye, "text", "time", fields{"start": 1})), allVersions(Alive)},
	{"killed at the start of an answer", combine(interrupt(Goodbye), dropPart(Goodbye, "text"), dropPart(Goodbye, "reasoning")), allVersions(Alive)},
	{"killed before an answer", combine(interrupt(Goodbye), dropParts(Goodbye)), allVersions(Alive)},
	{"error message", setError(Hello, "APIError"), allVersions(Alive)},
	{"failed answer of reasoning", combine(setError(Hello, "APIError"), interrupt(Hello), dropPart(Hello, "text")), allVersions(Alive)},
	{"failed answers in a row", combine(setError(Done, "APIError"), interrupt(Done), dropPart(Done, "text"), dropMessage(SecondPrompt), setError(Hello, "APIError"), interrupt(Hello), dropPart(Hello, "text")), allVersions(Alive)},
	{"failed last answer", combine(setError(Goodbye, "APIError"), interrupt(Goodbye), dropPart(Goodbye, "text")), allVersions(Alive)},
	{"aborted answer", setError(Hello, "MessageAbortedError"), allVersions(Alive)},
	{"aborted answer of reasoning", combine(setError(Hello, "MessageAbortedError"), interrupt(Hello), dropPart(Hello, "text")), allVersions(Alive)},
	{"aborted answer of reasoning and step-finish", combine(setError(Hello, "MessageAbortedError"), dropPart(Hello, "text")), allVersions("R10")},
	{"aborted answer of unsigned reasoning and step-finish", combine(setError(Hello, "MessageAbortedError"), dropPart(Hello, "text"), unsetPart(Hello, "reasoning", "metadata")), allVersions("R6")},
	{"aborted answer of a step-start", combine(setError(Hello, "MessageAbortedError"), interrupt(Hello), dropPart(Hello, "text"), dropPart(Hello, "reasoning")), allVersions(Alive)},
	{"aborted answer with a patch", combine(setError(Hello, "MessageAbortedError"), interrupt(Hello), addPart(Hello, "text", `{"type":"patch","hash":"x","files":["y"]}`), dropPart(Hello, "text")), allVersions("R10")},
	{"aborted answer with a blank text", combine(setError(Hello, "MessageAbortedError"), interrupt(Hello), Text(Hello, " ")), allVersions("R11")},
	{"aborted answers in a row", combine(setError(Done, "MessageAbortedError"), dropPart(Done, "text"), dropMessage(SecondPrompt), setError(Hello, "MessageAbortedError"), dropPart(Hello, "text")), allVersions(Alive)},
	{"aborted call with an aborted answer", combine(setError(OneCall, "MessageAbortedError"), interrupt(OneCall), setStates(OneCall, abortedState), dropMessage(Done)), allVersions(Alive)},
	{"error null", setMessage(Hello, "error", nil), allVersions(Alive)},
	{"error a string", setMessage(Hello, "error", "MessageAbortedError"), allVersions(Alive)},
}
