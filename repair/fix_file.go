package repair

import (
	"fmt"

	"mend/internal/request"
)

// Fixes of files that cannot be sent (docs/providers.md, R15, R18 to R21).

// cannotBeSent is the text in place of a file that the provider or the agent rejects.
const cannotBeSent = "it could not be sent to the model"

// rejectedFile returns the rule of a provider that rejects a file.
func rejectedFile(why, example string) Rule {
	return Rule{Class: InvalidFile, Why: constant(why), Fixes: fixFile, Example: example}
}

func whyUnsendable(x *Fault) string {
	return fmt.Sprintf("The agent fails on a file that it cannot send: %s.", x.Text)
}

// fixFile corrects the type of an image, or else replaces the file with a line of text. In the result of a call it
// first replaces only the affected files, then all.
func fixFile(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	fixes := []Fix{{
		Text: "The image gets the type of its data.",
		Edit: func(d Editor) error { return d.CorrectType(x.block) },
	}}
	if files := x.filesAtFault(); len(files) > 0 && x.isResult() {
		fixes = append(fixes, x.replaceFiles(files))
	}
	return alike(append(fixes, x.replaceFiles(nil))...)
}

// replaceFiles replaces the block, or files in its result, with lines of text: all files if files is nil.
func (x *Fault) replaceFiles(files []*request.Block) Fix {
	text := "A line of text replaces the file and says what it was."
	if x.isResult() {
		text = "The file is removed from the tool result, and a line in the output says what it was."
	}
	return Fix{
		Text: text, Loses: "The file. Its bytes stay in the journal.",
		Edit: func(d Editor) error { return d.ReplaceFiles(x.block, files, cannotBeSent) },
	}
}

func (x *Fault) isResult() bool { return isCall(x.block) || x.block.Type == request.ToolResult }

// filesAtFault returns the files of the record that break a rule.
func (x *Fault) filesAtFault() (files []*request.Block) {
	_, refused := x.Next()
	for _, v := range refused {
		if b := v.Block; b != nil && len(v.Refs) > 0 && v.Refs[0] == x.Ref && len(b.Data) > 0 {
			files = append(files, b)
		}
	}
	return files
}

func whyTooLong(x *Fault) string {
	if x.block != nil && !isCall(x.block) {
		return "The text is longer than the 10485760 characters that the provider accepts."
	}
	return "The output of the tool is longer than the 10485760 characters that the provider accepts."
}

// fixTooLong makes the agent send a line of text instead of the output.
func fixTooLong(x *Fault) []Fix {
	if x.block == nil || !isCall(x.block) {
		return nil
	}
	return []Fix{{
		Text: "The output is marked as cleared: a line of text is sent for it.",
		Edit: func(d Editor) error { return d.ClearResult(x.block) },
	}}
}
