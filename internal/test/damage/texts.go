package damage

// pluginMemory adds a plugin's part to the second prompt, with another form of id.
func pluginMemory(text string) func(Store) {
	return func(s Store) {
		for _, p := range nthPart(s, SecondPrompt, "text", 0) {
			s.Put(Record{Table: "part", ID: "supermemory-context-1", Owner: p.Owner, Data: `{"type":"text","text":"` + text + `","synthetic":true}`})
		}
	}
}

// texts has text parts and the parts between them.
var texts = []Kind{
	{"none", func(Store) {}, allVersions(Alive)},
	{"empty answer", Text(Hello, ""), byVersion("R10", "R10", "R11")},
	{"empty last answer", Text(Goodbye, ""), byVersion("R10", "R10", "R11")},
	{"empty answer without reasoning", combine(Text(Hello, ""), dropPart(Hello, "reasoning")), allVersions(Alive)},
	{"empty text beside tool", Text(OneCall, ""), byVersion(Alive, Alive, "R11")},
	{"empty prompt", Text(SecondPrompt, ""), allVersions(Alive)},
	{"empty first prompt", Text(FirstPrompt, ""), allVersions("R16")},
	{"empty text in a prompt", addPart(SecondPrompt, "text", `{"type":"text","text":""}`), allVersions(Alive)},
	{"blank answer", Text(Hello, " \n"), allVersions("R11")},
	{"blank last answer", Text(Goodbye, "\n\n"), allVersions("R11")},
	{"blank answer without reasoning", combine(Text(Hello, " "), dropPart(Hello, "reasoning")), allVersions("R11")},
	{"blank text beside tool", Text(OneCall, " \n"), allVersions("R11")},
	{"blank text after tool", addPart(OneCall, "tool", `{"type":"text","text":"\n"}`), byVersion("R1", "R1", "R11")},
	{"blank text between two calls", addPart(TwoCalls, "tool", `{"type":"text","text":" "}`), byVersion("R1", "R1", "R11")},
	{"blank prompt", Text(SecondPrompt, " \n"), allVersions("R11")},
	{"half a pair in an input", halfPair(OneCall, "tool", "input", `"note":"a\ud99c",`), byVersion(Alive, "R27", "R27")},
	{"half a pair in a key of an input", halfPair(OneCall, "tool", "input", `"a\udc00b":{"c":[1]},`), byVersion(Alive, "R27", "R27")},
	{"half a pair in an output", halfPair(OneCall, "tool", "output", `a\ud99c`), byVersion(Alive, "R27", Alive)},
	{"half a pair in an answer", halfPair(Hello, "text", "text", `a\ud99c`), byVersion(Alive, "R27", Alive)},
	{"half a pair in a prompt", halfPair(SecondPrompt, "text", "text", `a\ud99c`), byVersion(Alive, "R27", Alive)},
	{"blank first prompt", Text(FirstPrompt, "\t"), allVersions("R11")},
	{"blank text in a prompt", addPart(SecondPrompt, "text", `{"type":"text","text":" "}`), allVersions("R11")},
	{"answer of a no-break space", Text(Hello, "\u00a0"), allVersions("R11")},
	{"blank texts everywhere", combine(Text(FirstPrompt, " "), Text(OneCall, " "), Text(Done, " "), Text(SecondPrompt, " "), Text(Hello, " "), Text(TwoCalls, " "), Text(Goodbye, " ")), allVersions("R11")},
	{"ignored blank answer", combine(Text(Hello, " "), setPart(Hello, "text", "ignored", true)), allVersions("R11")},
	{"prompt of ignored text", setPart(SecondPrompt, "text", "ignored", true), allVersions(Alive)},
	{"text after tool", addPart(OneCall, "tool", `{"type":"text","text":"behind"}`), byVersion("R1", "R1", Alive)},
	{"text between two calls", addPart(TwoCalls, "tool", `{"type":"text","text":"between"}`), byVersion("R1", "R1", Alive)},
	{"text missing", unsetPart(Hello, "text", "text"), allVersions(Dead)},
	{"text missing in a prompt", unsetPart(SecondPrompt, "text", "text"), allVersions(Dead)},
	{"text null", setPart(Hello, "text", "text", nil), allVersions(Dead)},
	{"text null in a prompt", setPart(SecondPrompt, "text", "text", nil), allVersions(Dead)},
	{"text metadata null", setPart(Hello, "text", "metadata", nil), allVersions(Alive)},
	{"type missing", unsetPart(Hello, "text", "type"), allVersions("R10")},
	{"unknown part type", addPart(Hello, "text", `{"type":"novelty","x":1}`), allVersions(Alive)},
	{"parts of other programs", combine(
		addPart(Hello, "text", `{"type":"thinking","thinking":"x"}`),
		addPart(OneCall, "text", `{"type":"tool_use","id":"x","name":"y","input":{}}`),
		addPart(SecondPrompt, "text", `{"type":"tool_result","tool_use_id":"x","content":"y"}`)), allVersions(Alive)},
	{"no step-start", dropPart(OneCall, "step-start"), allVersions(Alive)},
	{"part id that sorts before prt", renamePart(Hello, "text", withPrefix("bad_prt_")), allVersions("R10")},
	{"part id that sorts after prt", renamePart(Hello, "text", withPrefix("txt_prt_")), allVersions(Alive)},
	{"text under a part_ id", renamePart(Hello, "text", withPrefix("part_")), allVersions("R10")},
	{"call under a part_ id", renamePart(OneCall, "tool", withPrefix("part_")), allVersions(Alive)},
	{"prompt under a part_ id", renamePart(SecondPrompt, "text", withPrefix("part_")), allVersions(Alive)},
	{"memory of a plugin in a prompt", pluginMemory("[MEMORY] x"), allVersions(Alive)},
	{"blank memory of a plugin in a prompt", pluginMemory(" "), allVersions("R11")},
}
