package langchainllm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// api is a server that streams two interleaved tool calls.
func api() *httptest.Server {
	events := []string{
		`{"choices":[{"index":0,"delta":{"content":"Let me "}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"look."}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"weather","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Athens\"}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"city\":\"Oslo\"}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":12}}`,
		`[DONE]`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if _, err := fmt.Fprintf(w, "data: %s\n\n", strings.Join(events, "\n\ndata: ")); err != nil {
			panic(err)
		}
	}))
}

// aModel is a wrapper of a model, as a program can define one.
type aModel struct{ llms.Model }

func ExampleNew() {
	server := api()
	defer server.Close()

	wire := &langchainllm.Transport{}
	provider, err := openai.New(
		openai.WithToken("a key"), openai.WithModel("gpt-5-mini"), openai.WithBaseURL(server.URL),
		openai.WithHTTPClient(wire.Client()),
	)
	if err != nil {
		panic(err)
	}
	model := langchainllm.New(provider, langchainllm.Options{})

	reply, err := llm.Generate(context.Background(), model, llm.Request{
		Messages: []llm.Message{llm.User("How is the weather in Athens and Oslo?")},
		Tools:    []llm.ToolSpec{{Name: "weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
	for _, call := range reply.ToolCalls {
		fmt.Println(call.ID, call.Name, string(call.Arguments))
	}
	fmt.Println(reply.StopReason, reply.Usage.Total)
	// Output:
	// Let me look.
	// a weather {"city":"Athens"}
	// b weather {"city":"Oslo"}
	// tool_calls 42
}

// A request that the provider does not support is an error, and nothing is sent.
func ExampleModel_Stream() {
	model := langchainllm.New(aModel{}, langchainllm.Options{Provider: langchainllm.GoogleAI})
	request := llm.Request{Messages: []llm.Message{llm.User("What is this?", llm.ImageURL("https://example.com/cat.png"))}}
	for _, err := range model.Stream(context.Background(), request) {
		fmt.Println(err)
		fmt.Println("retry:", llm.Retryable(err))
	}
	// Output:
	// llm: googleai: bad request: langchainllm: message 0: part 1: part of type image: the provider takes the bytes of an image or a file, and no URL; fetch it and send Data with MIMEType
	// retry: false
}

func ExampleTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		http.Error(w, `{"error":{"message":"Rate limit reached."}}`, http.StatusTooManyRequests)
	}))
	defer server.Close()

	wire := &langchainllm.Transport{}
	provider, err := openai.New(openai.WithToken("a key"), openai.WithBaseURL(server.URL), openai.WithHTTPClient(wire.Client()))
	if err != nil {
		panic(err)
	}
	model := langchainllm.New(provider, langchainllm.Options{})

	_, err = llm.Generate(context.Background(), model, llm.Request{Messages: []llm.Message{llm.User("hi")}})
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		fmt.Println(errors.Is(err, llm.ErrRateLimit), failed.Status, failed.RetryAfter)
	}
	// Output: true 429 20s
}

// A wrapped model is treated as Generic unless Options.Provider is set.
func ExampleDetect() {
	var wrapped llms.Model = aModel{}
	fmt.Println(langchainllm.Detect(wrapped))
	fmt.Println(langchainllm.New(wrapped, langchainllm.Options{Provider: langchainllm.Anthropic}))
	// Output:
	// generic
	// anthropic
}

func ExampleEmbedder() {
	// The client can be any model of langchaingo with the method CreateEmbedding.
	client := embeddings.EmbedderClientFunc(func(_ context.Context, texts []string) ([][]float32, error) {
		vectors := make([][]float32, len(texts))
		for i, text := range texts {
			vectors[i] = []float32{float32(len(text)), 0.5}
		}
		return vectors, nil
	})
	embedder := langchainllm.NewEmbedder(client, langchainllm.EmbedderOptions{Model: "lengths", Dimension: 2})

	vectors, err := embedder.Embed(context.Background(), []string{"one", "three"})
	fmt.Println(vectors, err)
	// Output: [[3 0.5] [5 0.5]] <nil>
}
