package langchainllm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// picture returns an image or a file in the form that the provider's library
// takes. It never makes the library fetch anything: whoever writes a URL into a
// conversation would have this program's network at hand.
func (p profile) picture(part llm.Part) (llms.ContentPart, error) {
	mimeType, data := part.MIMEType, part.Data
	if len(data) == 0 && strings.HasPrefix(part.URL, "data:") {
		var err error
		if mimeType, data, err = parseDataURL(part.URL); err != nil {
			return nil, err
		}
	}
	isImage := strings.HasPrefix(mimeType, "image/")
	switch {
	case part.Type == llm.PartFile && !(p.files || isImage && p.images != noImages):
		return nil, errors.New("it takes no files but images; send the text of the file, or images of its pages")
	case p.images == noImages:
		return nil, errors.New("it takes no images")
	case len(data) == 0 && p.images != imageURLs:
		return nil, errors.New("it takes the bytes of an image or a file, and no URL; fetch it and send Data with MIMEType")
	case len(data) == 0:
		if err := checkLink(part.URL); err != nil {
			return nil, err
		}
		return llms.ImageURLContent{URL: part.URL, Detail: part.Detail}, nil
	case p.images == imageBytes:
		return llms.BinaryContent{MIMEType: mimeType, Data: data}, nil
	}
	url := "data:" + mimeType + ";base64," + base64.StdEncoding.EncodeToString(data)
	return llms.ImageURLContent{URL: url, Detail: part.Detail}, nil
}

// checkLink lets the provider fetch from the web, and nothing else.
func checkLink(link string) error {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%.100q is not the URL of an image", link)
	}
	return nil
}

// parseDataURL reads what a data: URL holds.
func parseDataURL(text string) (mimeType string, data []byte, err error) {
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
		plain, err := url.PathUnescape(body)
		if err != nil {
			return "", nil, fmt.Errorf("a data URL: %w", err)
		}
		data = []byte(plain)
	}
	if len(data) == 0 {
		return "", nil, errors.New("a data URL without data")
	}
	return mimeType, data, nil
}
