package damage

import (
	"encoding/json"
	"strings"
)

// ProviderColumns are the settings of a provider in [ProviderTable]. Settings that share a
// column agree in every row.
var ProviderColumns = [...][]string{
	{"anthropic"}, {"openai"}, {"openai-store"}, {"chat", "kimi", "openrouter"}, {"copilot"}, {"gemini3", "gemini25"}, {"bedrock"},
}

// A ProviderKind is one kind of damage, with the fate of the next prompt on 1.18.33 for each
// of [ProviderColumns]. [NoChange] stands for damage that finds nothing there.
type ProviderKind struct {
	Name  string
	Apply func(Store)
	Want  [len(ProviderColumns)]string
	// OtherAccount means that another account sends the request.
	OtherAccount bool
	// Unseen means that nothing stored shows the damage: only the provider knows that an item of a response
	// is missing.
	Unseen bool
}

// NoChange is the fate of a session that the damage does not change.
const NoChange = "-"

func byProvider(v ...string) [len(ProviderColumns)]string { return [len(ProviderColumns)]string(v) }

// signatureFields are the metadata fields of a part in which the providers' SDKs store values that only the
// provider can verify.
var signatureFields = [][2]string{
	{"anthropic", "signature"}, {"bedrock", "signature"}, {"openai", "reasoningEncryptedContent"}, {"google", "thoughtSignature"},
}

// editMetadata edits the metadata of the first part of a type in a message: the object of one
// provider's SDK, if it is there.
func editMetadata(n int, kind, provider string, edit func(fields)) func(Store) {
	return editPart(n, kind, 0, func(p fields) {
		metadata, _ := p["metadata"].(fields)
		if own, ok := metadata[provider].(fields); ok {
			edit(own)
		}
	})
}

// tamper alters the signatures of the first part of a type in a message.
func tamper(n int, kind string) func(Store) {
	var all []func(Store)
	for _, f := range signatureFields {
		all = append(all, editMetadata(n, kind, f[0], func(metadata fields) {
			if s, ok := metadata[f[1]].(string); ok && s != "" {
				metadata[f[1]] = s[:len(s)-4] + "AAAA"
			}
		}))
	}
	return combine(all...)
}

// eachSignature sets or, if to is nil, removes the signatures of the first part of a type.
func eachSignature(n int, kind string, to any, set bool) func(Store) {
	var all []func(Store)
	for _, f := range signatureFields {
		all = append(all, editMetadata(n, kind, f[0], func(metadata fields) {
			if _, ok := metadata[f[1]]; !ok {
				return
			}
			if set {
				metadata[f[1]] = to
			} else {
				delete(metadata, f[1])
			}
		}))
	}
	return combine(all...)
}

// halfPair writes a text with half of a surrogate pair at the start of a member of a part: a string or
// an object.
func halfPair(n int, kind, member, text string) func(Store) {
	return rewritePart(n, kind, func(s string) string {
		before, after, found := strings.Cut(s, `"`+member+`":`)
		at := strings.IndexAny(after, `{"`)
		if !found || at < 0 {
			return s
		}
		return before + `"` + member + `":` + after[:at+1] + text + after[at+1:]
	})
}

func itemID(n int, kind, to string) func(Store) {
	return editMetadata(n, kind, "openai", func(metadata fields) {
		if _, ok := metadata["itemId"]; ok {
			metadata["itemId"] = to
		}
	})
}

func noItemID(n int, kind string) func(Store) {
	return editMetadata(n, kind, "openai", func(metadata fields) { delete(metadata, "itemId") })
}

// itemIDTwice gives the text of one response the item id of another's.
func itemIDTwice(s Store) {
	for _, p := range nthPart(s, Goodbye, "text", 0) {
		var part struct {
			Metadata struct{ Openai struct{ ItemID string } }
		}
		if json.Unmarshal([]byte(p.Data), &part) == nil && part.Metadata.Openai.ItemID != "" {
			itemID(Hello, "text", part.Metadata.Openai.ItemID)(s)
		}
	}
}

// longOutput is a result of 11 MB, created only when it is encoded.
type longOutput struct{}

// MarshalJSON implements [json.Marshaler].
func (longOutput) MarshalJSON() ([]byte, error) {
	return []byte(`"` + strings.Repeat("a line of a long file\\n", 500_000) + `"`), nil
}

var emptyEverywhere = combine(Text(OneCall, ""), Text(Done, ""), Text(Hello, ""), Text(TwoCalls, ""), Text(DoneAgain, ""), Text(Goodbye, ""))

