package wire

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A Dialect is the form of an API's requests and replies.
type Dialect int

// The dialects.
const (
	None       Dialect = iota
	OpenAI             // OpenAI's chat completions
	Compatible         // the same, of another server
	Mistral            // the same, of Mistral's API
	Anthropic          // Anthropic's messages
	Gemini             // Gemini's generateContent
)

// A Body holds fields of a JSON request.
type Body map[string]json.RawMessage

// Encode returns the fields of a request's body that replace the fields of the library. It adds
// extra to the system messages. An error names the message and the part that the API does not
// support.
func (d Dialect) Encode(r llm.Request, extra []string) (Body, error) {
	switch d {
	case OpenAI, Compatible, Mistral:
		return openAIBody(d, &r, extra)
	case Anthropic:
		return anthropicBody(&r, extra)
	case Gemini:
		return geminiBody(&r, extra)
	case None:
	}
	return nil, nil
}

// asks reports whether a request asks a model for a reply in this dialect.
func (d Dialect) asks(req *http.Request) bool {
	if req.Method != http.MethodPost || req.Body == nil {
		return false
	}
	path := req.URL.Path
	switch d {
	case OpenAI, Compatible, Mistral:
		return strings.HasSuffix(path, "/chat/completions")
	case Anthropic:
		return strings.HasSuffix(path, "/messages")
	case Gemini:
		return strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent")
	case None:
	}
	return false
}

// settle corrects the settings in the library's body: the library sends zeros or its own
// defaults for settings that the request does not have.
func (d Dialect) settle(body object, r *llm.Request) {
	switch d {
	case OpenAI, Compatible, Mistral:
		settleOpenAI(d, body, r)
	case Anthropic:
		settleAnthropic(body, r)
	case Gemini:
		settleGemini(body, r)
	case None:
	}
}

// A decoder turns a reply into chunks, which it passes to a [Call].
type decoder interface {
	// event reads one event of a stream. It reports true after the last one.
	event(data []byte) (done bool)
	// whole reads a reply that was not streamed. It reports false if the form is unknown.
	whole(data []byte) bool
	// end is called once at the end of the reply, if the reply has not failed.
	end()
}

func (d Dialect) decoder(c *Call) decoder {
	switch d {
	case Anthropic:
		return &anthropicReply{call: c, open: map[int]*block{}}
	case Gemini:
		return &geminiReply{call: c}
	case None, OpenAI, Compatible, Mistral:
	}
	return &completion{call: c}
}

// stub returns a short reply that replaces the decoded reply. The library reads it without an
// error.
func (d Dialect) stub(streaming bool) string {
	switch {
	case d == Gemini && streaming:
		return "[" + geminiStub + "]"
	case d == Gemini:
		return geminiStub
	case d == Anthropic && streaming:
		return anthropicStreamStub
	case d == Anthropic:
		return anthropicStub
	case streaming:
		return openAIStreamStub
	}
	return openAIStub
}

const (
	geminiStub    = `{"candidates":[{"content":{"role":"model","parts":[{"text":"."}]},"finishReason":1}]}`
	anthropicStub = `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"."}],"stop_reason":"end_turn","usage":{"input_tokens":0,"output_tokens":0}}`
	openAIStub    = `{"choices":[{"index":0,"message":{"role":"assistant","content":"."},"finish_reason":"stop"}]}`

	openAIStreamStub    = `data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	anthropicStreamStub = `data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":0,"output_tokens":0}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"."}}` + "\n\n" +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":0}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
)
