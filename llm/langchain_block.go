package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The forms of a rest.
const (
	formBlocks   = "blocks"
	formString   = "string"
	formThinking = "thinking"
)

// readContent reads content, and returns the form that would not be chosen for
// its parts.
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

// isPlain says that parts can be written as one text.
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
	if form != formBlocks && isPlain(parts) {
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

// keysOf are the keys of a block that a part of text has a field for.
var keysOf = map[string][]string{
	"text":      {"type", "text", "extras"},
	"reasoning": {"type", "reasoning", "extras"},
	"thinking":  {"type", "thinking", "signature"},
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
	case "thinking":
		p = Part{Type: PartReasoning, Text: theirs.text("thinking"), Signature: theirs.text("signature")}
		rest.Form = formThinking
	default:
		return Part{}, false
	}
	known := func(key string) bool { return slices.Contains(keysOf[typ], key) }
	rest.compare(p.langChainText(rest.Form), theirs, known)
	p.Metadata = rest.put(theirs.without(known))
	return p, true
}

// langChain returns the part as a block of LangChain's.
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
	default:
		theirs["type"], theirs["reasoning"] = encode("reasoning"), encode(p.Text)
	}
	if p.Signature != "" {
		theirs["extras"] = encode(object{"signature": encode(p.Signature)})
	}
	return theirs
}

// without returns the values of all keys but some.
func (o object) without(known func(key string) bool) object {
	others := object{}
	for key, value := range o {
		if !known(key) {
			others[key] = value
		}
	}
	return others
}
