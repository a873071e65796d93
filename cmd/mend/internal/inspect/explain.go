package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/term"
	"mend/repair"
)

type topicJSON struct {
	repair.Explanation
	Kind  string   `json:"kind"`            // its heading in the list of "mend explain"
	Rules []string `json:"rules,omitempty"` // of a class: the rules that belong to it
}

// The kinds of topics, in the order of the list.
const (
	kindSeverity = "Severities"
	kindClass    = "Kinds of damage (classes)"
	kindRule     = "Rules of the providers"
	kindFinding  = "Other findings"
)

// Explain returns the verb explain.
func Explain(env *frame.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE|ERROR]",
		Short: "Explain a code or an error",
		Long: `Explain shows what a code in the output means (a rule, a class of damage, a severity), what
causes it, and what mend does about it. Without an argument it lists all codes. It also
accepts the text of an error. For the findings of a session see "mend scan SESSION", for the
words of the output docs/glossary.md, for the settings "mend config".`,
		Example: `  mend explain R11
  mend explain broken
  mend explain tool_result_missing
  mend explain 'messages.12: tool_use ids were found without tool_result'`,
		RunE: func(cmd *cobra.Command, words []string) error {
			return env.RunPager(func() error {
				topics := allTopics(env)
				if len(words) == 0 {
					env.SetAnswers(ExplainAnswer{Topics: topics})
					printTopics(env.Terminal, topics)
					return nil
				}
				return runExplain(cmd.Context(), env, strings.Join(words, " "), topics)
			})
		},
	}
}

// CompleteTopics returns the codes that explain knows.
func CompleteTopics(_ context.Context, env *frame.Env, _ []string) (all []cobra.Completion) {
	for _, t := range allTopics(env) {
		all = append(all, cobra.CompletionWithDesc(t.Code, term.FirstSentence(t.Meaning)))
	}
	return all
}

// allTopics returns everything that can be explained.
func allTopics(env *frame.Env) []topicJSON {
	var all []topicJSON
	for _, s := range []repair.Severity{repair.Broken, repair.Latent, repair.Lost, repair.Note} {
		all = append(all, topicJSON{Explanation: repair.ExplainSeverity(s), Kind: kindSeverity})
	}
	rules := ruleTopics(env)
	all = append(all, classTopics(env, rules)...)
	all = append(all, rules...)
	return all
}

// ruleTopics returns the rules and the findings of all agents, each code once.
func ruleTopics(env *frame.Env) (all []topicJSON) {
	at := map[string]int{}
	for _, ag := range env.Opt.Agents {
		for _, e := range ag.Guide().Rules() {
			i, known := at[e.Code]
			if !known {
				t := topicJSON{Explanation: e, Kind: kindFinding}
				if e.Provider != "" {
					t.Kind = kindRule
				}
				at[e.Code], all = len(all), append(all, t)
				continue
			}
			healed := joinOnce(all[i].Healed, e.Healed)
			if all[i].Class == "" { // prefer the explanation of an agent that repairs it
				all[i].Explanation = e
			}
			all[i].Healed = healed
		}
	}
	return all
}

// joinOnce joins two texts, unless the first contains the other.
func joinOnce(a, b string) string {
	if strings.Contains(a, b) {
		return a
	}
	return strings.TrimSpace(a + " " + b)
}

// classTopics returns the classes that users can name and the classes of the rules.
func classTopics(env *frame.Env, rules []topicJSON) []topicJSON {
	classes := env.Opt.Agents.Classes()
	for _, r := range rules {
		if r.Class != "" && !slices.Contains(classes, r.Class) {
			classes = append(classes, r.Class)
		}
	}
	var all []topicJSON
	for _, c := range classes {
		t := topicJSON{Explanation: explainClass(env, c), Kind: kindClass}
		for _, r := range rules {
			if string(r.Class) == t.Code {
				t.Rules = append(t.Rules, r.Code)
				t.Healed = joinOnce(t.Healed, r.Healed)
			}
		}
		all = append(all, t)
	}
	return all
}

// explainClass returns the explanation of the first agent that knows the class.
func explainClass(env *frame.Env, c repair.Class) repair.Explanation {
	for _, ag := range env.Opt.Agents {
		if e := ag.Guide().Class(c); e.Meaning != "" {
			return e
		}
	}
	return repair.ExplainClass(c)
}

// An ExplainAnswer is the answer of explain.
type ExplainAnswer struct {
	Topics   []topicJSON          `json:"topics,omitempty"`
	APIError *show.APIErrorAnswer `json:"apiError,omitempty"`
}

