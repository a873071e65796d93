package provider

import (
	"sync"

	"mend/request"
)

// ParseCommon recognises an error that is of no single agent or API: of the file system, the
// account or the network. It is for what no agent recognises.
func ParseCommon(input []byte) request.APIError { return commonParser().Parse(input) }

var commonParser = sync.OnceValue(func() *ErrorParser {
	return NewErrorParser(ErrorTexts{Kinds: commonKinds})
})

// commonKinds are in the order in which they are tried: one that others quote comes later.
var commonKinds = []ErrorKind{
	{
		Any: []Words{
			{"enospc"}, {"no space left on device"}, {"disk quota exceeded"}, {"edquot:"},
		},
		About:       request.AboutStore,
		Explanation: "The disk was full when the agent wrote. Free some space. What was written at that moment may be cut off: `mend scan` finds it.",
	},
	{
		Any: []Words{
			{"erofs:"}, {"read-only file system"},
			{"eacces:", "opencode"}, {"eacces:", ".claude"}, {"eperm:", "opencode"}, {"eperm:", ".claude"},
			{"permission denied", "opencode"}, {"permission denied", ".claude"},
		},
		About:       request.AboutStore,
		Explanation: "The agent may not read or write its store. Often a program that ran as root made files there. Make the store belong to your user, and writable; nothing in it is broken by that.",
	},
	{
		Any: []Words{
			{"eio: i/o error"}, {"input/output error", "opencode"}, {"input/output error", ".claude"},
			{"estale:"},
		},
		About:       request.AboutStore,
		Explanation: "The disk or the network file system failed while the agent used its store. Check them first. Then `mend scan` finds what was damaged.",
	},
	{
		Any: []Words{
			{"session not found"}, {"no conversations found"}, {"resource not found", "storage"},
			{"points to a session that no longer exists"}, {"couldn't resume the session"}, {"failed to resume session"}, {"failed to load conversation"},
			{"couldn't load sessions"}, {"no message found with message.uuid"},
			{"enoent", "opencode/storage"}, {"enoent", ".claude/projects"}, {"enoent", "opencode.db"},
		},
		About:       request.AboutStore,
		Explanation: "The agent does not find the session, or cannot load it. It may be in another folder, in another store, or deleted. `mend scan --all` lists every session that mend finds.",
	},
	{
		Any: []Words{
			{"destination directory belongs to another project"}, {"working directory", "no longer exists"}, {"working directory", "was deleted"},
		},
		About:       request.AboutStore,
		Explanation: "The session belongs to a folder that was moved, deleted, or is of another project. Nothing in the session is broken. Create the folder again under its former path, or start the agent where the session was made.",
	},
	{
		Any: []Words{
			{"javascript heap out of memory"}, {"cannot create a string longer than"}, {"err_string_too_long"}, {"invalid string length"},
			{"err_fs_file_too_large"},
		},
		About:       request.AboutStore,
		Explanation: "What the agent loads at once is too large for it: a transcript or a record of gigabytes. Continue in a new session; a newer version of the agent may load it.",
	},
	{
		Any:         []Words{{"missing an ordinal"}, {"no saved session found with id"}, {"thread history projection"}},
		About:       request.AboutStore,
		Explanation: "This is an error of Codex, whose sessions mend does not read.",
	},
	{
		Any: []Words{
			{"request too large"}, {"request_too_large"}, {"requestentitytoolarge"}, {"request entity too large"}, {"payload too large"},
			{"request exceeds the maximum size"}, {"request body too large"}, {"content-length limit exceeded"}, {"request payload size exceeds the limit"},
		},
		Explanation: "The request has more bytes than the provider accepts, mostly because of images and files in the session. Nothing stored is broken. `mend trim SESSION` takes old results of tools, with their images, out of the next request. Or compact the session.",
	},
	{
		Any: []Words{
			{"credit balance", "too low"}, {"insufficient_quota"}, {"exceeded your current quota"}, {"billing hard limit"}, {"payment required"},
			{"insufficient balance"}, {"insufficient credits"}, {"insufficient funds"}, {"requires more credits"}, {"out of extra usage"}, {"extra usage is required"}, {"usage credits required"}, {"billing_error"},
			{"hit your monthly spend limit"}, {"usage limit has been reached"}, {"usage limit reached"}, {"usage_limit_reached"},
			{"hit your limit"}, {"hit your session limit"}, {"hit your weekly limit"}, {"hit your usage limit"}, {"limit reached", "resets"},
			{"specified", "usage limits"}, {"free usage exceeded"}, {"quota exceeded", "billing"}, {"quota exceeded for"}, {"quota_exceeded"}, {"subscription quota"},
		},
		About:       request.AboutService,
		Explanation: "The account has no credit, or its usage limit is reached. This is not about a stored session. Wait until the limit resets, or check the plan and the billing of the provider.",
	},
	{
		Any: []Words{
			{"429", "rate limit"}, {"rate_limit_error"}, {"rate_limit_exceeded"}, {"rate limit exceeded"}, {"rate limit reached"}, {"ratelimiterror"}, {"exceed", "rate limit"},
			{"too many requests"}, {"resource_exhausted"}, {"resource has been exhausted"}, {"throttlingexception"}, {"too many tokens per"},
			{"tokens per minute"}, {"requests per minute"}, {"error", "rate limited"},
			{"temporarily limiting requests"}, {"too many concurrent requests"}, {"number of request tokens has exceeded"},
		},
		About:       request.AboutService,
		Explanation: "The provider limits how much is sent in a time. This is not about a stored session. Wait a minute or longer, then send the prompt again.",
	},
	{
		Any: []Words{
			{"overloaded_error"}, {"529", "overloaded"}, {"provider is overloaded"}, {"api overloaded"}, {"server is overloaded"}, {"model is overloaded"},
			{"servers are currently overloaded"}, {"engine is currently overloaded"}, {"currently experiencing high"}, {"service unavailable"}, {"service_unavailable"}, {"serviceunavailable"},
			{"high concurrency"}, {"server had an error processing your request"}, {"server had an error while processing your request"},
			{"an error occurred while processing your request"},
			{"error", "500", "internal server error"}, {"api_error", "internal server error"}, {"internal error encountered"}, {"internal_server_error"},
			{"bad gateway"}, {"gateway timeout"}, {"gateway time-out"}, {"error code 52", "cloudflare"}, {"status code 5"}, {"modelnotreadyexception"},
			{"at capacity", "model"}, {"stream_read_error"}, {"upstream error"}, {"upstream request failed"}, {"server_error", "provider"},
			{"no output generated"},
		},
		About:       request.AboutService,
		Explanation: "The provider has a problem of its own, or too much to do. This is not about a stored session. Try again in some minutes; its status page may say more.",
	},
	{
		Any: []Words{
			{"invalid x-api-key"}, {"invalid api key"}, {"invalid_api_key"}, {"incorrect api key"}, {"api key not valid"}, {"api_key_invalid"}, {"api key", "expired"},
			{"api key is missing"}, {"no api key"}, {"api key is required"}, {"missing api key"}, {"authentication_error"}, {"authenticationerror"}, {"authentication fails"},
			{"please run /login"}, {"not logged in", "/login"}, {"oauth token"}, {"401", "unauthorized"}, {"unauthorized: request was blocked"}, {"unauthorizederror"}, {"token refresh failed"},
			{"invalid bearer token"}, {"security token", "is invalid"}, {"security token", "expired"}, {"could not load credentials"}, {"invalid_grant"},
			{"loadapikeyerror"}, {"invalid authentication"}, {"failed to authenticate"}, {"could not resolve authentication method"}, {"bad credentials"},
		},
		About:       request.AboutService,
		Explanation: "The provider does not accept the key or the login. This is not about a stored session. Log in again, or check the key: `opencode auth login`, or /login in Claude Code.",
	},
	{
		Any: []Words{
			{"permission_error"}, {"permission_denied", "api"}, {"request not allowed"}, {"organization has been disabled"}, {"403", "forbidden"},
			{"location is not supported"}, {"country, region, or territory not supported"}, {"unsupported_country"}, {"accessdeniedexception"},
			{"don't have access to the model"}, {"not authorized to", "model"}, {"does not have access to", "model"}, {"access to", "model", "denied"},
			{"does not have access to claude"}, {"must be verified to use the model"}, {"is not supported when using codex with"},
			{"only authorized for use with"},
		},
		About:       request.AboutService,
		Explanation: "The account may not use this service or this model, or not from this country. This is not about a stored session. Check the account, or choose another model.",
	},
	{
		Any: []Words{
			{"providermodelnotfounderror"}, {"model not found"}, {"model_not_found"}, {"issue with the selected model"}, {"not_found_error", "model"},
			{"model", "does not exist or you do not have access"}, {"is not found for api version"}, {"unknown model"}, {"model identifier is invalid"},
			{"is not a valid model"}, {"no endpoints found"}, {"model_not_supported"}, {"requested model is not supported"}, {"model", "is not supported for format"},
			{"providerinit"}, {"model is not available"}, {"has been deprecated", "model"},
			{"model", "not found, try pulling it first"}, {"on-demand throughput isn't supported"}, {"deploymentnotfound"}, {"model is not supported"},
		},
		About:       request.AboutService,
		Explanation: "The provider does not know the model, or the agent does not. This is not about a stored session. Choose another model, or correct its name in the settings.",
	},
	{
		Any: []Words{
			{"econnreset"}, {"econnrefused"}, {"connect etimedout"}, {"read etimedout"}, {"(etimedout)"}, {"etimedout:"}, {"eai_again"}, {"getaddrinfo"}, {"und_err_"}, {"connectionrefused"}, {"fetch failed"},
			{"unable to connect to api"}, {"unable to connect. is the computer able to access the url"}, {"cannot connect to api"}, {"failed to connect to"},
			{"socket connection was closed unexpectedly"}, {"socket hang up"}, {"api error", "connection error"}, {"connection error."},
			{"self signed certificate"}, {"self-signed certificate"}, {"self_signed_cert"}, {"unable to get local issuer certificate"},
			{"unable_to_get_issuer_cert"}, {"unable to verify the first certificate"}, {"certificate has expired"}, {"certificate verification failed"},
			{"request timed out"}, {"sse read timed out"}, {"stream ended", "without"}, {"premature close"},
			{"connection reset by"}, {"proxy connection"}, {"connect timeout"}, {"headers timeout"}, {"body timeout"}, {"operation timed out"},
			{"request was aborted"}, {"typeerror: terminated"}, {"<!doctype", "json"}, {"connection closed mid-response"}, {"websocket closed"},
		},
		About:       request.AboutService,
		Explanation: "The connection to the provider failed or broke. This is not about a stored session. Check the network, the proxy and the address in the settings, then send the prompt again.",
	},
	{
		Any: []Words{
			{"content filtering policy"}, {"content_policy"}, {"violate our usage policy"}, {"violates our usage policy"}, {"usage policy", "unable to respond"},
			{"content management policy"}, {"content_filter"}, {"responsibleaipolicyviolation"}, {"flagged", "usage policy"}, {"invalid_prompt", "flagged"},
			{"blocked by", "safety"}, {"prohibited_content"},
		},
		About:       request.AboutService,
		Explanation: "A filter of the provider stopped the request or the answer. Nothing stored is broken. Send the prompt in other words, or go back to before the message that the filter stops at.",
	},
	{
		Any: []Words{
			{"max_tokens", "maximum allowed number of output tokens"}, {"max_tokens", "must be greater than"}, {"max_tokens", "budget_tokens"},
			{"tools.", "input_schema"}, {"tools[", "schema"}, {"invalid schema for function"}, {"invalid_function_parameters"},
			{"tools: tool names must be unique"}, {"array too long", "tools"}, {"function_declarations"}, {"functiondeclarations"},
			{"extra inputs are not permitted"}, {"unsupported parameter"}, {"unsupported_parameter"}, {"unsupported value", "temperature"}, {"unknown parameter"},
			{"unrecognized request argument"}, {"unknown name", "cannot find field"}, {"anthropic-beta"}, {"anthropic-version"},
			{"does not support tools"}, {"does not support thinking"}, {"no endpoints found that support"}, {"adaptive thinking is not supported"}, {"thinking.type"},
			{"reasoning_effort", "not"}, {"cache_control", "a maximum of"}, {"streaming is required for operations"}, {"configinvaliderror"}, {"configjsonerror"},
			{"tool_choice", "thinking"}, {"temperature", "may only be set"}, {"top_p", "temperature"}, {"system:", "cache_control"},
		},
		About:       request.AboutService,
		Explanation: "The provider rejects a setting of the request or the definition of a tool, not what is stored. Update the agent, and check the model's settings and the MCP servers whose tools are named.",
	},
}
