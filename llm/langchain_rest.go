package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// restKey is the key of the [rest] in the metadata of a message, a part or a call
// that was read from LangChain.
const restKey = "langchain"

// A rest is the data of a LangChain object for which the types of this package have no
// field. [ToLangChain] needs it to write the object as it was read.
type rest struct {
	// Type is the type of a message's entry, if it is not the default type of its role.
	Type string `json:"type,omitempty"`
	// Form is the form of a content, if it is not the default form: "blocks" for a list
	// that could be a text, "contentBlocks" for the key of that name, "string" for a text
	// among blocks, "thinking" or "reasoning" for a block of that type.
	Form string `json:"form,omitempty"`
	// Calls reports whether a message also has its calls in the provider's form.
	Calls bool `json:"calls,omitempty"`
	// Outer holds the other keys of a message's entry.
	Outer object `json:"outer,omitempty"`
	// Keys holds the keys whose values, as read, differ from the values that [ToLangChain] would write.
	Keys map[string]change `json:"keys,omitempty"`
	// Media is the form of a block with an image or a file.
	Media *media `json:"media,omitempty"`
}

// A change replaces the value of a key. It applies only if the value has the
// fingerprint Was: any other value was changed after the message was read.
type change struct {
	Was string          `json:"was,omitempty"` // empty for no value
	Is  json.RawMessage `json:"is,omitempty"`  // empty for no value
}

// compare records the differences of theirs from own, for the keys that keep accepts.
func (r *rest) compare(own, theirs object, keep func(key string) bool) {
	note := func(key string) {
		was, is := own[key], theirs[key]
		if !keep(key) || len(was) > 0 && len(is) > 0 && (bytes.Equal(was, is) || bytes.Equal(canonical(was), canonical(is))) {
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

// restore applies the changes to the fields of an object.
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

// canonical returns the same bytes for equal values.
func canonical(value json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return value
	}
	return encode(v)
}

// put returns metadata with the rest, unless the rest is empty.
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

// takeRest splits metadata into the entries that are not part of the rest, and the rest.
// If the value under the key of the rest is not valid, it stays in the metadata.
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

// An object is a JSON object whose values are not decoded.
type object map[string]json.RawMessage

// text returns the string at a key, or "".
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

// object returns the object at a key, or an empty one.
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

// encode returns the JSON of a value. It panics if the value has no JSON form.
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
