package wire

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/llm"
)

// An object is a JSON object whose values are not decoded.
type object map[string]json.RawMessage

// raw returns the JSON of a value, or null if it has no JSON form.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// read decodes a value. It returns the zero value if the JSON has another form, since a
// provider may change a field that is not needed.
func read[T any](data json.RawMessage) T {
	var v T
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// failed reports whether an error field holds an error.
func failed(data json.RawMessage) bool {
	return len(data) > 0 && string(data) != "null"
}

// errorIn returns the error in a body, or nil. With some servers the body is the error.
func errorIn(body object, data []byte) json.RawMessage {
	switch {
	case failed(body["error"]):
		return body["error"]
	case read[string](body["object"]) == "error":
		return data
	}
	return nil
}

// failureOf reads an error in any provider's form.
func failureOf(data json.RawMessage) Failure {
	if text := read[string](data); text != "" {
		return Failure{Message: text}
	}
	body := read[object](data)
	f := Failure{Code: read[int](body["code"]), Message: read[string](body["message"])}
	// A code is more specific than a type, unless it is a number.
	code := read[string](body["code"])
	if _, err := strconv.Atoi(code); err == nil {
		code = ""
	}
	f.Type = cmp.Or(code, read[string](body["type"]), read[string](body["status"]))
	for _, detail := range read[[]object](body["details"]) {
		if delay := read[string](detail["retryDelay"]); delay != "" {
			f.RetryAfter = llm.RetryAfter(delay, time.Now())
		}
	}
	if f.Message == "" {
		f.Message = "an error without a message"
	}
	return f
}

// refusalOf reads the body of a reply with an error status. It reports false if the body
// has no error message.
func refusalOf(data []byte) (Failure, bool) {
	body := read[object](data)
	if list := read[[]object](data); len(list) == 1 {
		body = list[0] // Gemini, when a stream was asked for
	}
	text := strings.TrimSpace(string(data))
	switch {
	case failed(body["error"]):
		return failureOf(body["error"]), true
	case failed(body["message"]):
		return failureOf(data), true
	case failed(body["detail"]):
		return Failure{Message: cmp.Or(read[string](body["detail"]), string(body["detail"]))}, true
	case body != nil || text == "" || text[0] == '<' || len(text) > maxSaid || !utf8.ValidString(text):
		return Failure{}, false
	}
	return Failure{Message: text}, true
}

// maxSaid is the maximum length of a text that is read as an error message.
const maxSaid = 500
