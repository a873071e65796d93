package repair

import (
	"cmp"

	"mend/internal/request"
)

// An Explanation explains a code in the output.
type Explanation struct {
	Code     string `json:"code"`               // a rule such as R11, a class, or a severity
	Provider string `json:"provider,omitempty"` // the provider that has the rule, such as "anthropic"; "" for none
	Class    Class  `json:"class,omitempty"`    // class of a rule; "" for none
	Tier     Tier   `json:"tier,omitempty"`     // tier of a class, or of the class of a rule
	Meaning  string `json:"meaning"`            // sentences
	Words    string `json:"words,omitempty"`    // the error of the provider or the agent, "" for none
	Example  string `json:"example,omitempty"`  // an example of stored data
	Fix      string `json:"fix,omitempty"`      // what a repair changes
	Loses    string `json:"loses,omitempty"`    // what the user loses by the fix
	Healed   string `json:"healed,omitempty"`   // the first version of the agent that needs no repair, and what it does
	NoFix    string `json:"-"`                  // for a rule without a fix: why, and what the user can do
}

// A Guide explains an agent's findings.
type Guide struct {
	Classes []Class              // the classes that a user can ask for by name
	Rules   func() []Explanation // one for each rule
	Class   func(Class) Explanation
}

// Guide explains the agent's own rules of the table.
func (t *Rules) Guide(classes ...Class) Guide {
	explain := func() (all []Explanation) {
		for _, r := range t.Own {
			all = append(all, t.Explain(Explanation{Code: r.Code}))
		}
		return all
	}
	return Guide{Classes: classes, Rules: explain, Class: t.ExplainClass}
}

// ExplainClass explains a class of this package. For any other class the explanation has only the code.
func ExplainClass(c Class) Explanation { return (&Rules{}).ExplainClass(c) }

// ExplainClass explains a class. For an unknown class the explanation has only the code.
func (t *Rules) ExplainClass(c Class) Explanation {
	e, ok := t.classes[c]
	if !ok {
		e = classExplanations[c]
	}
	e.Tier = cmp.Or(e.Tier, classExplanations[c].Tier) // an agent's row may replace the words of an engine's class
	e.Code = string(c)
	return e
}

// Explain completes the explanation of a rule from the table, then from its class.
func (t *Rules) Explain(e Explanation) Explanation {
	r := t.Rule(e.Code)
	e.Class = cmp.Or(r.Class, e.Class)
	e.Meaning, e.Words, e.Example = cmp.Or(e.Meaning, r.Meaning), cmp.Or(e.Words, r.Words), cmp.Or(e.Example, r.Example)
	e.Fix, e.Loses, e.Healed = cmp.Or(e.Fix, r.Fix), cmp.Or(e.Loses, r.Loses), r.Healed
	class := t.ExplainClass(e.Class)
	e.Tier = class.Tier
	if r.Fixes == nil {
		e.NoFix = r.NoFix
	}
	e.Meaning = cmp.Or(e.Meaning, class.Meaning, "The provider rejects requests with this error.")
	switch {
	case e.Fix != "":
	case r.Fixes == nil && r.NoFix != "":
		e.Fix = r.NoFix
	case class.Fix != "":
		e.Fix, e.Loses = class.Fix, cmp.Or(e.Loses, class.Loses)
	case r.Fixes != nil:
		e.Fix = "mend fix shows what it changes, and asks."
	default:
		e.Fix = "mend knows no fix in the store. Continue in a new session, or fork this one before the message that the " +
			"error names."
	}
	return e
}

// ExplainSeverity explains a severity.
func ExplainSeverity(s Severity) Explanation {
	e := severityExplanations[s]
	e.Code = s.String()
	return e
}

var severityExplanations = map[Severity]Explanation{
	Broken: {
		Meaning: "Unusable now: the provider refuses the session, or the agent crashes on it.",
		Fix:     "mend fix repairs it.",
	},
	Latent: {
		Meaning: "It works now, but would break if you continued it in another way, such as with another model or " +
			"command; or the agent shows it as running, or only in part. `mend scan --at-risk` also lists what another " +
			"version of the agent, or thinking switched on or off, would break.",
		Fix: "mend fix --at-risk repairs it.",
	},
	Lost: {
		Meaning: "The session works, but a prompt, an answer or the result of a tool call is missing from it or cannot be " +
			"read. The agent continues without it, and does not report that.",
		Fix: "A repair cannot bring it back. mend restore does, if it was kept.",
	},
	Note: {
		Meaning: "Untidy, but harmless. mend scan --all shows notes.",
		Fix:     "Nothing needs to be fixed.",
	},
}

