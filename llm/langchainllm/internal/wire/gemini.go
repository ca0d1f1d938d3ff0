package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// signedByGemini marks the signature of reasoning of Gemini, which no other provider accepts.
const signedByGemini = "gemini:"

// A geminiReply decodes a reply of Gemini's generateContent.
type geminiReply struct {
	call  *Call
	tools int // the number of tool calls
}

func (g *geminiReply) event(data []byte) bool {
	body := read[object](data)
	if failed(body["error"]) {
		g.call.fail(failureOf(body["error"]))
		return true
	}
	return !g.read(body)
}

func (g *geminiReply) whole(data []byte) bool {
	body := read[object](data)
	if failed(body["error"]) {
		g.call.fail(failureOf(body["error"]))
		return true
	}
	if body["candidates"] == nil && body["promptFeedback"] == nil {
		return false
	}
	if g.read(body) {
		g.call.note(func(f *Facts) { f.Complete = true })
	}
	return true
}

// read reads a whole reply or one event of a stream. It reports false if the body has an
// error.
func (g *geminiReply) read(body object) bool {
	if usage := read[geminiUsage](body["usageMetadata"]).usage(); usage != nil {
		g.call.note(func(f *Facts) { f.Usage = usage })
	}
	if reason := read[string](read[object](body["promptFeedback"])["blockReason"]); reason != "" {
		g.call.fail(Failure{Type: "prompt_blocked", Message: "the prompt was blocked: " + reason})
		return false
	}
	candidates := read[[]object](body["candidates"])
	if len(candidates) == 0 || candidates[0] == nil {
		return true
	}
	for _, part := range read[[]object](read[object](candidates[0]["content"])["parts"]) {
		g.part(part)
	}
	if reason := finishReason(candidates[0]["finishReason"]); reason != "" {
		g.call.note(func(f *Facts) { f.Stop, f.Complete = reason, true })
	}
	return true
}

func (g *geminiReply) part(part object) {
	signature := read[string](part["thoughtSignature"])
	text := read[string](part["text"])
	switch {
	case read[bool](part["thought"]):
		if signature != "" {
			signature = signedByGemini + signature
		}
		g.call.emit(llm.Chunk{Kind: llm.ChunkReasoning, Text: text, Signature: signature})
	case part["functionCall"] != nil:
		function := read[object](part["functionCall"])
		d := llm.ToolCallDelta{Index: g.tools, ID: newID(), Name: read[string](function["name"]), Signature: signature}
		if len(read[object](function["args"])) > 0 {
			d.Arguments = string(function["args"])
		}
		g.tools++
		g.call.toolCall(d)
	case part["inlineData"] != nil:
		data := read[struct {
			MIMEType string `json:"mimeType"`
			Data     []byte `json:"data"`
		}](part["inlineData"])
		p := llm.Part{Type: llm.PartFile, MIMEType: data.MIMEType, Data: data.Data, Signature: signature}
		if strings.HasPrefix(data.MIMEType, "image/") {
			p.Type = llm.PartImage
		}
		if len(p.Data) == 0 || p.MIMEType == "" {
			g.call.fail(Failure{Kind: llm.ErrMalformed, Message: "a part of the reply has data that cannot be read"})
			return
		}
		g.call.emit(llm.Chunk{Kind: llm.ChunkPart, Part: &p})
	default:
		g.call.emit(llm.Chunk{Kind: llm.ChunkText, Text: text, Signature: signature})
	}
}

func (g *geminiReply) end() {}

type geminiUsage struct {
	Prompt    int64 `json:"promptTokenCount,omitempty"`
	Candidate int64 `json:"candidatesTokenCount,omitempty"`
	Total     int64 `json:"totalTokenCount,omitempty"`
	Cached    int64 `json:"cachedContentTokenCount,omitempty"`
	Thoughts  int64 `json:"thoughtsTokenCount,omitempty"`
	ToolUse   int64 `json:"toolUsePromptTokenCount,omitempty"`
}

// usage returns the usage. It adds the reasoning to the output, because Gemini counts it
// separately.
func (u geminiUsage) usage() *llm.Usage {
	if u == (geminiUsage{}) {
		return nil
	}
	in, out := u.Prompt+u.ToolUse, u.Candidate+u.Thoughts
	return &llm.Usage{Input: in, Output: out, Total: in + out, Cached: u.Cached, Reasoning: u.Thoughts}
}

// finishReasons are Gemini's finish reasons by number, since Google's client asks for numbers.
var finishReasons = []string{
	"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE",
	"BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL",
}

func finishReason(data json.RawMessage) string {
	if name := read[string](data); name != "" {
		return name
	}
	if n := read[int](data); n > 0 && n < len(finishReasons) {
		return finishReasons[n]
	} else if n != 0 {
		return fmt.Sprintf("FINISH_REASON_%d", n)
	}
	return ""
}
