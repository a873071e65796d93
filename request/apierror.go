package request

// A Subject is what an error is about.
type Subject string

// The subjects of errors.
const (
	AboutSession Subject = "session"
	AboutStore   Subject = "store"   // the agent cannot use its store, or does not find a session there
	AboutService Subject = "service" // the provider, the account, the network or the settings: nothing stored
)

// An APIError is a parsed error of a model API, or of the agent that asked it.
type APIError struct {
	Text  string   // the message, as it was given
	Class Class    // "" for an error that no repair of the store answers
	Rule  string   // the code of the provider's rule that is violated; "" if the text fits none
	API   string   // the provider whose words name the rule or the place; "" if none do
	Index int      // N of messages.N, input[N] or contents[N], the place in the API's request; -1 if it names none
	Block int      // M of messages.N.content.M or contents[N].parts[M]; -1 if it names none
	Calls []string // the ids of tool calls in the text, each once
	Items []string // the ids of other items in the text, each once
	Tool  string   // the name of an unavailable tool in lower case; "" if the text does not name it

	// Recognised says that the error is a known one, though it may have no class.
	Recognised bool
	About      Subject // of a known one

	// Explanation says for a person what the error means and what to do.
	Explanation string
}
