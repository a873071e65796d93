// Package bedrock holds the rules and the error texts of Amazon Bedrock's Converse API
// (docs/providers.md).
package bedrock
