package providers_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
)

func TestReadEmbedder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env, want string
		dimension int
	}{
		{"EMBEDDING_MODEL=e OPENAI_API_KEY=k LLM_MODEL=m", "openai e at https://api.openai.com/v1", 0},
		{"EMBEDDING_MODEL=e EMBEDDING_DIM=256 OPENAI_API_KEY=k", "openai e at https://api.openai.com/v1", 256},
		{"EMBEDDING_MODEL=e EMBEDDING_PROVIDER=ollama ANTHROPIC_API_KEY=k", "ollama e at http://127.0.0.1:11434/v1", 0},
		{"EMBEDDING_MODEL=e OPENAI_BASE_URL=http://localhost:8080/v1", "openai e at http://localhost:8080/v1", 0},
		{"EMBEDDING_MODEL=e GOOGLE_API_KEY=k", "googleai e", 0},
		{"EMBEDDING_MODEL=e MISTRAL_API_KEY=k", "mistral e at https://api.mistral.ai/v1", 0},
	}
	for _, test := range tests {
		c, err := providers.ReadEmbedder(env(test.env))
		if err != nil || c.String() != test.want || c.Dimension != test.dimension {
			t.Errorf("%s: got %q with %d, %v", test.env, c, c.Dimension, err)
		}
		c.Dimension, c.HTTP = 7, nowhere{}
		e, err := c.OpenEmbedder(t.Context())
		if err != nil || e.Model() != "e" || e.Dimension() != 7 {
			t.Errorf("%s: opened %v, %v", test.env, e, err)
		}
	}
}

func TestReadEmbedderRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ env, want string }{
		{"", "no provider is set up: set EMBEDDING_MODEL"},
		{"OPENAI_API_KEY=k LLM_MODEL=m", "no provider is set up: set EMBEDDING_MODEL"},
		{"EMBEDDING_MODEL=e", "EMBEDDING_MODEL is set, and EMBEDDING_PROVIDER is not"},
		{"EMBEDDING_PROVIDER=openai", "EMBEDDING_PROVIDER is set, and EMBEDDING_MODEL is not"},
		{"EMBEDDING_MODEL=e ANTHROPIC_API_KEY=" + secret, "anthropic makes no embeddings"},
		{"EMBEDDING_MODEL=e OPENAI_API_KEY=" + secret + " EMBEDDING_DIM=long", `EMBEDDING_DIM is "long"`},
		{"EMBEDDING_MODEL=e OPENAI_API_KEY=" + secret + " EMBEDDING_DIM=0", `EMBEDDING_DIM is "0"`},
	}
	for _, test := range tests {
		_, err := providers.ReadEmbedder(env(test.env))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want %q", test.env, err, test.want)
		}
		if errors.Is(err, providers.ErrUnset) != strings.HasPrefix(test.want, "no provider") {
			t.Errorf("%s: got %v", test.env, err)
		}
	}
	if _, err := (providers.Config{Provider: "anthropic"}).OpenEmbedder(t.Context()); err == nil {
		t.Error("opened anthropic")
	}
}

// nowhere sends nothing.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network")
}

// vectors answers for every provider, and hears what it is sent.
type vectors struct {
	answer string
	asked  []string
}

func (v *vectors) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	v.asked = append(v.asked, r.URL.Path+" "+string(body))
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(v.answer)),
	}, nil
}

