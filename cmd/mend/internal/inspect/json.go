package inspect

import (
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
)

// A ScanAnswer is the answer of scan.
type ScanAnswer struct {
	Store        string        `json:"store,omitempty"` // of the first of stores, like the next three members
	AgentVersion string        `json:"agentVersion,omitempty"`
	Profile      string        `json:"profile,omitempty"`
	VersionNote  string        `json:"versionNote,omitempty"`
	Stores       []scannedJSON `json:"stores,omitempty"`
	Sessions     []sessionJSON `json:"sessions,omitempty"`
	*requestAnswer
}

// A requestAnswer is the answer of scan --request, and of scan --text.
type requestAnswer struct {
	Text       string               `json:"text,omitempty"` // of scan --text: the conversation as Markdown
	Session    string               `json:"session,omitempty"`
	Provider   string               `json:"provider,omitempty"` // the API of the request
	Thinking   bool                 `json:"thinking,omitempty"`
	Model      map[string]string    `json:"model,omitempty"`   // the model of the request: modelID and providerID
	Request    map[string]any       `json:"request,omitempty"` // the simulated request in mend's own form: turns of content blocks
	Violations []violationJSON      `json:"violations,omitempty"`
	Diagnoses  []show.DiagnosisJSON `json:"diagnoses,omitempty"`
}

// A scannedJSON is a scanned store.
type scannedJSON struct {
	Agent        string `json:"agent"`
	Store        string `json:"store"`
	AgentVersion string `json:"agentVersion"`
	Profile      string `json:"profile"`
	VersionNote  string `json:"versionNote"`      // "" if mend was verified with the version
	Damage       string `json:"damage,omitempty"` // of its file as a whole

	Elsewhere []elsewhereJSON `json:"elsewhere,omitempty"`
}

// An elsewhereJSON is another store of the agent with sessions that the scanned one lacks.
type elsewhereJSON struct {
	Store    string `json:"store"`
	Sessions int    `json:"sessions"`
	Command  string `json:"command"`
}

type sessionJSON struct {
	Agent     string               `json:"agent,omitempty"`
	Session   string               `json:"session"`
	Title     string               `json:"title"`
	Directory string               `json:"directory"`
	Updated   int64                `json:"updated"` // milliseconds since 1970
	Severity  string               `json:"severity"`
	Busy      bool                 `json:"busy"`
	Provider  string               `json:"provider,omitempty"` // the API of the diagnosis
	Thinking  bool                 `json:"thinking"`           // the setting of the diagnosis
	Error     string               `json:"error,omitempty"`
	Shown     string               `json:"shown,omitempty"`   // how the agent shows it, if not as usual
	Command   string               `json:"command,omitempty"` // shows it as usual again
	Diagnoses []show.DiagnosisJSON `json:"diagnoses"`
}

func findingJSON(f mend.Finding) sessionJSON {
	s := sessionJSON{
		Session: f.Session.ID, Title: f.Session.Title, Directory: f.Session.Directory,
		Updated: max(f.Session.Updated, f.Session.Created), Busy: f.Busy, Provider: f.Provider, Thinking: f.Thinking,
		Severity: severityName(f), Diagnoses: show.DiagnosesJSON(f.Diagnoses),
	}
	if f.Err != nil {
		s.Error = f.Err.Error()
	}
	return s
}

func severityName(f mend.Finding) string {
	if s := f.Severity(); s != 0 {
		return s.String()
	}
	return "healthy"
}
