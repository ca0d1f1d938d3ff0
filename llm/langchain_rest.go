package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// restKey is where the metadata of a message, a part or a call read from
// LangChain holds its rest.
const restKey = "langchain"

// A rest is what of an object of LangChain's the fields here do not say, so that
// it can be written as it was.
type rest struct {
	// Type is that of the entry of a message, where it is not its role's own.
	Type string `json:"type,omitempty"`
	// Form says how content was written: "blocks" for a message whose content
	// was a list and could have been a text, "string" for a text among blocks,
	// "thinking" for reasoning.
	Form string `json:"form,omitempty"`
	// Calls says that a message has its calls in the provider's form too.
	Calls bool `json:"calls,omitempty"`
	// Outer are further keys of the entry of a message.
	Outer object `json:"outer,omitempty"`
	// Keys are those that would not be written as they were.
	Keys map[string]change `json:"keys,omitempty"`
	// Media is how a block holds an image or a file.
	Media *media `json:"media,omitempty"`
}

// A change is made to the value of a key unless the value is not what it was,
// as the message has been changed since it was read.
type change struct {
	Was string          `json:"was,omitempty"` // fingerprint of the value; empty for none
	Is  json.RawMessage `json:"is,omitempty"`  // empty for none
}

// compare notes how theirs is not as own, for the keys that keep says.
func (r *rest) compare(own, theirs object, keep func(key string) bool) {
	note := func(key string) {
		was, is := own[key], theirs[key]
		if !keep(key) || len(was) > 0 && len(is) > 0 && bytes.Equal(canonical(was), canonical(is)) {
			return
		}
		if r.Keys == nil {
			r.Keys = map[string]change{}
		}
		r.Keys[key] = change{Was: fingerprint(was), Is: is}
	}
	for key := range own {
		note(key)
	}
	for key := range theirs {
		if _, ok := own[key]; !ok {
			note(key)
		}
	}
}

func anyKey(string) bool { return true }

// restore makes of what the fields say what was read.
func (r *rest) restore(own object) {
	for key, c := range r.Keys {
		switch {
		case fingerprint(own[key]) != c.Was:
		case len(c.Is) == 0:
			delete(own, key)
		default:
			own[key] = c.Is
		}
	}
}

func fingerprint(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	sum := sha256.Sum256(canonical(value))
	return hex.EncodeToString(sum[:8])
}

// canonical writes a value so that equal ones are equal bytes.
func canonical(value json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return value
	}
	return encode(v)
}

// put returns metadata with the rest, unless there is none.
func (r rest) put(metadata object) map[string]json.RawMessage {
	if text := encode(r); string(text) != "{}" {
		if metadata == nil {
			metadata = object{}
		}
		metadata[restKey] = text
	}
	if len(metadata) == 0 {
		return nil
	}
	return metadata
}

// takeRest returns metadata without its rest, and the rest. What is not one is
// left where it is.
func takeRest(metadata map[string]json.RawMessage) (map[string]json.RawMessage, rest) {
	text, ok := metadata[restKey]
	if !ok {
		return metadata, rest{}
	}
	var r rest
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return metadata, rest{}
	}
	metadata = maps.Clone(metadata)
	delete(metadata, restKey)
	return metadata, r
}

// An object is a JSON object whose values have not been read.
type object map[string]json.RawMessage

// text returns the string at a key; empty when there is none.
func (o object) text(key string) string {
	var text string
	if json.Unmarshal(o[key], &text) != nil {
		return ""
	}
	return text
}

// firstText returns the first string that is not empty.
func (o object) firstText(keys ...string) string {
	for _, key := range keys {
		if text := o.text(key); text != "" {
			return text
		}
	}
	return ""
}

// object returns the object at a key; an empty one when there is none.
func (o object) object(key string) object {
	var inner object
	if json.Unmarshal(o[key], &inner) != nil || inner == nil {
		return object{}
	}
	return inner
}

// objects returns the objects in the array at a key.
func (o object) objects(key string) []object {
	var inner []object
	if json.Unmarshal(o[key], &inner) != nil {
		return nil
	}
	return inner
}

// set sets a string, unless it is empty.
func (o object) set(key, text string) {
	if text != "" {
		o[key] = encode(text)
	}
}

// encode writes what is always JSON.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("llm: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func compact(value json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return value
	}
	return b.Bytes()
}
