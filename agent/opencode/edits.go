package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"mend/change"
	"mend/repair"
)

var errNoEdits = errors.New("the repair cannot be made in the request alone")

// Edits implements [agent.Store].
func (*store) Edits(ops []change.Op) (edits []repair.RequestEdit, err error) {
	for _, op := range ops {
		switch op.Ref.Kind {
		case change.KindFolder: // no request has one
		case change.KindMessage, change.KindPart:
			e := repair.RequestEdit{Message: op.Ref.Message, Part: op.Ref.Part, New: op.Pre == nil}
			if e.Data, err = editedJSON(op); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", errNoEdits, op.Ref, err)
			}
			edits = append(edits, e)
		case change.KindSession, change.KindFile, change.KindProject, change.KindEvents, change.KindDatabase, change.KindIndex, change.KindRows, change.KindTree:
			return nil, fmt.Errorf("%w: %s", errNoEdits, op.Ref)
		}
	}
	return edits, nil
}

// editedJSON returns what the agent reads of the record after the op, nil if it is removed.
func editedJSON(op change.Op) ([]byte, error) {
	if op.Post == nil {
		return nil, nil
	}
	post, err := agentJSON(op.Ref, op.Post)
	if err != nil || op.Pre == nil {
		return post, err
	}
	pre, err := agentJSON(op.Ref, op.Pre)
	switch {
	case err != nil: // the agent cannot read it
		return nil, err
	case bytes.Equal(pre, post):
		return nil, errors.New("only its columns change")
	case op.Ref.Kind == change.KindMessage && createdIn(pre) != createdIn(post):
		return nil, errors.New("its place among the messages changes")
	}
	return post, nil
}

// agentJSON returns a record as the agent has it in memory: its JSON with its ids, which a
// database has in columns.
func agentJSON(ref change.Ref, i *change.Image) ([]byte, error) {
	data := i.Data
	if i.Mode == 0 { // a row, not a file
		row, err := change.RowOf(ref, i)
		if err != nil {
			return nil, err
		}
		data = row.Data
	}
	ids := map[string]any{"id": ref.Message, "sessionID": ref.Session}
	if ref.Kind == change.KindPart {
		ids = map[string]any{"id": ref.Part, "messageID": ref.Message, "sessionID": ref.Session}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	all := map[string]any{}
	for name, value := range members {
		all[name] = value
	}
	maps.Copy(all, ids)
	return json.Marshal(all)
}

// createdIn returns when a message was created, as its JSON says.
func createdIn(message []byte) string {
	var m struct {
		Time struct {
			Created json.RawMessage `json:"created"`
		} `json:"time"`
	}
	_ = json.Unmarshal(message, &m) // without a time it is ""
	return string(m.Time.Created)
}
