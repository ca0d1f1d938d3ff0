package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The values of [rest].Form.
const (
	formBlocks        = "blocks"
	formContentBlocks = "contentBlocks"
	formString        = "string"
	formThinking      = "thinking"
	formReasoning     = "reasoning"
)

// contentBlocksKey is the key under which LangChain for JavaScript can store the content, instead of "content".
const contentBlocksKey = "contentBlocks"

// redactedPrefix marks the signature of reasoning whose text Anthropic does not
// show. Package langchainllm uses the same prefix.
const redactedPrefix = "redacted_thinking:"

// readAnyContent reads the content of a message, or its contentBlocks if the
// content is empty.
func readAnyContent(data object) ([]Part, string, error) {
	var blocks []json.RawMessage
	theirs := data[contentBlocksKey]
	if len(theirs) > 0 && json.Unmarshal(theirs, &blocks) != nil {
		return nil, "", errors.New("contentBlocks is not a list")
	}
	parts, form, err := readContent(data["content"])
	if err != nil || len(parts) > 0 || len(blocks) == 0 {
		return parts, form, err
	}
	parts, _, err = readContent(theirs)
	return parts, formContentBlocks, err
}

// readContent reads a content. The second result is the form of the content, or "" if it
// is the default form, which langChainContent writes.
func readContent(content json.RawMessage) ([]Part, string, error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, "", nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return newMessage("", text).Parts, "", nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return nil, "", errors.New("the content is neither a text nor a list")
	}
	var parts []Part
	for i, block := range blocks {
		part, err := readBlock(block)
		if err != nil {
			return nil, "", fmt.Errorf("block %d: %w", i, err)
		}
		parts = append(parts, part)
	}
	if isPlain(parts) {
		return parts, formBlocks, nil
	}
	return parts, "", nil
}

// isPlain reports whether parts can be written as one text.
func isPlain(parts []Part) bool {
	switch len(parts) {
	case 0:
		return true
	case 1:
		p := parts[0]
		return p.Type == PartText && p.Signature == "" && len(p.Metadata) == 0
	}
	return false
}

func langChainContent(parts []Part, form string) json.RawMessage {
	if form == "" && isPlain(parts) {
		return encode(Message{Parts: parts}.Text())
	}
	blocks := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		blocks[i] = p.langChain()
	}
	return encode(blocks)
}

func readBlock(block json.RawMessage) (Part, error) {
	var text string
	if json.Unmarshal(block, &text) == nil && string(block) != "null" {
		return Part{Type: PartText, Text: text, Metadata: rest{Form: formString}.put(nil)}, nil
	}
	var theirs object
	if err := json.Unmarshal(block, &theirs); err != nil || theirs == nil {
		return Part{}, errors.New("neither a text nor an object")
	}
	compactAll(theirs)
	if len(theirs) == 0 {
		return Part{Type: PartOther}, nil
	}
	other := Part{Type: PartOther, Metadata: theirs}
	if _, ok := theirs[restKey]; ok {
		return other, nil
	}
	p, ok := readText(theirs)
	if !ok {
		p, ok = readMedia(theirs)
	}
	if !ok || p.check() != nil || !bytes.Equal(canonical(p.langChain()), canonical(block)) {
		return other, nil
	}
	return p, nil
}

// keysOf are, for each type of block, the keys whose values a text or reasoning part has in its fields.
var keysOf = map[string][]string{
	"text":              {"type", "text", "extras"},
	"reasoning":         {"type", "reasoning", "extras"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
}

func readText(theirs object) (Part, bool) {
	typ := theirs.text("type")
	var p Part
	var rest rest
	switch typ {
	case "text":
		p = Part{Type: PartText, Text: theirs.text("text"), Signature: theirs.object("extras").text("signature")}
	case "reasoning":
		p = Part{Type: PartReasoning, Text: theirs.text("reasoning"), Signature: theirs.object("extras").text("signature")}
		if p.isRedacted() {
			rest.Form = formReasoning
		}
	case "thinking":
		p = Part{Type: PartReasoning, Text: theirs.text("thinking"), Signature: theirs.text("signature")}
		rest.Form = formThinking
	case "redacted_thinking":
		if theirs.text("data") == "" {
			return Part{}, false
		}
		p = Part{Type: PartReasoning, Signature: redactedPrefix + theirs.text("data")}
	default:
		return Part{}, false
	}
	known := func(key string) bool { return slices.Contains(keysOf[typ], key) }
	rest.compare(p.langChainText(rest.Form), theirs, known)
	p.Metadata = rest.put(theirs.without(known))
	return p, true
}

// isRedacted reports whether the part is reasoning that Anthropic does not show.
func (p Part) isRedacted() bool {
	return p.Type == PartReasoning && p.Text == "" && len(p.Signature) > len(redactedPrefix) && strings.HasPrefix(p.Signature, redactedPrefix)
}

// langChain returns the part as a block in LangChain's form.
func (p Part) langChain() json.RawMessage {
	metadata, rest := takeRest(p.Metadata)
	var theirs object
	switch p.Type {
	case PartOther:
		if p.Metadata == nil {
			return json.RawMessage("{}")
		}
		return encode(object(p.Metadata))
	case PartText, PartReasoning:
		if rest.Form == formString && p.Type == PartText && p.Signature == "" && len(metadata) == 0 {
			return encode(p.Text)
		}
		theirs = p.langChainText(rest.Form)
		rest.restore(theirs)
	default:
		theirs = p.langChainMedia(rest.Media)
	}
	for key, value := range metadata {
		if _, ok := theirs[key]; !ok {
			theirs[key] = value
		}
	}
	return encode(theirs)
}

func (p Part) langChainText(form string) object {
	theirs := object{}
	switch {
	case p.Type == PartText:
		theirs["type"], theirs["text"] = encode("text"), encode(p.Text)
	case form == formThinking:
		theirs["type"], theirs["thinking"] = encode("thinking"), encode(p.Text)
		theirs.set("signature", p.Signature)
		return theirs
	case form != formReasoning && p.isRedacted():
		theirs["type"] = encode("redacted_thinking")
		theirs["data"] = encode(strings.TrimPrefix(p.Signature, redactedPrefix))
		return theirs
	default:
		theirs["type"], theirs["reasoning"] = encode("reasoning"), encode(p.Text)
	}
	if p.Signature != "" {
		theirs["extras"] = encode(object{"signature": encode(p.Signature)})
	}
	return theirs
}

// without returns a copy of the object without the keys for which known returns true.
func (o object) without(known func(key string) bool) object {
	others := object{}
	for key, value := range o {
		if !known(key) {
			others[key] = value
		}
	}
	return others
}
