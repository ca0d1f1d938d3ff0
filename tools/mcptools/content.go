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

// StructuredContent is the key of a message's metadata under which the structured
// content of a result is kept, for programs, unless it has more than 64 KiB.
const StructuredContent = "mcp_structured_content"

const (
	// maxStructured is how much structured content is kept with a message.
	maxStructured = 64 << 10
	// maxParts is how many pieces of content a result may have. How large they
	// may be is for tools.Options to say.
	maxParts = 100
)

// result makes a result of a server's answer. The model reads the content, or the
// structured content when there is no other.
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

// part makes a part of a piece of content.
func part(content mcp.Content) llm.Part {
	switch c := content.(type) {
	case *mcp.TextContent:
		return llm.Text(c.Text)
	case *mcp.ImageContent:
		return data(llm.Image(c.MIMEType, c.Data))
	case *mcp.AudioContent:
		return data(llm.File("", c.MIMEType, c.Data))
	case *mcp.ResourceLink:
		// As text, not as a URL: nobody is to fetch what a server names.
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

// data makes an image or a file fit to be kept.
func data(p llm.Part) llm.Part {
	p.Name = plain(p.Name, 128)
	p.MIMEType = or(plain(p.MIMEType, 128), "application/octet-stream")
	if len(p.Data) == 0 {
		return note("an empty %s of type %s", p.Type, p.MIMEType)
	}
	return p
}

// note is what the model is told in place of content.
func note(format string, args ...any) llm.Part {
	return llm.Text("[" + fmt.Sprintf(format, args...) + "]")
}

// clip returns the beginning of a text, of at most that many bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// plain returns a text of at most that many characters, all of which can be seen.
func plain(text string, most int) string {
	text = strings.TrimSpace(tools.Printable(text))
	for i := range text {
		if most == 0 {
			return strings.TrimSpace(text[:i])
		}
		most--
	}
	return text
}

// short returns an error whose text is of limited length, as servers may say
// anything.
func short(err error) error {
	if text := err.Error(); len(text) > maxMessage {
		return errors.New(clip(text, maxMessage))
	}
	return err
}

// contents makes what an MCP client reads of a message.
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
