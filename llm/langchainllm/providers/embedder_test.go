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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
)

func TestReadEmbedderSelectsTheModel(t *testing.T) {
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
		require.NoError(t, err, test.env)
		assert.Equal(t, test.want, c.String(), test.env)
		assert.Equal(t, test.dimension, c.Dimension, test.env)
		c.Dimension, c.HTTP = 7, nowhere{}
		e, err := c.OpenEmbedder(t.Context())
		require.NoError(t, err, test.env)
		assert.Equal(t, "e", e.Model())
		assert.Equal(t, 7, e.Dimension())
	}
}

func TestReadEmbedderNamesTheWrongVariable(t *testing.T) {
	t.Parallel()
	tests := []struct{ env, want string }{
		{"", "no provider is set up: set EMBEDDING_MODEL"},
		{"OPENAI_API_KEY=k LLM_MODEL=m", "no provider is set up: set EMBEDDING_MODEL"},
		{"EMBEDDING_MODEL=e", "EMBEDDING_MODEL is set, and EMBEDDING_PROVIDER is not"},
		{"EMBEDDING_PROVIDER=openai", "EMBEDDING_PROVIDER is set, and EMBEDDING_MODEL is not"},
		{"EMBEDDING_MODEL=e ANTHROPIC_API_KEY=" + secret, "anthropic has no embeddings"},
		{"EMBEDDING_MODEL=e OPENAI_API_KEY=" + secret + " EMBEDDING_DIM=long", `EMBEDDING_DIM is "long"`},
		{"EMBEDDING_MODEL=e OPENAI_API_KEY=" + secret + " EMBEDDING_DIM=0", `EMBEDDING_DIM is "0"`},
	}
	for _, test := range tests {
		_, err := providers.ReadEmbedder(env(test.env))
		require.ErrorContains(t, err, test.want, test.env)
		assert.NotContains(t, err.Error(), secret)
		assert.Equal(t, strings.HasPrefix(test.want, "no provider"), errors.Is(err, providers.ErrUnset), test.env)
	}
	_, err := providers.Config{Provider: "anthropic", Model: "m"}.WithKey(secret).OpenEmbedder(t.Context())
	require.ErrorContains(t, err, "anthropic has no embeddings")
	_, err = providers.Config{Provider: "openai"}.WithKey(secret).OpenEmbedder(t.Context())
	require.ErrorContains(t, err, "Config.Model is empty")
}

// nowhere is a network that fails.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network")
}

// vectors answers the requests for embeddings to every provider, and records them.
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

func TestEmbeddersSpeakToTheirProviders(t *testing.T) {
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
			require.NoError(t, err)
			v := &vectors{answer: test.answer}
			c.HTTP = v
			e, err := c.OpenEmbedder(t.Context())
			require.NoError(t, err)
			got, err := e.Embed(t.Context(), []string{"a", "b"})
			require.NoError(t, err)
			assert.Equal(t, [][]float32{{1, 2}, {3, 4}}, got)
			require.Len(t, v.asked, 1)
			assert.True(t, strings.HasPrefix(v.asked[0], test.path), v.asked[0])
			assert.Contains(t, v.asked[0], test.sent)
		})
	}
}

// TestLengthIsMeasured proves that, without EMBEDDING_DIM, the length is the length of the
// first vector, and that no request specifies a length.
func TestLengthIsMeasured(t *testing.T) {
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
			require.NoError(t, err)
			v := &vectors{answer: test.answer}
			c.HTTP = v
			e, err := c.OpenEmbedder(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 3, e.Dimension())
			require.Len(t, v.asked, 1)
			_, err = e.Embed(t.Context(), []string{"a"})
			require.NoError(t, err)
			require.Len(t, v.asked, 2)
			for _, asked := range v.asked {
				assert.NotContains(t, asked, "dimension")
			}
			v.answer = strings.Replace(test.answer, ",3]", "]", 1)
			_, err = e.Embed(t.Context(), []string{"a"})
			require.ErrorIs(t, err, llm.ErrMalformed, "a vector of another length")
		})
	}
}

func TestUnknownLengthIsAnError(t *testing.T) {
	t.Parallel()
	c, err := providers.ReadEmbedder(env("EMBEDDING_MODEL=e OPENAI_API_KEY=" + secret))
	require.NoError(t, err)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		http http.RoundTripper
	}{
		"no network": {t.Context(), nowhere{}}, "no vector": {t.Context(), &vectors{answer: `{"data":[]}`}}, "cancelled": {stopped, nowhere{}},
	} {
		c.HTTP = test.http
		_, err := c.OpenEmbedder(test.ctx)
		require.ErrorContains(t, err, "EMBEDDING_DIM", name)
		assert.NotContains(t, err.Error(), secret)
	}
}

func TestEmbedderFromEnvAsksTheServer(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var sent struct {
			Input      []string `json:"input"`
			Model      string   `json:"model"`
			Dimensions int      `json:"dimensions"`
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&sent))
		assert.Equal(t, "/v1/embeddings", r.URL.Path)
		assert.Equal(t, "e", sent.Model)
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
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"LLM_PROVIDER": "openai", "LLM_MODEL": "", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.URL + "/v1",
		"EMBEDDING_MODEL": "e", "EMBEDDING_PROVIDER": "", "EMBEDDING_DIM": "",
	} {
		t.Setenv(name, value)
	}
	e, err := providers.EmbedderFromEnv(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 5, e.Dimension())
	assert.Equal(t, 1, asked, "requests")
	t.Setenv("EMBEDDING_DIM", "3")
	e, err = providers.EmbedderFromEnv(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, e.Dimension())
	assert.Equal(t, 1, asked, "requests")
	v, err := e.Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Len(t, v[0], 3)
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
