package bigstore

import "encoding/json"

type object map[string]any

// text returns the object as one line, or indented like the agent's files.
func (o object) text(indent bool) ([]byte, error) {
	if indent {
		return json.MarshalIndent(o, "", "  ")
	}
	return json.Marshal(o)
}

const (
	version   = "1.1.53"
	directory = "/home/user/project"
	snapshot  = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	provider  = "anthropic"
	model     = "claude-fake"
)

func span(start, end int64) object { return object{"start": start, "end": end} }

func sessionData(id string, created, updated int64) object {
	return object{
		"id":        id,
		"slug":      "quick-cactus",
		"version":   version,
		"projectID": "global",
		"directory": directory,
		"title":     "A title",
		"time":      object{"created": created, "updated": updated},
		"summary":   object{"additions": 0, "deletions": 0, "files": 0},
	}
}

func promptData(id, session string, at int64) object {
	return object{
		"id":        id,
		"sessionID": session,
		"role":      "user",
		"time":      object{"created": at},
		"summary":   object{"title": "A title", "diffs": []any{}},
		"agent":     "build",
		"model":     object{"providerID": provider, "modelID": model},
	}
}

func answerData(id, session, parent, finish string, created, completed int64) object {
	return object{
		"id":         id,
		"sessionID":  session,
		"role":       "assistant",
		"time":       object{"created": created, "completed": completed},
		"parentID":   parent,
		"modelID":    model,
		"providerID": provider,
		"mode":       "build",
		"agent":      "build",
		"path":       object{"cwd": directory, "root": directory},
		"cost":       0,
		"tokens":     tokens(),
		"finish":     finish,
	}
}

func tokens() object {
	return object{"input": 10, "output": 20, "reasoning": 0, "cache": object{"read": 0, "write": 0}}
}

func callData(id, input, output string, at int64) object {
	return object{
		"type":   "tool",
		"callID": id,
		"tool":   "bash",
		"state": object{
			"status":   "completed",
			"input":    object{"command": input, "description": "says hi"},
			"output":   output,
			"title":    "says hi",
			"metadata": object{"exit": 0, "truncated": false},
			"time":     span(at, at+8),
		},
	}
}

func finishData(reason string) object {
	return object{"type": "step-finish", "reason": reason, "snapshot": snapshot, "cost": 0, "tokens": tokens()}
}