// runExplain explains what the user named: a topic or an error.
func runExplain(ctx context.Context, env *frame.Env, name string, topics []topicJSON) error {
	if found := findTopics(topics, name); len(found) > 0 {
		env.SetAnswers(ExplainAnswer{Topics: found})
		for _, t := range found {
			printTopic(env.Terminal, t)
		}
		return nil
	}
	e := culprit.Readings(env.Opt.Agents, []byte(name))[0]
	switch {
	case e.Class != "" || e.Recognised:
		return explainError(ctx, env, e, topics)
	case strings.ContainsAny(name, " \n"):
		return fail.New(fail.Usage, `"mend fix 'TEXT'" shows what is broken, or asks what was lost`, "mend does not know this error: %s", term.OneLine(name, 100))
	}
	return fail.New(fail.Usage, `"mend explain" lists all codes, and "mend scan SESSION" shows what is wrong with a session`, "no code or class is called %q", name)
}

// word returns the code of a topic as other verbs print it.
func (t topicJSON) word() string {
	if t.Code == "latent" {
		return show.AtRisk
	}
	return t.Code
}

// findTopics returns the topics with that code or name, in upper or lower case.
func findTopics(topics []topicJSON, name string) []topicJSON {
	name = strings.ToLower(name)
	var found []topicJSON
	for _, t := range topics {
		if code := strings.ToLower(t.Code); code == name || t.word() == strings.ReplaceAll(name, "-", " ") || t.Kind == kindClass && show.ClassWords(code) == name {
			found = append(found, t)
		}
	}
	return found
}

// explainError explains an error of a provider or an agent.
func explainError(ctx context.Context, env *frame.Env, e repair.APIError, topics []topicJSON) error {
	var found []topicJSON
	for _, code := range []string{e.Rule, string(e.Class)} {
		if code != "" {
			found = append(found, findTopics(topics, code)...)
		}
	}
	apiError := show.APIErrorJSON(e)
	env.SetAnswers(ExplainAnswer{Topics: show.NonNil(found), APIError: &apiError})
	env.Printf("%s\n\n", term.Wrap(term.Escape(e.Explanation), env.TextWidth()))
	for _, t := range found {
		printTopic(env.Terminal, t)
	}
	if e.Class != "" {
		env.Printf("To repair the session: %s\n", term.Bold(`mend fix "TEXT"`))
	}
	frame.PrintHolders(ctx, env, e)
	return nil
}

func printTopics(t *term.Terminal, topics []topicJSON) {
	defer t.Buffer()()
	for _, kind := range []string{kindSeverity, kindClass, kindRule, kindFinding} {
		var rows []term.Row
		for _, o := range topics {
			if o.Kind == kind {
				rows = append(rows, term.Row{term.Escape(o.word()), term.Escape(term.FirstSentence(o.Meaning))})
			}
		}
		t.Printf("%s\n%s\n", term.Bold(kind), term.WrapRows(rows, 0, t.TextWidth()))
	}
	t.Printf("%s shows one of these in full.\n", term.Bold("mend explain CODE"))
}

func printTopic(t *term.Terminal, o topicJSON) {
	title, tier := term.Bold(o.word()), ""
	switch {
	case o.Provider != "":
		title += term.Faint("  a rule of the " + providerName(o.Provider))
	case o.Kind == kindClass:
		title += term.Faint("  a kind of damage")
		tier = string(o.Tier) + ": " + o.Tier.Meaning()
	}
	t.Printf("%s\n%s\n", title, term.Wrap(term.Escape(o.Meaning), t.TextWidth()))
	var rows []term.Row
	for _, fact := range [][2]string{
		{"Error", o.Words},
		{"Example", o.Example},
		{"Fix", o.Fix},
		{"Lost", o.Loses},
		{"Update", o.Healed},
		{"Tier", tier},
		{"Class", string(o.Class)},
		{"Rules", strings.Join(o.Rules, ", ")},
	} {
		if fact[1] != "" {
			rows = append(rows, term.Row{term.Escape(fact[0]), term.Escape(fact[1])})
		}
	}
	if len(rows) > 0 {
		t.Printf("\n%s", term.WrapRows(rows, 0, t.TextWidth()))
	}
	t.Printf("\n")
}

// providerName returns the display name of a provider's API.
func providerName(name string) string {
	names := map[string]string{
		"anthropic": "Anthropic Messages API", "openai": "OpenAI Responses API", "chat": "Chat Completions API",
		"gemini": "Gemini API", "bedrock": "Bedrock Converse API",
	}
	return cmp.Or(names[name], name)
}
