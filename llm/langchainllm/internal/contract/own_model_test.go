package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// An ownModel is a user's own model of langchaingo. It speaks to a server that replies with a line of JSON for each
// piece of text and for each call. It streams if it is asked to.
type ownModel struct{ url string }

type ownLine struct {
	Text string          `json:"text,omitempty"`
	Call string          `json:"call,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

func (m ownModel) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	body := toJSON(object{"tools": len(o.Tools), "stream": o.StreamingFunc != nil})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	choice := &llms.ContentChoice{}
	for lines := json.NewDecoder(response.Body); lines.More(); {
		var l ownLine
		if err := lines.Decode(&l); err != nil {
			return nil, err
		}
		if l.Call != "" {
			choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{ID: "c1", FunctionCall: &llms.FunctionCall{Name: l.Call, Arguments: string(l.Args)}})
			continue
		}
		choice.Content += l.Text
		if o.StreamingFunc != nil {
			if err := o.StreamingFunc(ctx, []byte(l.Text)); err != nil {
				return nil, err
			}
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (ownModel) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}

// TestAnOwnModelStreamsTextBesideTools proves that a user's own model with Options.StreamTools yields its text before
// the server sends the call, and then the call.
func TestAnOwnModelStreamsTextBesideTools(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		write(w, `{"text":"Let me "}`+"\n")
		if streams(r) {
			<-read // wait until the reader has the first piece
		}
		write(w, `{"text":"see."}`+"\n"+`{"call":"add","args":{"a":1}}`+"\n")
	})
	m := langchainllm.New(ownModel{f.URL}, langchainllm.Options{StreamTools: true})
	var pieces []string
	var reply llm.Message
	for c, err := range llm.Stream(t.Context(), m, withTools(hello), &reply) {
		require.NoError(t, err)
		if c.Kind == llm.ChunkText {
			if pieces = append(pieces, c.Text); len(pieces) == 1 {
				close(read)
			}
		}
	}
	assert.Equal(t, []string{"Let me ", "see."}, pieces)
	assert.Equal(t, `add{"a":1}`, calls(reply))
	assert.Equal(t, llm.StopToolCalls, reply.StopReason)
	require.Len(t, f.requests(), 1)
	assert.Equal(t, object{"tools": 2.0, "stream": true}, f.last(t).body)
}

// TestAnOwnModelIsNotStreamedWithToolsByDefault proves that a Generic model is asked for the whole reply if the request
// has tools, and for a stream if it has none.
func TestAnOwnModelIsNotStreamedWithToolsByDefault(t *testing.T) {
	t.Parallel()
	f := newFake(t, body("application/x-ndjson", `{"text":"Let me "}`+"\n"+`{"text":"see."}`+"\n"+`{"call":"add","args":{"a":1}}`+"\n"))
	m := langchainllm.New(ownModel{f.URL}, langchainllm.Options{})
	h := must(t, m, withTools(hello))
	assert.Equal(t, "Let me see.", h.text())
	assert.Equal(t, `add{"a":1}`, calls(h.message))
	assert.Equal(t, false, f.last(t).body["stream"])
	must(t, m, hello)
	assert.Equal(t, true, f.last(t).body["stream"])
}
