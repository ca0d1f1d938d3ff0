// Package provider is an example of a model for a provider with its own HTTP API. It has everything
// that such a model needs: text and tools on the wire, a stream of text and tool calls, the usage,
// and errors.
package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/weft-go/weft/llm"
)

// A Model asks the API at URL. It is safe for concurrent use.
type Model struct {
	URL, Key, Name string
	Client         *http.Client // nil means http.DefaultClient
}

// ModelName names the model in traces and metrics.
func (m *Model) ModelName() llm.ModelName { return llm.ModelName{Provider: "acme", Model: m.Name} }

// docs:begin stream

// maxEvent bounds the length of an event, in bytes. A longer event is malformed.
const maxEvent = 1 << 20

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		left, err := m.stream(ctx, r, yield)
		switch {
		case left || err == nil:
		case ctx.Err() != nil:
			yield(llm.Chunk{}, ctx.Err()) // the error of the context, and not of the connection
		default:
			yield(llm.Chunk{}, err)
		}
	}
}

// stream yields the chunks. It reports whether the caller left the loop.
func (m *Model) stream(ctx context.Context, r llm.Request, yield func(llm.Chunk, error) bool) (left bool, err error) {
	resp, err := m.send(ctx, r)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			if lines.Err() != nil {
				break // the connection broke within the event
			}
			return false, llm.Classify(llm.Error{Provider: "acme", Kind: llm.ErrMalformed, Message: "an event is not JSON", Err: err})
		}
		chunk := e.chunk()
		if !yield(chunk, nil) {
			return true, nil
		}
		if chunk.Kind == llm.ChunkEnd {
			return false, nil
		}
	}
	switch err := lines.Err(); {
	case err == nil: // the last event of the API is "end"
		return false, llm.Classify(llm.Error{Provider: "acme", Err: io.ErrUnexpectedEOF})
	case errors.Is(err, bufio.ErrTooLong):
		return false, llm.Classify(llm.Error{Provider: "acme", Kind: llm.ErrMalformed, Message: "an event is too long", Err: err})
	default:
		return false, llm.Classify(llm.Error{Provider: "acme", Err: err})
	}
}

// docs:end

// docs:begin send

// send posts the request. It returns an error for any status but 200.
func (m *Model) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	body, err := json.Marshal(m.request(r))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+m.Key)
	req.Header.Set("Content-Type", "application/json")
	client := m.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, llm.Classify(llm.Error{Provider: "acme", Err: err})
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		said, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return nil, llm.Classify(llm.Error{
			Provider: "acme", Status: resp.StatusCode, Message: string(said), Err: err,
			RetryAfter: llm.RetryAfter(resp.Header.Get("Retry-After"), time.Now()),
		})
	}
	return resp, nil
}

// docs:end

// docs:begin wire

// The form of the API's requests and events. A real provider documents its own.
type (
	request struct {
		Model     string    `json:"model"`
		Messages  []message `json:"messages"`
		Tools     []tool    `json:"tools,omitempty"`
		MaxTokens int       `json:"max_tokens,omitempty"`
	}
	message struct {
		Role   llm.Role `json:"role"`
		Text   string   `json:"text"`
		Calls  []call   `json:"calls,omitempty"`
		CallID string   `json:"call_id,omitempty"` // of a tool's result
	}
	call struct {
		Index     int    `json:"index"`
		ID        string `json:"id,omitempty"`
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	event struct {
		Text      string `json:"text"`
		Call      *call  `json:"call"`
		End       string `json:"end"` // the stop reason, in the last event
		TokensIn  int64  `json:"tokens_in"`
		TokensOut int64  `json:"tokens_out"`
	}
)

func (m *Model) request(r llm.Request) request {
	out := request{Model: m.Name, MaxTokens: r.MaxTokens}
	for _, said := range r.Messages {
		one := message{Role: said.Role, Text: said.Text(), CallID: said.ToolCallID}
		for i, c := range said.ToolCalls {
			one.Calls = append(one.Calls, call{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Text()})
		}
		out.Messages = append(out.Messages, one)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	return out
}

// chunk returns the chunk of an event.
func (e event) chunk() llm.Chunk {
	switch {
	case e.End != "":
		return llm.Chunk{
			Kind: llm.ChunkEnd, StopReason: llm.ParseStopReason(e.End),
			Usage: &llm.Usage{Input: e.TokensIn, Output: e.TokensOut},
		}
	case e.Call != nil:
		delta := llm.ToolCallDelta{Index: e.Call.Index, ID: e.Call.ID, Name: e.Call.Name, Arguments: e.Call.Arguments}
		return llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: delta}
	default:
		return llm.Chunk{Kind: llm.ChunkText, Text: e.Text}
	}
}

// docs:end
