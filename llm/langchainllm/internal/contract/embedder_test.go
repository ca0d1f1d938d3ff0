package contract_test

import (
	"errors"
	"net/http"
	"reflect"
	"testing"
	"time"

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
	if err != nil || !reflect.DeepEqual(got, [][]float32{{1, 2}, {3, 4}}) {
		t.Errorf("got %v, %v", got, err)
	}
	if sent := f.last(t).body; toJSON(sent["input"]) != `["a","b"]` || sent["model"] != "e" {
		t.Errorf("sent %v", sent)
	}
	_, err = e.Embed(t.Context(), []string{"a"})
	if failed, ok := errors.AsType[*llm.Error](err); !ok || failed.RetryAfter != 7*time.Second || !errors.Is(err, llm.ErrRateLimit) {
		t.Errorf("got %+v", err)
	}

	f = newFake(t, jsonBody(`{"embeddings":[{"values":[1,2]}]}`))
	g := openGoogle(t, "", &http.Client{Transport: toServer{f.URL, http.DefaultTransport}}).(*googleai.GoogleAI)
	got, err = langchainllm.NewEmbedder(g, langchainllm.EmbedderOptions{}).Embed(t.Context(), []string{"a"})
	if err != nil || !reflect.DeepEqual(got, [][]float32{{1, 2}}) {
		t.Errorf("got %v, %v", got, err)
	}
}
