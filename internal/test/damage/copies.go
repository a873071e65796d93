package damage

// copies has copies of messages under the name of a message, which the agent of the tree
// treats as newer than every prompt and answer.
var copies = []Kind{
	{"a copy of an answer that sorts behind every prompt", copyMessage(Hello, "msg_x.json"), treeOnly("R12")},
	{"a copy of an answer with a call that sorts behind every prompt", copyMessage(OneCall, "msg_x.json"), treeOnly("R12")},
	{"a copy of a prompt that sorts behind every prompt", copyMessage(FourthPrompt, "msg_x.json"), treeOnly(Dead)},
	{"a copy of an answer that sorts before all", copyMessage(Hello, "msg_0.json"), treeOnly(Alive)},
}

// copyMessage adds a copy of the message beside it.
func copyMessage(n int, name string) func(Store) {
	return func(s Store) {
		for _, m := range nthMessage(s, n) {
			addFileBeside(s, "message/"+sessionOf(m)+"/", m, name, "")
		}
	}
}
