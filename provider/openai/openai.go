// Package openai holds the error texts of OpenAI's Responses API (docs/providers.md).
package openai
