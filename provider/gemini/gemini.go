// Package gemini holds the error texts of Google's Gemini API (docs/providers.md).
package gemini
