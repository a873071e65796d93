// Package gemini holds the rules and the error texts of Google's Gemini API (docs/providers.md).
package gemini
