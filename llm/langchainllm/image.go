package langchainllm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// picture returns an image or a file in the library's form. The library must never fetch a URL:
// the writer of the URL could otherwise reach this program's network.
func (p profile) picture(part llm.Part) (llms.ContentPart, error) {
	mimeType, data := part.MIMEType, part.Data
	if len(data) == 0 && strings.HasPrefix(part.URL, "data:") {
		var err error
		if mimeType, data, err = wire.ParseDataURL(part.URL); err != nil {
			return nil, err
		}
	}
	isImage := strings.HasPrefix(mimeType, "image/")
	switch {
	case part.Type == llm.PartFile && !(p.files || isImage && p.images):
		return nil, fmt.Errorf("part of type %s (%s): the provider takes no files but images; send the text of the file, or images of its pages", part.Type, mimeType)
	case !p.images:
		return nil, errors.New("part of type image: the provider takes no images")
	case len(data) == 0:
		return nil, errors.New("the provider takes the bytes of an image or a file, and no URL; fetch it and send Data with MIMEType")
	}
	return llms.BinaryContent{MIMEType: mimeType, Data: data}, nil
}
