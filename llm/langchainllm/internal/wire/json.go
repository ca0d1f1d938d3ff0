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

// An object is a JSON object whose values are kept as they came.
type object map[string]json.RawMessage

// raw returns the JSON of a value that can not fail to have one.
func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// read reads a value where it has the form that is expected, and else leaves
// the zero value: what a provider adds is not for us to refuse.
func read[T any](data json.RawMessage) T {
	var v T
	if len(data) == 0 || json.Unmarshal(data, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// pieceSize keeps an event well below the 64 KiB that a line may have for the
// libraries, even when every byte is escaped to six.
const pieceSize = 8 << 10

// pieces divides a text between characters. An empty text is one empty piece.
func pieces(text string) []string {
	if len(text) <= pieceSize {
		return []string{text}
	}
	var all []string
	for len(text) > pieceSize {
		n := pieceSize
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return append(all, text)
}

// failed says whether an error field holds an error.
func failed(data json.RawMessage) bool {
	return len(data) > 0 && string(data) != "null"
}

// errorIn returns the error of a body, which some servers are themselves; nil
// when it is none.
func errorIn(body object, data []byte) json.RawMessage {
	switch {
	case failed(body["error"]):
		return body["error"]
	case read[string](body["object"]) == "error":
		return data
	}
	return nil
}

// failureOf reads what the providers say of an error, in its many forms.
func failureOf(data json.RawMessage) Failure {
	if text := read[string](data); text != "" {
		return Failure{Message: text}
	}
	body := read[object](data)
	f := Failure{Code: read[int](body["code"]), Message: read[string](body["message"])}
	// A code says more than a type, unless it is a number.
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

// refusalOf reads the body of an answer whose status says that it is an error.
// It reports false for one that says nothing to people.
func refusalOf(data []byte) (Failure, bool) {
	body := read[object](data)
	if list := read[[]object](data); len(list) == 1 {
		body = list[0] // as Gemini has it where it would stream
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

// maxSaid is the longest text that is taken for a message to people.
const maxSaid = 500
