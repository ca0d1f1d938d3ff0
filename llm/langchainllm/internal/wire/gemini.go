package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weft-go/weft/llm"
)

// gemini is the form of Gemini's generateContent.
type gemini struct{}

func (gemini) request(body object, c *Call) error {
	r := &c.Request
	config := read[object](body["generationConfig"])
	if config == nil {
		config = object{}
	}
	geminiConfig(config, r)
	body["generationConfig"] = raw(config)
	if len(r.Tools) > 0 {
		body["tools"] = raw(geminiTools(r.Tools))
		if choice := geminiChoice(r.ToolChoice); choice != nil {
			body["toolConfig"] = raw(map[string]any{"functionCallingConfig": choice})
		}
	}
	return geminiContents(body, r)
}

// geminiConfig takes out what the library sets when nobody asked for it, and
// sets what it has no option for.
func geminiConfig(config object, r *llm.Request) {
	delete(config, "topK")
	set(config, "temperature", r.Temperature)
	set(config, "topP", r.TopP)
	set(config, "seed", r.Seed)
	if r.MaxTokens == 0 {
		delete(config, "maxOutputTokens")
	}
	switch r.Format.Type {
	case llm.FormatSchema:
		config["responseMimeType"] = raw("application/json")
		config["responseSchema"] = raw(SimpleSchema(r.Format.Schema))
	case llm.FormatJSON:
		config["responseMimeType"] = raw("application/json")
	}
	if budget, ok := geminiBudget(r.Reasoning); ok {
		config["thinkingConfig"] = raw(map[string]any{"thinkingBudget": budget})
	}
}

// geminiBudget says how many tokens to think in. The efforts count as they do in
// Google's own translation of OpenAI's.
func geminiBudget(r llm.Reasoning) (int, bool) {
	if r.Budget > 0 && r.Effort != llm.EffortNone {
		return r.Budget, true
	}
	budget, ok := map[llm.Effort]int{
		llm.EffortNone: 0, llm.EffortLow: 1024, llm.EffortMedium: 8192, llm.EffortHigh: 24576,
	}[r.Effort]
	return budget, ok
}

func set[T any](o object, key string, value *T) {
	if value == nil {
		delete(o, key)
		return
	}
	o[key] = raw(*value)
}

// geminiTools declares the tools again: the library loses enums, alternatives
// and much more of a schema.
func geminiTools(tools []llm.ToolSpec) any {
	declarations := make([]map[string]any, len(tools))
	for i, tool := range tools {
		declaration := map[string]any{"name": tool.Name, "description": tool.Description}
		// An object without properties is refused.
		schema := SimpleSchema(tool.Schema)
		if properties, _ := schema["properties"].(map[string]any); len(properties) > 0 {
			declaration["parameters"] = schema
		}
		declarations[i] = declaration
	}
	return []any{map[string]any{"functionDeclarations": declarations}}
}

func geminiChoice(choice llm.ToolChoice) map[string]any {
	switch {
	case choice.Name != "":
		return map[string]any{"mode": "ANY", "allowedFunctionNames": []string{choice.Name}}
	case choice.Mode == llm.ToolsRequired:
		return map[string]any{"mode": "ANY"}
	case choice.Mode == llm.ToolsNone:
		return map[string]any{"mode": "NONE"}
	}
	return nil
}

// geminiContents puts back the signatures of tool calls, and says which results
// are errors. Calls and results come in the order of the request.
func geminiContents(body object, r *llm.Request) error {
	var contents []struct {
		Role  string   `json:"role,omitempty"`
		Parts []object `json:"parts"`
	}
	if err := json.Unmarshal(body["contents"], &contents); err != nil {
		return err
	}
	var signatures []string
	var statuses []llm.Status
	for i := range r.Messages {
		for _, call := range r.Messages[i].ToolCalls {
			signatures = append(signatures, call.Signature)
		}
		if r.Messages[i].Role == llm.RoleTool {
			statuses = append(statuses, r.Messages[i].Status)
		}
	}
	for _, content := range contents {
		for _, part := range content.Parts {
			if part["functionCall"] != nil && len(signatures) > 0 {
				if signatures[0] != "" {
					part["thoughtSignature"] = raw(signatures[0])
				}
				signatures = signatures[1:]
			}
			if response := read[object](part["functionResponse"]); response != nil && len(statuses) > 0 {
				if statuses[0] == llm.StatusError {
					said := read[object](response["response"])
					response["response"] = raw(object{"error": said["response"]})
					part["functionResponse"] = raw(response)
				}
				statuses = statuses[1:]
			}
		}
	}
	body["contents"] = raw(contents)
	return nil
}

func (gemini) reply(data []byte, c *Call) []byte {
	body := read[object](data)
	if failed(body["error"]) {
		c.fail(failureOf(body["error"]))
		return data
	}
	if body["candidates"] == nil && body["promptFeedback"] == nil {
		return nil
	}
	mended, ok := geminiReply(body, c)
	if !ok {
		return data
	}
	c.note(func(f *Facts) { f.Complete = true })
	return raw(mended)
}

