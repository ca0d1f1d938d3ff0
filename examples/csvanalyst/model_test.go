package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
)

// wire answers as Gemini does, and keeps the request.
type wire struct {
	url, key, body string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.url, w.body = r.URL.String(), string(body)
	if w.key = r.Header.Get("X-Goog-Api-Key"); w.key == "" {
		w.key = r.URL.Query().Get("key")
	}
	reply := `[{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}]}]`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
}

func TestGeminiFromTheEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		env        map[string]string
		key, model string
	}{
		{"a key of Google", map[string]string{"GOOGLE_API_KEY": "g"}, "g", "gemini-2.5-flash"},
		{"another key", map[string]string{"LLM_API_KEY": "l"}, "l", "gemini-2.5-flash"},
		{"both", map[string]string{"GOOGLE_API_KEY": "g", "LLM_API_KEY": "l"}, "g", "gemini-2.5-flash"},
		{"a model", map[string]string{"LLM_API_KEY": "l", "LLM_MODEL": "gemini-3-pro"}, "l", "gemini-3-pro"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config, err := providers.Read(gemini(func(name string) string { return tt.env[name] }))
			if err != nil {
				t.Fatal(err)
			}
			w := &wire{}
			config.HTTP = w
			model, err := config.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			reply, err := llm.Generate(t.Context(), model, llm.Request{Messages: []llm.Message{llm.User("hello")}, Temperature: new(0.0)})
			if err != nil || reply.Text() != "hi" {
				t.Fatalf("got %v, %v", reply, err)
			}
			if w.key != tt.key || !strings.Contains(w.url, "/"+tt.model+":streamGenerateContent") || !strings.Contains(strings.ReplaceAll(w.body, " ", ""), `"temperature":0`) {
				t.Errorf("it asked %s with the key %s: %s", w.url, w.key, w.body)
			}
		})
	}
}
