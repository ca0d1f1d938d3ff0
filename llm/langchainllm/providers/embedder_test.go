package providers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

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
		e, err := c.OpenEmbedder(t.Context())
		if err != nil || e.Model() != "e" || e.Dimension() != test.dimension {
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
		{"GOOGLE_API_KEY=k", `{"embeddings":[{"values":[1,2]},{"values":[3,4]}]}`, "/v1beta/models/e:batchEmbedContents", `"a"`},
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
