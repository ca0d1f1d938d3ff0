package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// A PartType is the type of a [Part].
type PartType string

// The types of a part. Any other is invalid; see [Message.Validate].
const (
	PartText      PartType = "text"      // Text
	PartReasoning PartType = "reasoning" // Text: the reasoning of a model
	PartImage     PartType = "image"     // Data with MIMEType, or URL
	PartFile      PartType = "file"      // Data with MIMEType, or URL; Name
	PartOther     PartType = "other"     // Metadata: a part of any other type; models do not see it
)

// A Part is a piece of a message. Type decides which of the other fields are used. Its
// JSON form has a key for each field that is not empty, and "type"; data is base64.
type Part struct {
	Type PartType `json:"type"`
	// Text is the text of a text or reasoning part.
	Text string `json:"text,omitempty"`
	// MIMEType is the type of Data, such as image/png.
	MIMEType string `json:"mime_type,omitempty"`
	// Data is the content of an image or a file.
	Data []byte `json:"data,omitempty"`
	// URL is the address of an image or a file, instead of Data.
	URL string `json:"url,omitempty"`
	// Name is the name of a file.
	Name string `json:"name,omitempty"`
	// Detail is the resolution at which a model sees an image: low, high or auto.
	// Optional, and only for providers that have such a setting.
	Detail string `json:"detail,omitempty"`
	// Signature is the provider's signature of a part of a reply. Only this provider
	// understands it. Some providers require the part unchanged in the next request: a
	// reasoning part is sent back with its signature or not at all. A reasoning part
	// without text is reasoning that the provider does not show.
	Signature string `json:"signature,omitempty"`
	// Metadata is anything else that a provider, the caller or another program keeps
	// with the part. Adapters read the key "cache_control"; see [Part.Cache].
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Text returns a part with a text. Bytes that are not UTF-8, which cannot be stored,
// are replaced by U+FFFD.
func Text(text string) Part {
	return Part{Type: PartText, Text: strings.ToValidUTF8(text, "\ufffd")}
}

// Image returns a part with the content of an image. The MIME type is for example
// image/png. The caller must not change data afterwards.
func Image(mimeType string, data []byte) Part {
	return Part{Type: PartImage, MIMEType: mimeType, Data: data}
}

// ImageURL returns a part with an image that the provider fetches. Weft never
// fetches it.
func ImageURL(url string) Part { return Part{Type: PartImage, URL: url} }

// File returns a part with the content of a file. The caller must not change data
// afterwards.
func File(name, mimeType string, data []byte) Part {
	return Part{Type: PartFile, Name: name, MIMEType: mimeType, Data: data}
}

// cacheControlKey is the key of the mark in the metadata of a part.
const cacheControlKey = "cache_control"

// Cache returns a copy of p with a mark: the provider shall keep the request up to
// and including p in its cache for ttl. Zero means the provider's default. Mark the
// last part that is the same in every request, such as the last system message.
//
// The mark is for providers that cache on demand. Anthropic caches for 5 minutes, or for
// an hour if ttl is longer than 5 minutes; it allows 4 marks in a request: on the tools,
// the system messages and the conversation together. OpenAI and Gemini cache
// automatically, and adapters do not send the mark to them; see [Request.CacheKey].
//
// The mark is kept in the Metadata, under "cache_control", in Anthropic's form.
func (p Part) Cache(ttl time.Duration) Part {
	control := map[string]string{"type": "ephemeral"}
	switch {
	case ttl > 5*time.Minute:
		control["ttl"] = "1h"
	case ttl > 0:
		control["ttl"] = "5m"
	}
	p.Metadata = maps.Clone(p.Metadata)
	if p.Metadata == nil {
		p.Metadata = map[string]json.RawMessage{}
	}
	p.Metadata[cacheControlKey] = encode(control)
	return p
}

// Clone returns a copy that shares nothing with p.
func (p Part) Clone() Part {
	p.Data = bytes.Clone(p.Data)
	p.Metadata = cloneMetadata(p.Metadata)
	return p
}
