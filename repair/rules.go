package repair

import (
	"fmt"
	"strings"
	"sync"
)

// engineRules are the rules that agents share, by code: the providers' rules, and rules about content that only an error
// reveals or that an agent cannot send.
var engineRules = sync.OnceValue(func() map[string]Rule {
	const (
		noResult     = "A tool call would be sent without its result."
		noCall       = "A tool result would be sent without its tool call before it."
		empty        = "The message would be sent empty; the provider rejects that."
		noObject     = "The input of the tool call is not an object; the provider rejects that."
		noPrompt     = "The conversation starts with an assistant message: the first prompt is missing."
		duplicateID  = "An earlier tool call has the same id; ids must be unique."
		endsInAnswer = "The request would end with an answer, and the provider rejects that."
		lateAnswer   = "An assistant message that was written while the clock was wrong, dated a year ahead: every new " +
			"prompt sorts before it."
	)
	undecodable := rejectedFile("The provider cannot decode the image.", "")
	unicode := Rule{
		Class: InvalidUnicode, Why: whyHalfPair, Fixes: fixHalfPair,
		Example: `{"input": {"text": "\ud83d"}}: an emoji that was cut in half.`,
	}
	tooLong := Rule{Class: OutputTooLong, Why: whyTooLong, Fixes: fixTooLong}
	return map[string]Rule{
		"R1": {
			Class: ToolResultMissing, ClassOf: classOfLostCall, Why: whyLostCall, Fixes: fixLostCall,
			Example: "A bash call whose state is still \"running\", because the agent was closed; or a text between two tool " +
				"calls of one step.",
		},
		"R2": {
			Class: ToolResultMissing, Why: constant("A tool result would be sent without its tool call right before it."),
			Example: "A compaction whose kept part begins between a call and its result.",
			Fix: "Nothing stored is broken where a call and its result are stored as one. Fork the session before the " +
				"compaction.",
		},
		"R3": {
			Class: ThinkingBlockOrder, Why: constant("The tool loop of the newest assistant message is open, and the message " +
				"does not start with thinking. The provider requires that while thinking is on."), Fixes: fixLoopStart,
			Example: "The newest assistant message ended in a tool call and its thinking is lost or comes later.",
		},
		"R4": {
			Class: ThinkingDisabledViolation, Why: constant("The tool loop of the newest assistant message is open, and the " +
				"message contains thinking. The provider refuses that while thinking is off."), Fixes: fixLoopThinking,
			Example: "A tool loop that began with thinking on, continued with thinking off.",
			Fix:     "A text closes the tool loop, or the thinking of that message is removed.",
			Loses:   "The thinking, if it is removed.",
		},
		"R5": {
			Class: EmptyContentMessage, Why: whyBlank, Fixes: fixBlank,
			Example: `{"type": "text", "text": ""}`,
		},
		"R6": {
			Class: EmptyContentMessage, Why: constant(empty), Fixes: fixEmptyTurn,
			Example: "An assistant message that holds only unsigned thinking, which is not sent.",
		},
		"R7": {
			Asked: true, Class: ThinkingSignature, Why: constant("The provider rejects the signature of this thinking block, " +
				"and a signature cannot be created."), Fixes: fixThinking,
			Example: "A session that was edited, or copied from another account.",
		},
		"R8": {
			Asked: true, Class: ThinkingBlockModified, Why: constant("This thinking block was altered after the provider " +
				"signed it, and cannot be restored."), Fixes: fixThinking,
			Example: "Thinking that was edited by hand or by a plugin.",
		},
		"R9": {
			Class: ThinkingSignature, Why: constant("A thinking block without a signature would be sent; the provider rejects " +
				"that."), Fixes: fixThinking,
			Example: "A thinking block whose metadata lost the signature.",
			Fix:     "The block is removed.",
			Loses:   "That thinking block.",
		},
		"R10": {
			Class: ThinkingBlockOrder, ClassOf: classOfLast, Why: whyLast, Fixes: fixLast,
			Example: "The agent was stopped right after the model had thought.",
		},
		"R11": {
			Class: EmptyContentMessage, Why: whyBlank, Fixes: fixBlank,
			Example: `{"type": "text", "text": " \n"}`,
		},
		"R12": {
			Class: AssistantPrefillUnsupported, Why: constant(endsInAnswer),
			Example: lateAnswer,
		},
		"R13": {
			Class: InvalidToolCall, Why: whyCallID, Fixes: fixCallID,
			Example: `{"type": "tool", "callID": "call:1"}`,
		},
		"R14": {
			Class: InvalidToolCall, Why: constant(noObject), Fixes: fixInput,
			Example: `{"state": {"input": "ls -l"}}`,
			Loses:   "Nothing.",
		},
		"R15": rejectedFile("The image is larger than the provider's limit of 5 MB.",
			"A screenshot of 6 MB in a prompt or a tool result."),
		"R16": {
			Class: FirstPromptMissing, Why: constant(noPrompt), Fixes: fixFirstPrompt,
			Example: "The record of the first prompt was deleted.",
		},
		"R17": {
			Class: InvalidToolCall, Why: constant(duplicateID), Fixes: fixCallID,
			Example: "A message that was copied by a sync program.",
		},
		"R18": undecodable,
		"R19": rejectedFile("The image has a type that the provider does not accept.", ""),
		"R20": rejectedFile("The image is stored with a type that does not match its data, and the provider compares "+
			"them.", ""),
		"R21": rejectedFile("The image has more pixels a side than the provider accepts.", ""),

		"R27": unicode,
		"R28": {
			Asked: true, Class: ThinkingSignature, Why: whyBound, Fixes: fixBound,
			Example: "A prompt or a result before the thinking was edited, cleared or repaired.",
			Fix: "That thinking block goes, and all later ones with it: each records the one before it. Thinking before " +
				"it stays.",
			Loses: "These thinking blocks. Texts and tool calls stay.",
		},

		"O1": {Class: ToolResultMissing, Why: constant(noResult)},
		"O2": {Class: ToolResultMissing, Why: constant(noCall)},
		"O3": {
			Class: ItemID,
			Why:   constant("The provider looks up the items of this response by their ids, and one of them is missing."),
			Fixes: fixItemIDs,
		},
		"O4":  {Class: ItemID, Why: constant("An earlier item has the same id; ids must be unique."), Fixes: fixRepeatedItem},
		"O5":  {Class: InvalidToolCall, Why: whyToolName, Fixes: fixToolName},
		"O6":  {Class: InvalidToolCall, ClassOf: classOfLongID, Why: whyLongID, Fixes: fixLongID},
		"O9":  undecodable,
		"O11": {Class: ItemID, Why: constant("The id of the item does not match its type."), Fixes: fixItemIDs},
		"O12": tooLong,
		"O13": {
			Class: EncryptedReasoning,
			Why:   constant("Reasoning would be sent without its encrypted content; the provider rejects that."),
		},

		"O15": unicode,

		"C1": {Class: ToolResultMissing, Why: constant(noResult)},
		"C2": {Class: ToolResultMissing, Why: constant(noCall)},
		"C3": {Class: InvalidToolCall, Why: constant("Another tool call of the same step has the same id."), Fixes: fixCallID},
		"C4": {Class: InvalidToolCall, Why: whyIDLength, Fixes: fixCallID},
		"C5": {Class: InvalidToolCall, Why: whyToolName, Fixes: fixToolName},
		"C6": {
			Class: EmptyContentMessage,
			Why:   constant("The assistant message has neither text nor a tool call, and is sent with null as its content."),
			Fixes: fixEmptyTurn,
		},
		"C8":  undecodable,
		"C9":  tooLong,
		"C10": unicode,
		"V1": {
			Class: EmptyContentMessage,
			Why:   whyVendor("The assistant message has neither text nor a tool call", "Moonshot (Kimi)", "DeepSeek"),
			Fixes: fixEmptyTurn,
		},
		"V2": {
			Class: InvalidToolCall, Why: whyVendor("The input of the tool call is not an object", "Qwen (DashScope)"),
			Fixes: fixInput,
		},
		"V3": {
			Class: ThinkingBlockOrder,
			Why:   whyVendor("The tool call would be sent without reasoning", "Moonshot (Kimi)", "DeepSeek"),
			Fixes: fixMissingReasoning,
		},
		"V4": {Class: InvalidToolCall, Why: whyVendor("An earlier tool call has the same id", "DeepSeek"), Fixes: fixCallID},

		"G2": {Class: EmptyContentMessage, Why: constant(empty), Fixes: fixEmptyTurn},
		"G4": {
			Class: FirstPromptMissing,
			Why:   constant("The assistant message calls a tool and follows no prompt: the prompt before it is missing."),
			Fixes: fixLostPrompt,
		},
		"G5": {Class: ToolResultMissing, Why: constant("A tool result would be sent without its tool call right before it.")},
		"G6": {Class: ToolResultMissing, Why: constant("A tool call would be sent without its result right after it.")},
		"G7": {
			Class: EncryptedReasoning,
			Why:   constant("A tool call of the current turn has no signature, and the provider requires one."),
		},
		"G9":  {Class: InvalidToolCall, Why: whyGeminiCall, Fixes: fixGeminiCall},
		"G10": undecodable,
		"G12": {
			Class: AssistantPrefillUnsupported,
			Why:   constant(endsInAnswer), Example: lateAnswer,
		},

		"G13": unicode,

		"B12": unicode,
		"B1":  {Class: FirstPromptMissing, Why: constant(noPrompt), Fixes: fixFirstPrompt},
		"B3":  {Class: EmptyContentMessage, Why: constant(empty), Fixes: fixEmptyTurn},
		"B4":  {Class: EmptyContentMessage, Why: whyBlankBlock, Fixes: fixBlankBlock},
		"B5":  {Class: InvalidToolCall, Why: whyIDLength, Fixes: fixCallID},
		"B7":  {Class: InvalidToolCall, Why: constant(duplicateID), Fixes: fixCallID},
		"B8":  {Class: ToolResultMissing, ClassOf: classOfLostCall, Why: whyLostCall, Fixes: fixLostCall},
		"B10": rejectedFile("The image is larger than the provider's limit of 3.75 MB, cannot be decoded, or is stored "+
			"with a type that does not match its data.", ""),
		"B11": {Class: ThinkingBlockOrder, ClassOf: classOfLast, Why: whyLast, Fixes: fixLast},

		"thinking": {
			Asked: true, Class: ThinkingDisabledViolation, Why: whyThinking, Fixes: fixThinkingOff,
			Meaning: "The session contains thinking. That is a problem only if the model does not support thinking, so mend " +
				"looks for it only when asked.",
		},
		"encrypted": {
			Asked: true, Class: EncryptedReasoning, Why: constant("The encrypted reasoning was created under another account " +
				"or key, and only that one can use it."), Fixes: fixEncrypted,
			Words: "reasoning `encrypted_content` was not issued to this caller",
		},
		"item": {
			Asked: true, Class: ItemID, Why: constant("The provider does not have the item with this id."), Fixes: fixItemIDs,
		},
		"reasoning": {
			Asked: true, Class: ThinkingBlockOrder,
			Why:   constant("The tool call would be sent without reasoning; a provider whose model thinks rejects that."),
			Fixes: fixMissingReasoning,
		},
		"image": {
			Asked: true, Class: InvalidFile, Why: constant("The provider rejected this image."), Fixes: fixFile,
			Meaning: "An image that the provider's error names.",
		},
		"media": {
			Class: InvalidFile, Why: whyUnsendable, Fixes: fixFile,
			Meaning: "A file cannot be sent to the model, and the agent fails on it.",
			Example: "A link to a file that no longer exists.",
		},
		"unavailable": {
			Asked: true, Class: UnavailableTool, Why: whyUnfinished, Fixes: fixUnfinished,
			Words: "Model tried to call unavailable tool 'NAME'",
		},
		"unfinished": {
			Class: ToolResultMissing, Why: whyUnfinished, Fixes: fixUnfinished,
			Meaning: "A tool call is still marked as running or pending, although the agent was stopped. It shows as still " +
				"running.",
			Example: `{"state": {"status": "running"}}`,
		},
		"tool-name": {
			Class: InvalidToolCall, Why: whyToolName, Fixes: fixToolName,
			Meaning: "The name of a tool contains characters that some providers reject.",
			Example: `{"tool": "web search"}`,
		},
		"order": {
			Class: ThinkingBlockOrder, Why: constant("The thinking is not first in its step. In an open tool loop the provider " +
				"requires it to be first."), Fixes: (*Fault).moveOrRemove,
		},
		"nothing": {
			Class: EmptyContentMessage, Why: whyNothing, Fixes: fixEmptyTurn,
			Meaning: "A message has no content that the agent would send. It is not sent at all.",
			Example: "An assistant message with only a step-start marker.",
		},
	}
})

// whyVendor returns the Why of a rule that only some vendors enforce.
func whyVendor(what, vendor string, others ...string) func(*Fault) string {
	all := append([]string{vendor + " refuses that"}, others...)
	return constant(fmt.Sprintf("%s; %s.", what, strings.Join(all, ", and so does ")))
}

func whyThinking(x *Fault) string {
	n := len(x.thoughts())
	if n == 1 {
		return "The message contains thinking, but the model does not support thinking."
	}
	return fmt.Sprintf("The message contains %d thinking blocks, but the model does not support thinking.", n)
}

func whyUnfinished(x *Fault) string {
	if x.block == nil {
		return "A call never got a result."
	}
	return fmt.Sprintf("The %s never got a result: the agent was stopped.", callName(x.block))
}

func whyNothing(x *Fault) string {
	if len(x.message.Blocks()) == 0 {
		return "The message has no content, so it is not sent."
	}
	return "The assistant message has nothing that is sent."
}
