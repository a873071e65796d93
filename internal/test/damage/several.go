package damage

// reasoningAnswers lists the fixture's responses with reasoning.
var reasoningAnswers = []int{OneCall, Done, Hello, TwoCalls, DoneAgain, Goodbye}

func alterSignatures(s Store) {
	for _, n := range reasoningAnswers {
		setPart(n, "reasoning", "metadata", fields{"anthropic": fields{"signature": "abc"}})(s)
	}
}

// several has damage of several blocks; the error names one of them.
var several = []Kind{
	{"every signature altered", alterSignatures, allVersions("R7")},
	{"every signature altered, and a blank answer", combine(alterSignatures, Text(Hello, " \n")), allVersions("R7")},
	{"completed without output, twice", combine(unsetState("output"), editPart(TwoCalls, "tool", 1, func(p fields) {
		if state, ok := p["state"].(fields); ok {
			delete(state, "output")
		}
	})), allVersions(Dead)},
}
