package contract_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

func TestEmbedByProviders(t *testing.T) {
	t.Parallel()
	wired := &langchainllm.Transport{}
	f := newFake(t, jsonBody(`{"data":[{"embedding":[1,2],"index":0},{"embedding":[3,4],"index":1}]}`), status(429, `{"error":{"message":"slow down"}}`))
	m, err := openai.New(openai.WithToken("key-of-the-test"), openai.WithBaseURL(f.URL), openai.WithHTTPClient(wired.Client()), openai.WithEmbeddingModel("e"))
	require.NoError(t, err)
	e := langchainllm.NewEmbedder(m, langchainllm.EmbedderOptions{Provider: "openai", Dimension: 2})
	got, err := e.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{1, 2}, {3, 4}}, got)
	sent := f.last(t).body
	assert.Equal(t, `["a","b"]`, toJSON(sent["input"]))
	assert.Equal(t, "e", sent["model"])
	_, err = e.Embed(t.Context(), []string{"a"})
	failed, ok := errors.AsType[*llm.Error](err)
	require.True(t, ok)
	assert.Equal(t, 7*time.Second, failed.RetryAfter)
	assert.ErrorIs(t, err, llm.ErrRateLimit)

	f = newFake(t, jsonBody(`{"embeddings":[{"values":[1,2]}]}`))
	g := openGoogle(t, "", &http.Client{Transport: toServer{f.URL, http.DefaultTransport}}).(*googleai.GoogleAI)
	got, err = langchainllm.NewEmbedder(g, langchainllm.EmbedderOptions{}).Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{{1, 2}}, got)
}