// geminiReply brings a reply, or a piece of one, into the form that the library
// takes: one candidate, with content, of texts and calls. It reports false for a
// piece that has nothing to say.
func geminiReply(body object, c *Call) (object, bool) {
	if usage := read[geminiUsage](body["usageMetadata"]).usage(); usage != nil {
		c.note(func(f *Facts) { f.Usage = usage })
	}
	if reason := read[string](read[object](body["promptFeedback"])["blockReason"]); reason != "" {
		c.fail(Failure{Type: "prompt_blocked", Message: "the prompt was blocked: " + reason})
		return nil, false
	}
	candidates := read[[]object](body["candidates"])
	if len(candidates) == 0 || candidates[0] == nil {
		return nil, false
	}
	candidate := candidates[0]
	if reason := finishReason(candidate["finishReason"]); reason != "" {
		c.note(func(f *Facts) { f.Stop = reason })
	}
	content := read[object](candidate["content"])
	if content == nil {
		content = object{"role": raw("model")}
	}
	parts := []object{}
	for _, part := range read[[]object](content["parts"]) {
		switch {
		case read[bool](part["thought"]):
			c.note(func(f *Facts) { f.Reasoning += read[string](part["text"]) })
		case part["functionCall"] != nil:
			signature := read[string](part["thoughtSignature"])
			c.note(func(f *Facts) { f.Signatures = append(f.Signatures, signature) })
			parts = append(parts, object{"functionCall": part["functionCall"]})
		case read[string](part["text"]) != "":
			parts = append(parts, object{"text": part["text"]})
		}
	}
	content["parts"] = raw(parts)
	candidate["content"] = raw(content)
	delete(candidate, "finishReason") // one that the library does not know is an error to it
	return object{"candidates": raw([]object{candidate}), "usageMetadata": raw(read[geminiUsage](body["usageMetadata"]))}, true
}

type geminiUsage struct {
	Prompt    int64 `json:"promptTokenCount,omitempty"`
	Candidate int64 `json:"candidatesTokenCount,omitempty"`
	Total     int64 `json:"totalTokenCount,omitempty"`
	Cached    int64 `json:"cachedContentTokenCount,omitempty"`
	Thoughts  int64 `json:"thoughtsTokenCount,omitempty"`
	ToolUse   int64 `json:"toolUsePromptTokenCount,omitempty"`
}

// usage counts what was thought as output, which Gemini counts apart.
func (u geminiUsage) usage() *llm.Usage {
	if u == (geminiUsage{}) {
		return nil
	}
	in, out := u.Prompt+u.ToolUse, u.Candidate+u.Thoughts
	return &llm.Usage{Input: in, Output: out, Total: in + out, Cached: u.Cached, Reasoning: u.Thoughts}
}

// finishReasons are Gemini's reasons by number, as its client asks for them.
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

func (gemini) streamed(data []byte, _ *Call) []byte {
	return slices.Concat([]byte("["), data, []byte("]"))
}

func (gemini) stream(body io.ReadCloser, c *Call) io.ReadCloser {
	return &array{body: body, items: json.NewDecoder(body), call: c}
}

// array is a streamed JSON array, mended. It reads as much as it is asked for,
// on its reader's goroutine.
type array struct {
	body    io.ReadCloser
	items   *json.Decoder
	call    *Call
	ready   bytes.Buffer
	started bool
	written bool
	err     error
}

// Close closes the body.
func (a *array) Close() error { return a.body.Close() }

// Read returns mended items.
func (a *array) Read(p []byte) (int, error) {
	for a.ready.Len() == 0 {
		if a.err != nil {
			return 0, a.err
		}
		a.fill()
	}
	return a.ready.Read(p)
}

func (a *array) fill() {
	if !a.started {
		a.started = true
		a.ready.WriteByte('[')
		if token, err := a.items.Token(); err != nil || token != json.Delim('[') {
			a.broke(err)
		}
		return
	}
	if !a.items.More() {
		if token, err := a.items.Token(); err != nil || token != json.Delim(']') {
			a.broke(err)
			return
		}
		a.call.note(func(f *Facts) { f.Complete = f.Stop != "" })
		a.close()
		return
	}
	var item object
	if err := a.items.Decode(&item); err != nil {
		a.broke(err)
		return
	}
	if failed(item["error"]) {
		a.call.fail(failureOf(item["error"]))
		a.close()
		return
	}
	if mended, ok := geminiReply(item, a.call); ok {
		if a.written {
			a.ready.WriteByte(',')
		}
		a.written = true
		a.ready.Write(raw(mended))
	}
}

// broke notes that the array broke off, which a Facts without Complete says, or
// that it is none.
func (a *array) broke(err error) {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil, syntax:
		a.call.fail(Failure{Message: "the stream can not be read", Kind: llm.ErrTransport})
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		a.call.fail(Failure{Message: fmt.Sprintf("the stream broke: %v", err)})
	}
	a.close()
}

// close ends the array for the library, which hears of failures elsewhere.
func (a *array) close() {
	if !a.written {
		// The library panics at a stream without a candidate.
		a.ready.WriteString(`{"candidates":[{"content":{"role":"model","parts":[]}}]}`)
	}
	a.ready.WriteByte(']')
	a.err = io.EOF
}
