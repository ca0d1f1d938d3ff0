package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/weft-go/weft/llm"
)

const pdf = "application/pdf"

// media is the content of an image or a file: data, or the URL at which a provider fetches it.
type media struct {
	partType llm.PartType
	mimeType string
	data     []byte
	url      string
}

// image reports whether the content is an image.
func (m media) image() bool {
	return strings.HasPrefix(m.mimeType, "image/") || m.mimeType == "" && m.partType == llm.PartImage
}

func (m media) String() string {
	if m.mimeType == "" {
		return fmt.Sprintf("part of type %s", m.partType)
	}
	return fmt.Sprintf("part of type %s (%.60s)", m.partType, m.mimeType)
}

// mediaOf reads an image or a file part. It never fetches anything: the writer of a URL could
// otherwise reach this program's network. If a URL without a MIME type ends in .pdf, the file
// is a PDF.
func mediaOf(p llm.Part) (media, error) {
	m := media{partType: p.Type, mimeType: p.MIMEType, data: p.Data, url: p.URL}
	if len(m.data) > 0 {
		return m, nil
	}
	if strings.HasPrefix(p.URL, "data:") {
		var err error
		m.mimeType, m.data, err = ParseDataURL(p.URL)
		m.url = ""
		return m, err
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return m, fmt.Errorf("%.100q is not the URL of an image or a file", p.URL)
	}
	if m.mimeType == "" && p.Type == llm.PartFile && strings.HasSuffix(strings.ToLower(u.Path), ".pdf") {
		m.mimeType = pdf
	}
	return m, nil
}

// ParseDataURL reads the content of a data: URL.
func ParseDataURL(text string) (mimeType string, data []byte, err error) {
	head, body, ok := strings.Cut(strings.TrimPrefix(text, "data:"), ",")
	if !ok {
		return "", nil, errors.New("a data URL without data")
	}
	head, isBase64 := strings.CutSuffix(head, ";base64")
	mimeType, _, _ = strings.Cut(head, ";")
	if mimeType == "" {
		return "", nil, errors.New("a data URL without a MIME type")
	}
	if isBase64 {
		if data, err = base64.StdEncoding.DecodeString(body); err != nil {
			return "", nil, fmt.Errorf("a data URL: %w", err)
		}
	} else {
		text, err := url.PathUnescape(body)
		if err != nil {
			return "", nil, fmt.Errorf("a data URL: %w", err)
		}
		data = []byte(text)
	}
	if len(data) == 0 {
		return "", nil, errors.New("a data URL without data")
	}
	return mimeType, data, nil
}

// Arguments returns the arguments of a call as a JSON object. If they are not an object, it
// wraps them in one: the providers and the libraries reject a conversation with any other value,
// and one bad call must not end it.
func Arguments(call llm.ToolCall) string {
	text := call.Text()
	var object map[string]json.RawMessage
	if call.Invalid == "" && json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": text})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}
