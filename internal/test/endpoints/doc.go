// Package endpoints is the model providers beside Anthropic for tests: on loopback it
// answers OpenAI's Responses API, chat completions, Gemini and Bedrock's Converse API
// (AWS event stream included) from one script, and refuses what the real providers refuse,
// with the same error texts. Package endpoint does that for Anthropic.
//
// The rules are those of docs/providers.md, each with its source beside it. They share no
// code and no table with package provider, so that tests can compare the two.
//
// One [Server] serves all APIs. Its paths begin with the name of a setting, such as
// /openai or /kimi, which says which rules apply.
//
// A provider remembers what it issued: encrypted reasoning, items and signatures belong to
// an account. [Known] has those of a store that was written earlier, and
// [Server.SetAccount] makes another account ask.
package endpoints