func TestOpenEmbedder(t *testing.T) {
	t.Parallel()
	const openAI = `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}`
	tests := []struct{ env, answer, path, sent string }{
		{"OPENAI_API_KEY=k EMBEDDING_DIM=2", openAI, "/v1/embeddings", `"dimensions":2`},
		{"OLLAMA_HOST=gpu EMBEDDING_DIM=2", openAI, "/v1/embeddings", `"model":"e"`},
		{"GOOGLE_API_KEY=k EMBEDDING_DIM=2", `{"embeddings":[{"values":[1,2]},{"values":[3,4]}]}`, "/v1beta/models/e:batchEmbedContents", `"a"`},
	}
	for _, test := range tests {
		t.Run(test.env, func(t *testing.T) {
			t.Parallel()
			c, err := providers.ReadEmbedder(env("EMBEDDING_MODEL=e " + test.env))
			if err != nil {
				t.Fatal(err)
			}
			v := &vectors{answer: test.answer}
			c.HTTP = v
			e, err := c.OpenEmbedder(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Embed(t.Context(), []string{"a", "b"})
			if err != nil || fmt.Sprint(got) != "[[1 2] [3 4]]" {
				t.Errorf("got %v, %v", got, err)
			}
			if len(v.asked) != 1 || !strings.HasPrefix(v.asked[0], test.path) || !strings.Contains(v.asked[0], test.sent) {
				t.Errorf("asked %q", v.asked)
			}
		})
	}
}

// TestLengthIsAsked: without EMBEDDING_DIM the first vector says how long all are, and no
// provider is sent a length that nobody has asked for.
func TestLengthIsAsked(t *testing.T) {
	t.Parallel()
	const openAI = `{"data":[{"index":0,"embedding":[1,2,3]}]}`
	tests := []struct{ env, answer string }{
		{"OPENAI_API_KEY=k", openAI},
		{"OLLAMA_HOST=gpu", openAI},
		{"MISTRAL_API_KEY=k", openAI},
		{"OPENAI_BASE_URL=http://localhost/v1", openAI},
		{"GOOGLE_API_KEY=k", `{"embeddings":[{"values":[1,2,3]}]}`},
	}
	for _, test := range tests {
		t.Run(test.env, func(t *testing.T) {
			t.Parallel()
			c, err := providers.ReadEmbedder(env("EMBEDDING_MODEL=e " + test.env))
			if err != nil {
				t.Fatal(err)
			}
			v := &vectors{answer: test.answer}
			c.HTTP = v
			e, err := c.OpenEmbedder(t.Context())
			if err != nil || e.Dimension() != 3 || len(v.asked) != 1 {
				t.Fatalf("got %v, %v after %q", e, err, v.asked)
			}
			if _, err := e.Embed(t.Context(), []string{"a"}); err != nil || len(v.asked) != 2 {
				t.Errorf("got %v after %q", err, v.asked)
			}
			for _, asked := range v.asked {
				if strings.Contains(asked, "dimension") {
					t.Errorf("asked %s", asked)
				}
			}
			v.answer = strings.Replace(test.answer, ",3]", "]", 1)
			if _, err := e.Embed(t.Context(), []string{"a"}); !errors.Is(err, llm.ErrMalformed) {
				t.Errorf("of another length: got %v", err)
			}
		})
	}
}

func TestLengthIsNotKnown(t *testing.T) {
	t.Parallel()
	c, err := providers.ReadEmbedder(env("EMBEDDING_MODEL=e OPENAI_API_KEY=" + secret))
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		http http.RoundTripper
	}{
		"no network": {t.Context(), nowhere{}}, "no vector": {t.Context(), &vectors{answer: `{"data":[]}`}}, "cancelled": {stopped, nowhere{}},
	} {
		c.HTTP = test.http
		if e, err := c.OpenEmbedder(test.ctx); err == nil || !strings.Contains(err.Error(), "EMBEDDING_DIM") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, %v", name, e, err)
		}
	}
}

// TestEmbedderFromEnv asks a server.
func TestEmbedderFromEnv(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var sent struct {
			Input      []string `json:"input"`
			Model      string   `json:"model"`
			Dimensions int      `json:"dimensions"`
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.URL.Path != "/v1/embeddings" || sent.Model != "e" {
			t.Errorf("got %s %+v, %v", r.URL, sent, err)
		}
		type datum struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var answer struct {
			Data []datum `json:"data"`
		}
		for i := range sent.Input {
			answer.Data = append(answer.Data, datum{i, make([]float32, cmp.Or(sent.Dimensions, 5))})
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"LLM_PROVIDER": "openai", "LLM_MODEL": "", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.URL + "/v1",
		"EMBEDDING_MODEL": "e", "EMBEDDING_PROVIDER": "", "EMBEDDING_DIM": "",
	} {
		t.Setenv(name, value)
	}
	e, err := providers.EmbedderFromEnv(t.Context())
	if err != nil || e.Dimension() != 5 || asked != 1 {
		t.Fatalf("got %v, %v after %d requests", e, err, asked)
	}
	t.Setenv("EMBEDDING_DIM", "3")
	e, err = providers.EmbedderFromEnv(t.Context())
	if err != nil || e.Dimension() != 3 || asked != 1 {
		t.Fatalf("got %v, %v after %d requests", e, err, asked)
	}
	if v, err := e.Embed(t.Context(), []string{"a"}); err != nil || len(v[0]) != 3 {
		t.Errorf("got %v, %v", v, err)
	}
}

func ExampleReadEmbedder() {
	getenv := func(name string) string {
		return map[string]string{"EMBEDDING_PROVIDER": "ollama", "EMBEDDING_MODEL": "nomic-embed-text"}[name]
	}
	c, err := providers.ReadEmbedder(getenv)
	fmt.Println(c, err)
	// Output:
	// ollama nomic-embed-text at http://127.0.0.1:11434/v1 <nil>
}

func ExampleEmbedderFromEnv() {
	embedder, err := providers.EmbedderFromEnv(context.Background())
	if errors.Is(err, providers.ErrUnset) {
		fmt.Println("no model for embeddings is set, so memory is recalled by words")
		return
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(embedder.Model())
}
