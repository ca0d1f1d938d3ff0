package mcptools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// StructuredContent is a key in the metadata of an answer. Its value is the structured
// content of the result, for programs. It is not set if the content exceeds 64 KiB.
const StructuredContent = "mcp_structured_content"

const (
	// maxStructured is the maximum size of structured content in metadata, in bytes.
	maxStructured = 64 << 10
	// maxParts is the maximum number of content parts of a result. tools.Options limits
	// their size.
	maxParts = 100
)

// result converts the answer of a server. Its text is the structured content if there is no
// other content.
func result(answer *mcp.CallToolResult) tools.Result {
	r := tools.Result{Failed: answer.IsError}
	for i, content := range answer.Content {
		if i == maxParts {
			r.Parts = append(r.Parts, note("%d more pieces are left out", len(answer.Content)-maxParts))
			break
		}
		if p := part(content); p.Type != llm.PartText || p.Text != "" {
			r.Parts = append(r.Parts, p)
		}
	}
	structured, err := json.Marshal(answer.StructuredContent)
	if err != nil || answer.StructuredContent == nil {
		return r
	}
	if len(r.Parts) == 0 {
		r.Text = string(structured)
	}
	if len(structured) <= maxStructured {
		r.Metadata = map[string]json.RawMessage{StructuredContent: structured}
	}
	return r
}

// part converts one piece of content.
func part(content mcp.Content) llm.Part {
	switch c := content.(type) {
	case *mcp.TextContent:
		return llm.Text(c.Text)
	case *mcp.ImageContent:
		return data(llm.Image(c.MIMEType, c.Data))
	case *mcp.AudioContent:
		return data(llm.File("", c.MIMEType, c.Data))
	case *mcp.ResourceLink:
		// A text and not a URL, so that nothing fetches an address that a server names.
		return note("resource %s %s", c.URI, strings.Join(strings.Fields(c.Name+" "+c.MIMEType+" "+c.Description), " "))
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	}
	return note("content of type %T is left out", content)
}

func resource(c *mcp.ResourceContents) llm.Part {
	switch {
	case c == nil:
		return note("an empty resource")
	case c.Blob == nil:
		return llm.Text(fmt.Sprintf("[resource %s]\n%s", c.URI, c.Text))
	case strings.HasPrefix(c.MIMEType, "image/"):
		return data(llm.Image(c.MIMEType, c.Blob))
	}
	return data(llm.File(path.Base(c.URI), c.MIMEType, c.Blob))
}

// data returns an image or a file with a valid name and type. If it is empty, data returns a note instead.
func data(p llm.Part) llm.Part {
	p.Name = plain(p.Name, 128)
	p.MIMEType = or(plain(p.MIMEType, 128), "application/octet-stream")
	if len(p.Data) == 0 {
		return note("an empty %s of type %s", p.Type, p.MIMEType)
	}
	return p
}

// note returns a text for the model that replaces content.
func note(format string, args ...any) llm.Part {
	return llm.Text("[" + fmt.Sprintf(format, args...) + "]")
}

// clip returns the beginning of a text, at most limit bytes.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// plain returns the beginning of a text without invisible characters, at most limit
// characters.
func plain(text string, limit int) string {
	text = strings.TrimSpace(tools.Printable(text))
	for i := range text {
		if limit == 0 {
			return strings.TrimSpace(text[:i])
		}
		limit--
	}
	return text
}

// short limits the length of an error text, because a server may send any text.
func short(err error) error {
	if text := err.Error(); len(text) > maxMessage {
		return errors.New(clip(text, maxMessage))
	}
	return err
}

// contents converts the parts of a message for an MCP client.
func contents(m llm.Message) []mcp.Content {
	out := []mcp.Content{}
	for _, p := range m.Parts {
		switch {
		case p.Type == llm.PartText:
			out = append(out, &mcp.TextContent{Text: p.Text})
		case p.URL != "":
			out = append(out, &mcp.ResourceLink{URI: p.URL, Name: or(p.Name, p.URL), MIMEType: p.MIMEType})
		case p.Type == llm.PartImage:
			out = append(out, &mcp.ImageContent{MIMEType: p.MIMEType, Data: p.Data})
		case p.Type == llm.PartFile && strings.HasPrefix(p.MIMEType, "audio/"):
			out = append(out, &mcp.AudioContent{MIMEType: p.MIMEType, Data: p.Data})
		case p.Type == llm.PartFile:
			out = append(out, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
				URI: "attachment:" + or(p.Name, "file"), MIMEType: p.MIMEType, Blob: bytes.Clone(p.Data),
			}})
		}
	}
	return out
}