// writtenBy gives the responses another model, as if the session had been continued with its present one.
func writtenBy(provider, model string, edit func(Store)) func(Store) {
	all := []func(Store){}
	for _, n := range []int{OneCall, Done, Hello} {
		all = append(all, setMessage(n, "providerID", provider), setMessage(n, "modelID", model))
	}
	for _, n := range []int{FirstPrompt, SecondPrompt} {
		all = append(all, setMessage(n, "model", fields{"providerID": provider, "modelID": model}))
	}
	return combine(append(all, edit)...)
}

func reasoningMetadata(provider string, metadata fields) func(Store) {
	return combine(setPart(OneCall, "reasoning", "metadata", fields{provider: metadata}), setReasoningMetadata(fields{provider: metadata}))
}

// ProviderTable has the kinds of damage whose effect depends on the provider: those of docs/providers.md, on
// 1.18.33.
var ProviderTable = []ProviderKind{
	{"none", func(Store) {}, byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},

	// The agent's own failures do not depend on the provider.
	{"part truncated", rewritePart(Hello, "text", first20), byProvider(Dead, Dead, Dead, Dead, Dead, Dead, Dead), false, false},
	{"message of no bytes", rewriteMessage(Hello, noBytes), byProvider(Dead, Dead, Dead, Dead, Dead, Dead, Dead), false, false},
	{"completed without output", unsetState("output"), byProvider(Dead, Dead, Dead, Dead, Dead, Dead, Dead), false, false},
	{"callID missing", unsetPart(OneCall, "tool", "callID"), byProvider(Dead, Dead, Dead, Dead, Dead, Dead, Dead), false, false},

	// Account and signatures: only the provider can know.
	{"account switched", func(Store) {}, byProvider(Alive, "O8", "O10", Alive, Alive, "G8", Alive), true, false},
	{"reasoning's signature altered", tamper(Hello, "reasoning"), byProvider("R7", "O8", NoChange, NoChange, NoChange, NoChange, "B9"), false, false},
	{"reasoning's signature missing", eachSignature(Hello, "reasoning", nil, false), byProvider(Alive, Alive, NoChange, NoChange, NoChange, NoChange, Alive), false, false},
	{"reasoning altered", setPart(Hello, "reasoning", "text", "altered"), byProvider("R7", Alive, Alive, Alive, NoChange, Alive, "B9"), false, false},
	{"call's signature altered", tamper(OneCall, "tool"), byProvider(NoChange, NoChange, NoChange, NoChange, NoChange, "G8", NoChange), false, false},
	{"call's signature missing", eachSignature(OneCall, "tool", nil, false), byProvider(NoChange, NoChange, NoChange, NoChange, NoChange, Alive, NoChange), false, false},
	{"text's signature altered", tamper(Hello, "text"), byProvider(NoChange, NoChange, NoChange, NoChange, NoChange, "G8", NoChange), false, false},

	// Ids of items.
	{"item id twice", itemIDTwice, byProvider(NoChange, Alive, "O4", NoChange, NoChange, NoChange, NoChange), false, false},
	{"item id foreign", itemID(Hello, "text", "msg_0000000000"), byProvider(NoChange, Alive, "O10", NoChange, NoChange, NoChange, NoChange), false, false},
	{"item id missing on reasoning", noItemID(Hello, "reasoning"), byProvider(NoChange, Alive, "O3", NoChange, NoChange, NoChange, NoChange), false, false},
	{"item id missing on text", noItemID(Hello, "text"), byProvider(NoChange, Alive, "O3", NoChange, NoChange, NoChange, NoChange), false, false},
	{"item id missing on a call", noItemID(OneCall, "tool"), byProvider(NoChange, Alive, Alive, NoChange, NoChange, NoChange, NoChange), false, false},
	{"reasoning deleted", dropPart(Hello, "reasoning"), byProvider(Alive, Alive, "O3", Alive, NoChange, Alive, Alive), false, false},
	{"reasoning of a call deleted", dropPart(OneCall, "reasoning"), byProvider(Alive, Alive, "O3", Alive, NoChange, Alive, Alive), false, false},
	{"text of a call deleted", dropPart(OneCall, "text"), byProvider(Alive, Alive, "O3", Alive, Alive, Alive, Alive), false, true},
	{"call deleted", dropPart(OneCall, "tool"), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"reasoning metadata missing", unsetPart(Hello, "reasoning", "metadata"), byProvider(Alive, Alive, "O3", Alive, NoChange, NoChange, Alive), false, false},

	// Order and content of answers.
	{"reasoning after text", moveReasoningAfter(OneCall, "text"), byProvider(Alive, Alive, "O3", Alive, NoChange, Alive, Alive), false, false},
	{"reasoning last", moveReasoningAfter(Hello, "text"), byProvider("R10", Alive, "O3", Alive, NoChange, Alive, "B11"), false, false},
	{"answer of reasoning only", dropPart(Hello, "text"), byProvider("R10", Alive, "O3", "V1", Alive, Alive, "B11"), false, false},
	{"last answer of reasoning only", dropPart(Goodbye, "text"), byProvider("R10", Alive, "O3", "V1", Alive, Alive, "B11"), false, false},
	{"killed after reasoning", combine(interrupt(Goodbye), dropPart(Goodbye, "text")), byProvider("R10", Alive, "O3", "V1", Alive, Alive, "B11"), false, false},
	{"text under a part_ id", renamePart(Hello, "text", withPrefix("part_")), byProvider("R10", Alive, "O3", "V1", Alive, Alive, "B11"), false, false},
	{"empty answer", Text(Hello, ""), byProvider("R11", Alive, Alive, "V1", "C6", Alive, "B11"), false, false},
	{"empty answers everywhere", emptyEverywhere, byProvider("R11", Alive, Alive, "V1", "C6", Alive, "B11"), false, false},
	{"empty answer without reasoning", combine(Text(Hello, ""), dropPart(Hello, "reasoning")), byProvider(Alive, Alive, "O3", "V1", "C6", Alive, Alive), false, false},
	{"empty text beside tool", Text(OneCall, ""), byProvider("R11", Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"blank answer", Text(Hello, " \n"), byProvider("R11", Alive, Alive, Alive, Alive, Alive, "B4"), false, false},
	{"blank text beside tool", Text(OneCall, " \n"), byProvider("R11", Alive, Alive, Alive, Alive, Alive, "B4"), false, false},
	{"blank prompt", Text(SecondPrompt, " \n"), byProvider("R11", Alive, Alive, Alive, Alive, Alive, "B4"), false, false},
	{"text after tool", addPart(OneCall, "tool", `{"type":"text","text":"behind"}`), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, "B8"), false, false},
	{"output of no characters", setState("output", ""), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, "B4"), false, false},
	{"output of 11 MB", setState("output", longOutput{}), byProvider(Alive, "O12", "O12", "C9", "C9", Alive, Alive), false, false},

	// Calls.
	{"empty callID", setCall("callID", ""), byProvider("R13", "O6", "O6", "C4", "C4", Alive, "B5"), false, false},
	{"long callID", setCall("callID", "call_"+strings.Repeat("x", 80)), byProvider(Alive, "O6", "O6", "C4", "C4", Alive, "B5"), false, false},
	{"callID of another provider", setCall("callID", "functions.read:0"), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"one callID in a step", sameCallID(firstCall, secondCall), byProvider("R17", Alive, Alive, "C3", "C3", Alive, "B7"), false, false},
	{"one callID in two messages", sameCallID(oneCall, firstCall), byProvider("R17", Alive, Alive, "V4", "V4", Alive, "B7"), false, false},
	{"one callID three times", sameCallID(oneCall, firstCall, secondCall), byProvider("R17", Alive, Alive, "C3", "C3", Alive, "B7"), false, false},
	{"tool of no characters", setCall("tool", ""), byProvider(Alive, "O5", "O5", "C5", "C5", "G9", Alive), false, false},
	{"bad tool name", setCall("tool", "run the tests!"), byProvider(Alive, "O5", "O5", "C5", "C5", Alive, Alive), false, false},
	{"tool name with a dot", setCall("tool", "fs.read"), byProvider(Alive, "O5", "O5", "C5", "C5", Alive, Alive), false, false},
	{"input a string", setState("input", "echo hi"), byProvider("R14", Alive, Alive, "V2", "V2", "G9", Alive), false, false},
	{"input a list", setState("input", []any{1}), byProvider("R14", Alive, Alive, "V2", "V2", "G9", Alive), false, false},
	{"input null", setState("input", nil), byProvider("R14", Alive, Alive, "V2", "V2", Alive, Alive), false, false},
	{"input missing", unsetState("input"), byProvider("R14", Alive, Alive, "V2", "V2", Alive, Alive), false, false},

	// Half of a surrogate pair, as after a model's output is cut inside an emoji.
	{"half a pair in an input", halfPair(OneCall, "tool", "input", `"note":"a\ud99c",`), byProvider("R27", Alive, Alive, Alive, Alive, "G13", "B12"), false, false},
	{"half a pair in a key of an input", halfPair(OneCall, "tool", "input", `"a\udc00b":{"c":[1]},`), byProvider("R27", Alive, Alive, Alive, Alive, "G13", "B12"), false, false},
	{"half a pair in an output", halfPair(OneCall, "tool", "output", `a\ud99c`), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"half a pair in an answer", halfPair(Hello, "text", "text", `a\ud99c`), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"half a pair in a prompt", halfPair(SecondPrompt, "text", "text", `a\ud99c`), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},

	// Prompts.
	{"first prompt gone", dropMessage(FirstPrompt), byProvider("R16", Alive, Alive, Alive, Alive, "G4", "B1"), false, false},
	{"prompt of calls gone", dropMessage(ThirdPrompt), byProvider(Alive, Alive, Alive, Alive, Alive, "G4", Alive), false, false},
	{"prompt gone", dropMessage(SecondPrompt), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"empty prompt", Text(SecondPrompt, ""), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},

	// Files.
	{"image in a prompt", promptFile(file("image/png", png)), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"image attached", attach(file("image/png", png)), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"large image in a prompt", promptFile(file("image/png", largePNG)), byProvider("R15", Alive, Alive, Alive, Alive, Alive, "B10"), false, false},
	{"large attachment", attach(file("image/png", largePNG)), byProvider("R15", Alive, Alive, Alive, Alive, Alive, "B10"), false, false},
	{"image that is a text in a prompt", promptFile(file("image/png", bytesURL{"image/png", words("no image")})), byProvider("R18", "O9", "O9", "C8", "C8", "G10", "B10"), false, false},
	{"image that is a text attached", attach(file("image/png", bytesURL{"image/png", words("no image")})), byProvider("R18", "O9", "O9", "C8", "C8", "G10", "B10"), false, false},
	{"image of no bytes in a prompt", promptFile(file("image/png", "data:image/png;base64,")), byProvider("R18", "O9", "O9", "C8", "C8", "G10", "B10"), false, false},
	{"image of no bytes attached", attach(file("image/png", "data:image/png;base64,")), byProvider("R18", "O9", "O9", "C8", "C8", "G10", "B10"), false, false},
	{"half an image attached", attach(file("image/png", bytesURL{"image/png", func() []byte { return smallPNG()[:40] }})), byProvider("R18", "O9", "O9", "C8", "C8", "G10", "B10"), false, false},
	{"SVG in a prompt", promptFile(file("image/svg+xml", bytesURL{"image/svg+xml", words(svg)})), byProvider("R19", "O9", "O9", "C8", "C8", "G10", Dead), false, false},
	{"SVG attached", attach(file("image/svg+xml", bytesURL{"image/svg+xml", words(svg)})), byProvider("R19", "O9", "O9", "C8", "C8", "G10", Dead), false, false},
	{"PNG as JPEG in a prompt", promptFile(file("image/jpeg", bytesURL{"image/jpeg", smallPNG})), byProvider("R20", Alive, Alive, Alive, Alive, Alive, "B10"), false, false},
	{"image of 9000 pixels a side in a prompt", promptFile(file("image/png", bytesURL{"image/png", func() []byte { return widePNG(9000) }})), byProvider("R21", Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"sound in a prompt", promptFile(file("audio/mpeg", "data:audio/mpeg;base64,AAAA")), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},

	// Interruptions, and responses of other models.
	{"tool running", setStates(OneCall, runningState), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"killed in two calls", combine(dropAfter(TwoCalls), interrupt(TwoCalls), setStates(TwoCalls, runningState, pendingState)), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"aborted answer with a blank text", combine(setError(Hello, "MessageAbortedError"), interrupt(Hello), Text(Hello, " ")), byProvider("R11", Alive, Alive, Alive, Alive, Alive, "B4"), false, false},
	{"error message", setError(Hello, "APIError"), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"compacted", compact(), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"begun with Claude", writtenBy("other-anthropic", "claude-other", reasoningMetadata("anthropic", fields{"signature": "abc"})), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"begun with OpenAI", writtenBy("other-openai", "gpt-other", reasoningMetadata("openai", fields{"itemId": "rs_1", "reasoningEncryptedContent": "gAAAA"})), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"begun with Gemini", writtenBy("other-google", "gemini-other", reasoningMetadata("google", fields{"thoughtSignature": "Ep"})), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
	{"begun with Bedrock", writtenBy("other-bedrock", "anthropic.claude-other", reasoningMetadata("bedrock", fields{"signature": "abc"})), byProvider(Alive, Alive, Alive, Alive, Alive, Alive, Alive), false, false},
}
