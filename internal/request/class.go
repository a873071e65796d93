package request

// A Class is a kind of finding, independent of the provider's wording. The names come from upstream
// (docs/providers.md), and `--class` accepts them.
type Class string

// The classes that an error of a model API can have.
const (
	ToolResultMissing         Class = "tool_result_missing"
	ThinkingBlockOrder        Class = "thinking_block_order"
	ThinkingDisabledViolation Class = "thinking_disabled_violation"
	EmptyContentMessage       Class = "empty_content_message"

	InvalidToolCall    Class = "invalid_tool_call"    // the id, input or name of a call is refused
	InvalidFile        Class = "invalid_file"         // an image or another file that cannot be sent
	FirstPromptMissing Class = "first_prompt_missing" // an assistant message where a prompt is required, mostly at the start
	ContextTooLong     Class = "context_too_long"     // the request is longer than the model's context window
	OutputTooLong      Class = "output_too_long"      // the result of a call is longer than the provider accepts
	InvalidUnicode     Class = "invalid_unicode"      // half of a surrogate pair: the request is not valid JSON
	IncompleteRecord   Class = "incomplete_record"    // a field is missing, unknown, or of another type

	ThinkingSignature           Class = "thinking_signature_invalid"
	EncryptedReasoning          Class = "encrypted_reasoning_rejected"
	ItemID                      Class = "item_id_rejected" // the provider refuses the id of an item
	ThinkingBlockModified       Class = "thinking_block_modified"
	UnavailableTool             Class = "unavailable_tool"
	AssistantPrefillUnsupported Class = "assistant_prefill_unsupported"
)
