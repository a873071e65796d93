package damage

var results = []Kind{
	{"completed without output", unsetState("output"), allVersions(Dead)},
	{"output null", setState("output", nil), allVersions(Dead)},
	{"output of no characters", setState("output", ""), allVersions(Alive)},
	{"output of blanks", setState("output", " \n"), allVersions(Alive)},
	{"output cleared", setState("time", fields{"start": 1, "end": 2, "compacted": 3}), allVersions(Alive)},
	{"completed without title", unsetState("title"), allVersions(Alive)},
	{"completed without metadata", unsetState("metadata"), allVersions(Alive)},
	{"completed without time", unsetState("time"), allVersions(Dead)},
	{"completed by hand", setStates(OneCall, fields{"status": "completed", "input": fields{"command": "x"}, "time": fields{"start": 1}}), allVersions(Dead)},
	{"completed by hand without anything", setStates(OneCall, fields{"status": "completed"}), allVersions(Dead)},
	{"failed without error", combine(setStates(OneCall, abortedState), unsetState("error")), allVersions(Alive)},
	{"failed with error null", combine(setStates(OneCall, abortedState), setState("error", nil)), allVersions(Alive)},
	{"failed with an empty error", combine(setStates(OneCall, abortedState), setState("error", "")), allVersions(Alive)},
	{"failed with an object", combine(setStates(OneCall, abortedState), setState("error", fields{"message": "x"})), allVersions(Alive)},
	{"failed without time", combine(setStates(OneCall, abortedState), unsetState("time")), allVersions(Alive)},
	{"failed without anything", setStates(OneCall, fields{"status": "error"}), allVersions("R14")},
}
