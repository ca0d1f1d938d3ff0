package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A PartType says what a [Part] is.
type PartType string

// The types of a part. Any other is refused by [Message.Validate].
const (
	PartText      PartType = "text"      // Text
	PartReasoning PartType = "reasoning" // Text: what a model thought before it answered
	PartImage     PartType = "image"     // Data with MIMEType, or URL
	PartFile      PartType = "file"      // Data with MIMEType, or URL; Name
	PartOther     PartType = "other"     // Metadata: what has no type here; models do not see it
)

// A Part is a piece of what a message says. Type says which of the other
// fields count. Its JSON form has a key for each field that is not empty, and
// "type"; data is base64.
type Part struct {
	Type PartType `json:"type"`
	// Text is that of a text or reasoning part.
	Text string `json:"text,omitempty"`
	// MIMEType is that of Data, such as image/png.
	MIMEType string `json:"mime_type,omitempty"`
	// Data is the content of an image or a file.
	Data []byte `json:"data,omitempty"`
	// URL is where an image or a file can be had, instead of Data.
	URL string `json:"url,omitempty"`
	// Name is that of a file.
	Name string `json:"name,omitempty"`
	// Detail says how closely a model looks at an image: low, high or auto,
	// where the provider lets one choose. Optional.
	Detail string `json:"detail,omitempty"`
	// Signature is what a provider signed its reasoning, or its text, with. It
	// means nothing to anybody else, and the provider wants it back as it was:
	// a reasoning part is sent back with it or not at all. A reasoning part may
	// have a signature and no text: what the provider thought, and does not show.
	Signature string `json:"signature,omitempty"`
	// Metadata is whatever else a provider, the caller or another program keeps
	// with the part, such as "cache_control". An adapter may send what its
	// provider knows of it.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Text returns a part with a text. A byte that is not UTF-8 is replaced by
// U+FFFD, as it would be when the message is stored.
func Text(text string) Part {
	return Part{Type: PartText, Text: strings.ToValidUTF8(text, "\ufffd")}
}

// Image returns a part with the content of an image, whose MIME type is such as
// image/png. The slice is the part's from then on.
func Image(mimeType string, data []byte) Part {
	return Part{Type: PartImage, MIMEType: mimeType, Data: data}
}

// ImageURL returns a part with an image that the provider fetches. Weft never
// does.
func ImageURL(url string) Part { return Part{Type: PartImage, URL: url} }

// File returns a part with the content of a file. The slice is the part's from
// then on.
func File(name, mimeType string, data []byte) Part {
	return Part{Type: PartFile, Name: name, MIMEType: mimeType, Data: data}
}

// Clone returns a copy that shares nothing with p.
func (p Part) Clone() Part {
	p.Data = bytes.Clone(p.Data)
	p.Metadata = cloneMetadata(p.Metadata)
	return p
}
