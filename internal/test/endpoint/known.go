package endpoint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// FirstAccount is the account that everything in [Known] was issued to.
const FirstAccount = "orgA"

// Known is what the providers issued.
type Known struct {
	Encrypted  map[string]string   // encrypted reasoning to its account
	Items      map[string][]string // ids of items to the ids of their response, in order
	Signatures map[string]string   // Gemini's signatures and their accounts
	Thinking   map[string]string   // Bedrock's signatures and the signed texts
}

func (k Known) clone() Known {
	k = Known{maps.Clone(k.Encrypted), maps.Clone(k.Items), maps.Clone(k.Signatures), maps.Clone(k.Thinking)}
	for _, m := range []*map[string]string{&k.Encrypted, &k.Signatures, &k.Thinking} {
		if *m == nil {
			*m = map[string]string{}
		}
	}
	if k.Items == nil {
		k.Items = map[string][]string{}
	}
	return k
}

// ParseKnown reads the state.json of the stores that were written for many providers: for each setting, keys
// such as "('enc', 'VALUE')".
func ParseKnown(state []byte) (Known, error) {
	var settings map[string]map[string]json.RawMessage
	if err := json.Unmarshal(state, &settings); err != nil {
		return Known{}, fmt.Errorf("reading the state of the providers: %w", err)
	}
	k := Known{}.clone()
	for setting, values := range settings {
		for key, raw := range values {
			parts := strings.Split(key, "'")
			if len(parts) < 4 {
				continue
			}
			kind, value := parts[1], parts[3]
			switch {
			case kind == "enc":
				k.Encrypted[value] = FirstAccount
			case kind == "sig" && setting == "bedrock":
				var text string
				if err := json.Unmarshal(raw, &text); err != nil {
					return Known{}, fmt.Errorf("reading a signature: %w", err)
				}
				k.Thinking[value] = text
			case kind == "sig":
				k.Signatures[value] = FirstAccount
			case kind == "groups":
				if err := json.Unmarshal(raw, &k.Items); err != nil {
					return Known{}, fmt.Errorf("reading items: %w", err)
				}
			}
		}
	}
	return k, nil
}

// sign returns a value that only this provider can derive from a text.
func sign(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// issue returns a value for a text and records it in known for the current account.
func (s *Server) issue(known map[string]string, prefix, key, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := prefix + sign(key+" "+s.account, text)
	known[value] = s.account
	return value
}

func (s *Server) issueItems(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.known.Items[id] = ids
	}
}

func (s *Server) issueThinking(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := sign("bedrock", text)
	s.known.Thinking[value] = text
	return value
}

// owns reports whether the current account may use a value in known.
func (s *Server) owns(known map[string]string, value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return known[value] == s.account
}

// signed reports whether Bedrock's signature belongs to the text.
func (s *Server) signed(signature, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known.Thinking[signature]
	return ok && known == text
}

// response returns the ids of the response that the item belongs to, nil if the account has no such item.
func (s *Server) response(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.account != FirstAccount {
		return nil
	}
	return s.known.Items[id]
}
