// Package bedrock holds the error texts of Amazon Bedrock's Converse API
// (docs/providers.md).
package bedrock
