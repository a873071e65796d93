package request

import "testing"

func TestStatusAndRequestID(t *testing.T) {
	for _, c := range []struct {
		whole  string
		status int
		id     string
	}{
		{"prompt is too long", 0, ""},
		{`{"name":"APIError","data":{"message":"m","statusCode":400,"responseHeaders":{"request-id":"req_011CabcDEF"},"responseBody":"{}"}}`, 400, "req_011CabcDEF"},
		{`API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":"req_01"}`, 400, "req_01"},
		{`{"data":{"responseBody":"{\"error\":{\"code\":429},\"request_id\":\"req_body1\"}"}}`, 429, "req_body1"},
		{`{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}`, 404, ""},
		{"HTTP/1.1 401 Unauthorized, x-request-id: abc-123-def", 401, "abc-123-def"},
		{"An error occurred (Request ID: req_abcdef)", 0, "req_abcdef"},
		{`{"statusCode":4000,"request_id":null}`, 0, ""},
		{"messages.401.content", 0, ""},
	} {
		e := APIError{Whole: c.whole}
		if e.Status() != c.status || e.RequestID() != c.id {
			t.Errorf("%s: status %d, request %q, want %d, %q", c.whole, e.Status(), e.RequestID(), c.status, c.id)
		}
	}
}
