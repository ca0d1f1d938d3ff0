package wire

import (
	"encoding/json"
	"unicode/utf8"
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

// failureOf reads what the providers say of an error, in its many forms.
func failureOf(data json.RawMessage) Failure {
	if text := read[string](data); text != "" {
		return Failure{Message: text}
	}
	body := read[object](data)
	f := Failure{
		Code:    read[int](body["code"]),
		Type:    read[string](body["type"]),
		Message: read[string](body["message"]),
	}
	if f.Type == "" {
		f.Type = read[string](body["status"])
	}
	if f.Type == "" {
		f.Type = read[string](body["code"])
	}
	if f.Message == "" {
		f.Message = "an error without a message"
	}
	return f
}
