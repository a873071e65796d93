// Package chat holds the rules and the error texts of APIs for chat completions: OpenAI's own and
// those of single vendors that are compatible with it (docs/providers.md).
package chat