var classExplanations = map[Class]Explanation{
	ToolResultMissing: {
		Tier: Auto,
		Meaning: "A tool call has no result right after it. Usually the agent was interrupted while the tool ran, or a " +
			"text was placed after the call.",
		Fix:   "The call is marked as failed and keeps its input. Text after a call is moved after its result.",
		Loses: "Nothing.",
	},
	ThinkingBlockOrder: {
		Tier: Auto,
		Meaning: "A thinking block is not first in its step, or it is the last block of a message; or an unfinished tool " +
			"loop has no thinking at its start.",
		Fix: "The thinking moves to the front of its step; only its id changes. Where that is not enough, a " +
			"placeholder text closes the message.",
		Loses: "Nothing, if the thinking is signed.",
	},
	ThinkingDisabledViolation: {
		Tier:    Auto,
		Meaning: "The session contains thinking, but the model is asked without thinking, or does not support it.",
		Fix: "Those thinking blocks are removed. mend does so only if you ask for this class, or pass the provider's " +
			"error.",
		Loses: "Those thinking blocks.",
	},
	EmptyContentMessage: {
		Tier:    Auto,
		Meaning: "A text is empty or only whitespace, or a message would be sent without content.",
		Fix:     `The text becomes "[user interrupted]". If the message has other content, the blank text is removed.`,
		Loses:   "Nothing.",
	},
	InvalidToolCall: {
		Tier: Auto,
		Meaning: "The id, the name or the input of a tool call is one that the provider rejects: an empty or duplicate " +
			"id, a name with a blank, an input that is not an object.",
		Fix:   "The call gets a new id or a valid name, or its input is wrapped in an object.",
		Loses: "The former id or name.",
	},
	InvalidFile: {
		Tier: Auto,
		Meaning: "An image or another file cannot be sent: it is too large, damaged, or of a type that the model does not " +
			"accept.",
		Fix:   "A line of text replaces the file and says what it was.",
		Loses: "The file. Its bytes stay in the journal.",
	},
	InvalidUnicode: {
		Tier: Auto,
		Meaning: "A text or the input of a tool call contains half of a surrogate pair: half of an emoji, for example. " +
			"The agent sends it unchanged, and the provider cannot read the request.",
		Fix:   "U+FFFD (\uFFFD) replaces that half.",
		Loses: "Nothing: half of a character cannot be shown.",
	},
	FirstPromptMissing: {
		Tier:    Auto,
		Meaning: "The conversation starts with an assistant message, because its first prompt is lost.",
		Fix:     "A placeholder prompt is inserted.",
		Loses:   "Nothing.",
	},
	OutputTooLong: {
		Tier:    Ask,
		Meaning: "The result of a tool call is longer than the provider accepts in one text.",
		Fix:     "The result is replaced with the note that the agent itself writes for old results, or it is shortened.",
		Loses:   "What is no longer sent. The stored text stays in the journal.",
	},
	ContextTooLong: {
		Tier:    Report,
		Meaning: "The next request is longer than the model's context window. Nothing in the session is broken.",
		Fix:     "mend trim clears old results of tools in the request. They stay in the store.",
		Loses:   "Nothing in the store. The model no longer sees these results.",
	},
	IncompleteRecord: {
		Tier:    Auto,
		Meaning: "A field that the agent needs is missing or has the wrong type.",
		Fix: "A missing field gets its value from the session, or a neutral value. A value of a wrong type is not " +
			"changed.",
		Loses: "Nothing.",
	},
	UnreadableRecord: {
		Tier:    Auto,
		Meaning: "Something stored is truncated, empty, full of NUL bytes, or cannot be opened.",
		Fix:     "Readable content is kept, the rest is rebuilt.",
		Loses:   "What cannot be read.",
	},
	HiddenSession: {Tier: Ask},
	MissingFolder: {Tier: Ask},
	MissingHistory: {
		Tier:    Ask,
		Meaning: "Prompts, answers or outputs are stored, and the agent does not send them to the model, without a message.",
		Fix:     "They are put where the agent reads them.",
		Loses:   "Nothing.",
	},
	LostContent: {
		Tier: Report,
		Meaning: "Messages of the session are lost: their content is no longer in the store. The agent answers " +
			"without them.",
		Fix: "A repair cannot bring it back. mend restore does, if it was kept.",
	},
	ThinkingSignature: {
		Tier: Auto,
		Meaning: "The provider rejects the signature of a thinking block. Only the provider can check a signature, so " +
			"mend needs its error.",
		Fix:   "mend fix --error TEXT removes the block that the error names. With --all it removes all of this kind.",
		Loses: "Those thinking blocks.",
	},
	EncryptedReasoning: {
		Tier:    Auto,
		Meaning: "The session contains reasoning that was encrypted for another account or key. No other can use it.",
		Fix:     "mend fix --error TEXT removes the encrypted part. A readable summary stays.",
		Loses:   "The encrypted reasoning.",
	},
	ThinkingBlockModified: {
		Tier:    Ask,
		Meaning: "A thinking block of the newest assistant message was altered after the provider signed it.",
		Fix:     "mend fix --error TEXT removes the block. mend never writes or forges thinking.",
		Loses:   "That thinking block.",
	},
	UnavailableTool: {
		Tier:    Auto,
		Meaning: "The model called a tool that does not exist.",
		Fix:     "The call is marked as failed and keeps its input.",
		Loses:   "Nothing.",
	},
	AssistantPrefillUnsupported: {
		Tier: Auto,
		Meaning: "The request ends with an assistant message. Usually nothing stored is broken: send any message. It also " +
			"happens if a message is dated in the future.",
		Fix: "A message that is dated in the future can be set aside: its right time is unknown.",
	},
	request.ItemID: {
		Tier:    Auto,
		Meaning: "The request names an item by an id that the provider does not have, has twice, or needs other items for.",
		Fix:     "The id is removed. The same content is then sent in full.",
		Loses:   "The item's id.",
	},
}
