package damage

// sameCallID gives the same callID to all calls that the functions finds return.
func sameCallID(finds ...func(s Store) []Record) func(Store) {
	return func(s Store) {
		for _, find := range finds {
			for _, p := range find(s) {
				s.Put(p.Edit(func(p fields) { p["callID"] = "call_1" }))
			}
		}
	}
}

func oneCall(s Store) []Record    { return nthPart(s, OneCall, "tool", 0) }
func firstCall(s Store) []Record  { return nthPart(s, TwoCalls, "tool", 0) }
func secondCall(s Store) []Record { return nthPart(s, TwoCalls, "tool", 1) }

// callFields has ids, names and inputs of calls.
var callFields = []Kind{
	{"one callID in a step", sameCallID(firstCall, secondCall), allVersions("R17")},
	{"one callID in two messages", sameCallID(oneCall, firstCall), allVersions("R17")},
	{"one callID three times", sameCallID(oneCall, firstCall, secondCall), allVersions("R17")},
	{"callIDs that become one", combine(setCall("callID", "a:b"), setPart(TwoCalls, "tool", "callID", "a_b")), allVersions("R17")},
	{"callID of another provider", setCall("callID", "functions.read:0"), allVersions(Alive)},
	{"empty callID", setCall("callID", ""), allVersions("R13")},
	{"empty callIDs in a step", combine(setPart(TwoCalls, "tool", "callID", ""), editPart(TwoCalls, "tool", 1, func(p fields) { p["callID"] = "" })), allVersions("R13")},
	{"callID missing", unsetPart(OneCall, "tool", "callID"), allVersions(Dead)},
	{"callID null", setCall("callID", nil), allVersions(Dead)},
	{"tool missing", unsetPart(OneCall, "tool", "tool"), allVersions(Alive)},
	{"tool of no characters", setCall("tool", ""), allVersions(Alive)},
	{"tool a number", setCall("tool", 5), allVersions(Alive)},
	{"bad tool name", setCall("tool", "run the tests!"), allVersions(Alive)},
	{"bad tool name pending", combine(setCall("tool", "run the tests!"), setStates(OneCall, pendingState)), allVersions(Alive)},
	{"tool invalid", combine(setCall("tool", "invalid"), setState("input", fields{"tool": "nonesuch", "error": "x"})), allVersions(Alive)},
	{"state missing", unsetPart(OneCall, "tool", "state"), allVersions(Dead)},
	{"state null", setCall("state", nil), allVersions(Dead)},
	{"state a string", setCall("state", "completed"), allVersions(Alive)},
	{"status missing", unsetState("status"), allVersions(Alive)},
	{"status unknown", setState("status", "novel"), allVersions(Alive)},
	{"input a string", setState("input", "echo hi"), allVersions("R14")},
	{"input a list", setState("input", []any{1}), allVersions("R14")},
	{"input null", setState("input", nil), allVersions("R14")},
	{"input a number", setState("input", 5), allVersions("R14")},
	{"input missing", unsetState("input"), allVersions("R14")},
	{"input a string, running", combine(setStates(OneCall, runningState), setState("input", "echo hi")), allVersions("R14")},
	{"input missing, pending", setStates(OneCall, fields{"status": "pending"}), allVersions("R14")},
	{"input null, failed", combine(setStates(OneCall, abortedState), setState("input", nil)), allVersions("R14")},
	{"tool metadata null", setCall("metadata", nil), allVersions(Alive)},
}
