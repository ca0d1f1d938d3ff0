package llm

import (
	"bytes"
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
}

// Text returns a part with a text. A byte that is not UTF-8 is replaced by
// U+FFFD, as it would be when the message is stored.
func Text(text string) Part {
	return Part{Type: PartText, Text: strings.ToValidUTF8(text, "\ufffd")}
}

// Clone returns a copy that shares nothing with p.
func (p Part) Clone() Part {
	p.Data = bytes.Clone(p.Data)
	return p
}
