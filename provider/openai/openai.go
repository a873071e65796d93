// Package openai holds the rules and the error texts of OpenAI's Responses API (docs/providers.md).
package openai
