package repair

import (
	"fmt"
	"strings"
	"sync"
)

// remedies are what mend knows of the rules of the providers, by their codes.
var remedies = sync.OnceValue(func() map[string]remedy {
	const noResult, noCall = "A tool call would be sent without its result.", "A tool result would be sent without its tool call before it."
	const empty, noObject = "The message would be sent empty; the provider rejects that.", "The input of the tool call is not an object; the provider rejects that."
	const noPrompt, twice = "The conversation starts with an assistant message: the first prompt is missing.", "An earlier tool call has the same id; ids must be unique."
	const lateAnswer = "An assistant message that was written while the clock was wrong, dated a year ahead: every new prompt sorts before it."
	file := remedy{Class: InvalidFile, why: whyFile, fixes: fixFile}
	tooLong := remedy{Class: OutputTooLong, why: whyTooLong, fixes: fixTooLong}
	return map[string]remedy{
		"R1": {
			Class: ToolResultMissing, class: classOfLostCall, why: whyLostCall, fixes: fixLostCall,
			example: "A bash call whose state is still \"running\", because the agent was closed; or a text between two tool calls of one step.",
			fix:     "An unfinished call is marked as failed and keeps its input. A text after a call is sent after the result.",
			loses:   "Nothing.",
		},
		"R2": {
			Class: ToolResultMissing, why: always("A tool result would be sent without its tool call right before it."),
			example: "A compaction whose kept part begins between a call and its result.",
			fix:     "Nothing stored is broken where a call and its result are one record. Fork the session before the compaction.",
		},
		"R3": {
			Class: ThinkingBlockOrder, why: always("The tool loop of the newest assistant message is open, and the message does not start with thinking. The provider requires that while thinking is on."), fixes: fixLoopStart,
			example: "The newest assistant message ended in a tool call and its thinking is lost or comes later.",
			fix:     "The thinking moves to the front, or a text closes the tool loop.",
			loses:   "Nothing.",
		},
		"R4": {
			Class: ThinkingDisabledViolation, why: always("The tool loop of the newest assistant message is open, and the message contains thinking. The provider refuses that while thinking is off."), fixes: fixLoopThinking,
			example: "A tool loop that began with thinking on, continued with thinking off.",
			fix:     "A text closes the tool loop, or the thinking of that message is removed.",
			loses:   "The thinking, if it is removed.",
		},
		"R5": {
			Class: EmptyContentMessage, why: whyBlank, fixes: fixBlank,
			example: `{"type": "text", "text": ""}`,
		},
		"R6": {
			Class: EmptyContentMessage, why: always(empty), fixes: fixEmptyTurn,
			example: "An assistant message that holds only unsigned thinking, which is not sent.",
		},
		"R7": {
			Class: ThinkingSignature, why: always("The provider rejects the signature of this thinking block, and a signature cannot be created."), fixes: fixThinking,
			example: "A session that was edited, or copied from another account.",
		},
		"R8": {
			Class: ThinkingBlockModified, why: always("This thinking block was altered after the provider signed it, and cannot be restored."), fixes: fixThinking,
			example: "Thinking that was edited by hand or by a plugin.",
		},
		"R9": {
			Class: ThinkingSignature, why: always("A thinking block without a signature would be sent; the provider rejects that."), fixes: fixThinking,
			example: "A thinking block whose metadata lost the signature.",
			fix:     "The block is removed.",
			loses:   "That thinking block.",
		},
		"R10": {
			Class: ThinkingBlockOrder, class: classOfLast, why: whyLast, fixes: fixLast,
			example: "The agent was stopped right after the model had thought.",
		},
		"R11": {
			Class: EmptyContentMessage, why: whyBlank, fixes: fixBlank,
			example: `{"type": "text", "text": " \n"}`,
		},
		"R12": {
			Class: AssistantPrefillUnsupported, why: always("The request would end with an answer, and the provider rejects that."),
			example: lateAnswer,
		},
		"R13": {
			Class: InvalidToolCall, why: whyCallID, fixes: fixCallID,
			example: `{"type": "tool", "callID": "call:1"}`,
			fix:     "The call gets a new id.",
			loses:   "The former id.",
		},
		"R14": {
			Class: InvalidToolCall, why: always(noObject), fixes: fixInput,
			example: `{"state": {"input": "ls -l"}}`,
			fix:     "The input is parsed, or wrapped in an object.",
			loses:   "Nothing.",
		},
		"R15": {
			Class: InvalidFile, why: whyFile, fixes: fixFile,
			example: "A screenshot of 6 MB in a prompt or a tool result.",
		},
		"R16": {
			Class: FirstPromptMissing, why: always(noPrompt), fixes: fixFirstPrompt,
			example: "The record of the first prompt was deleted.",
		},
		"R17": {
			Class: InvalidToolCall, why: always(twice), fixes: fixCallID,
			example: "A message that was copied by a sync program.",
			fix:     "The later call gets a new id.",
			loses:   "Its former id.",
		},
		"R18": file,
		"R19": file,
		"R20": file,
		"R21": file,

		"O1":  {Class: ToolResultMissing, why: always(noResult)},
		"O2":  {Class: ToolResultMissing, why: always(noCall)},
		"O3":  {Class: ItemID, why: always("The provider knows the items of this response by their ids, and one that belongs to them is missing."), fixes: fixItemIDs},
		"O4":  {Class: ItemID, why: always("An earlier item has the same id; ids must be unique."), fixes: fixRepeatedItem},
		"O5":  {Class: InvalidToolCall, why: whyToolName, fixes: fixToolName},
		"O6":  {Class: InvalidToolCall, why: whyIDLength, fixes: fixLongID},
		"O9":  file,
		"O11": {Class: ItemID, why: always("The id of the item is not one of its type."), fixes: fixItemIDs},
		"O12": tooLong,
		"O13": {Class: EncryptedReasoning, why: always("Reasoning would be sent without its encrypted content; the provider rejects that.")},

		"C1": {Class: ToolResultMissing, why: always(noResult)},
		"C2": {Class: ToolResultMissing, why: always(noCall)},
		"C3": {Class: InvalidToolCall, why: always("Another tool call of the same step has the same id."), fixes: fixSharedID},
		"C4": {Class: InvalidToolCall, why: whyIDLength, fixes: fixCallID},
		"C5": {Class: InvalidToolCall, why: whyToolName, fixes: fixToolName},
		"C6": {Class: EmptyContentMessage, why: always("The assistant message has neither text nor a tool call, and is sent with null as its content."), fixes: fixEmptyTurn},
		"C8": file,
		"C9": tooLong,
		"V1": {Class: EmptyContentMessage, why: whyVendor("The assistant message has neither text nor a tool call", "Moonshot (Kimi)", "DeepSeek"), fixes: fixEmptyTurn},
		"V2": {Class: InvalidToolCall, why: whyVendor("The input of the tool call is not an object", "Qwen (DashScope)"), fixes: fixInput},
		"V3": {Class: ThinkingBlockOrder, why: whyVendor("The tool call would be sent without reasoning", "Moonshot (Kimi)", "DeepSeek"), fixes: fixMissingReasoning},
		"V4": {Class: InvalidToolCall, why: whyVendor("An earlier tool call has the same id", "DeepSeek"), fixes: fixCallID},

		"G2":  {Class: EmptyContentMessage, why: always(empty), fixes: fixEmptyTurn},
		"G4":  {Class: FirstPromptMissing, why: always("The assistant message calls a tool and follows no prompt: the prompt before it is missing."), fixes: fixLostPrompt},
		"G5":  {Class: ToolResultMissing, why: always("A tool result would be sent without its tool call right before it.")},
		"G6":  {Class: ToolResultMissing, why: always("A tool call would be sent without its result right after it.")},
		"G7":  {Class: EncryptedReasoning, why: always("A tool call of the current turn has no signature, and the provider requires one.")},
		"G9":  {Class: InvalidToolCall, why: whyGeminiCall, fixes: fixGeminiCall},
		"G10": file,
		"G12": {Class: AssistantPrefillUnsupported, why: always("The request would end with an answer, and the provider rejects that."), example: lateAnswer},

		"B1":  {Class: FirstPromptMissing, why: always(noPrompt), fixes: fixFirstPrompt},
		"B3":  {Class: EmptyContentMessage, why: always(empty), fixes: fixEmptyTurn},
		"B4":  {Class: EmptyContentMessage, why: whyBlankBlock, fixes: fixBlankBlock},
		"B5":  {Class: InvalidToolCall, why: whyIDLength, fixes: fixCallID},
		"B7":  {Class: InvalidToolCall, why: always(twice), fixes: fixCallID},
		"B8":  {Class: ToolResultMissing, class: classOfLostCall, why: whyLostCall, fixes: fixLostCall},
		"B10": file,
		"B11": {Class: ThinkingBlockOrder, class: classOfLast, why: whyLast, fixes: fixLast},

		"thinking": {
			Class: ThinkingDisabledViolation, why: whyThinking, fixes: fixThinkingOff,
			meaning: "The session contains thinking. It is a fault only if the model does not support thinking, so mend looks for it only when asked.",
		},
		"encrypted": {
			Class: EncryptedReasoning, why: always("The encrypted reasoning was created under another account or key, and only that one can use it."), fixes: fixEncrypted,
			meaning: "Reasoning that was encrypted for another account or key. mend looks for it only when asked, or after the provider's error.",
			error:   "reasoning `encrypted_content` was not issued to this caller",
		},
		"item":      {Class: ItemID, why: always("The provider does not have the item with this id."), fixes: fixItemIDs},
		"reasoning": {Class: ThinkingBlockOrder, why: always("The tool call would be sent without reasoning; a provider whose model thinks rejects that."), fixes: fixMissingReasoning},
		"image": {
			Class: InvalidFile, why: whyFile, fixes: fixFile,
			meaning: "An image that the provider's error names.",
		},
		"media": {
			Class: InvalidFile, why: whyFile, fixes: fixFile,
			meaning: "A file cannot be sent to the model, and the agent fails on it.",
			example: "A link to a file that no longer exists.",
		},
		"unavailable": {
			Class: UnavailableTool, why: whyUnfinished, fixes: fixUnfinished,
			meaning: "A call to a tool that does not exist, as the error says.",
			error:   "Model tried to call unavailable tool 'NAME'",
		},
		"unfinished": {
			Class: ToolResultMissing, why: whyUnfinished, fixes: fixUnfinished,
			meaning: "A tool call is still marked as running or pending, although the agent was stopped. It shows as still running.",
			example: `{"state": {"status": "running"}}`,
		},
		"tool-name": {
			Class: InvalidToolCall, why: whyToolName, fixes: fixToolName,
			meaning: "The name of a tool contains characters that some providers reject.",
			example: `{"tool": "web search"}`,
			fix:     "The tool is renamed; rejected characters become _.",
			loses:   "The name that the model used.",
		},
		"order": {
			Class: ThinkingBlockOrder, why: always("The thinking is not first in its step. In an open tool loop the provider requires it to be first."), fixes: (*fault).moveOrRemove,
			meaning: "Thinking is not first in its step. In an open tool loop the provider requires it to be first.",
		},
		"nothing": {
			Class: EmptyContentMessage, why: whyNothing, fixes: fixEmptyTurn,
			meaning: "A message has no content that the agent would send. It is not sent at all.",
			example: "An assistant message with only a step-start marker.",
		},
	}
})

// whyVendor returns the why of a rule that only some vendors enforce.
func whyVendor(what string, vendors ...string) func(*fault) string {
	return always(fmt.Sprintf("%s; %s refuses that.", what, strings.Join(vendors, ", and so does ")))
}

func whyThinking(x *fault) string {
	n := 0
	for _, b := range x.message.Blocks() {
		if b.IsThinking() {
			n++
		}
	}
	if n == 1 {
		return "The message contains thinking, but the model does not support thinking."
	}
	return fmt.Sprintf("The message contains %d thinking blocks, but the model does not support thinking.", n)
}

func whyUnfinished(x *fault) string {
	if x.block == nil {
		return "A call never got a result."
	}
	return fmt.Sprintf("The %s never got a result: the agent was stopped.", callName(x.block))
}

func whyNothing(x *fault) string {
	if len(x.message.Blocks()) == 0 {
		return "The message has no content, so it is not sent."
	}
	return "The assistant message has nothing that is sent."
}
