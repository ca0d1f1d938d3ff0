package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/cloudflare"
	"github.com/tmc/langchaingo/llms/ernie"
	"github.com/tmc/langchaingo/llms/huggingface"
	"github.com/tmc/langchaingo/llms/maritaca"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// A textOnly is a package of langchaingo that can only send text.
type textOnly struct {
	name      string
	firstOnly bool // it sends only the first message
	open      func(client *http.Client) (llms.Model, error)
	answer    http.HandlerFunc // says hey, in one piece
}

var textOnlys = []textOnly{
	{
		name: "cloudflare",
		open: func(client *http.Client) (llms.Model, error) {
			return cloudflare.New(cloudflare.WithToken("t"), cloudflare.WithAccountID("a"), cloudflare.WithModel("m"), cloudflare.WithHTTPClient(client))
		},
		answer: func(w http.ResponseWriter, r *http.Request) {
			if streams(r) {
				sse(`{"response":"hey"}`, "[DONE]")(w, r)
				return
			}
			jsonBody(`{"result":{"response":"hey"},"success":true}`)(w, r)
		},
	},
	{
		name: "ernie", firstOnly: true,
		open: func(client *http.Client) (llms.Model, error) {
			return ernie.New(ernie.WithAccessToken("t"), ernie.WithHTTPClient(client))
		},
		answer: jsonBody(`{"id":"1","result":"hey"}`),
	},
	{
		name: "huggingface", firstOnly: true,
		open: func(client *http.Client) (llms.Model, error) {
			return huggingface.New(huggingface.WithToken("t"), huggingface.WithModel("m"), huggingface.WithHTTPClient(client))
		},
		answer: jsonBody(`[{"generated_text":"hey"}]`),
	},
	{
		name: "maritaca",
		open: func(client *http.Client) (llms.Model, error) {
			return maritaca.New(maritaca.WithToken("t"), maritaca.WithModel("m"), maritaca.WithHTTPClient(client))
		},
		answer: func(w http.ResponseWriter, r *http.Request) {
			if streams(r) {
				body("text/event-stream", "event: message\ndata: {\"text\":\"hey\"}\n\nevent: end\n\n")(w, r)
				return
			}
			jsonBody(`{"answer":"hey"}`)(w, r)
		},
	},
}

func (p textOnly) model(t *testing.T) (llms.Model, *fake) {
	t.Helper()
	f := newFake(t, p.answer)
	m, err := p.open(&http.Client{Transport: toServer{f.URL, http.DefaultTransport}})
	require.NoError(t, err)
	return m, f
}

// TestTextOnlyProviders proves that some packages of langchaingo still lose tools, or all messages after the first one,
// and that Weft returns an error for such a request.
func TestTextOnlyProviders(t *testing.T) {
	t.Parallel()
	for _, p := range textOnlys {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			bare, f := p.model(t)
			_, err := bare.GenerateContent(t.Context(), human, libraryTools)
			require.NoError(t, err)
			assert.NotContains(t, f.last(t).text, "tools", "langchaingo loses no tools any more")
			talk := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "be brief"), llms.TextParts(llms.ChatMessageTypeHuman, "a question")}
			_, err = bare.GenerateContent(t.Context(), talk)
			require.NoError(t, err)
			assert.Contains(t, f.last(t).text, "be brief")
			if p.firstOnly {
				assert.NotContains(t, f.last(t).text, "a question", "langchaingo sends all messages now")
			}

			bare, f = p.model(t)
			assert.Equal(t, p.name, string(langchainllm.Detect(bare)))
			m := langchainllm.New(bare, langchainllm.Options{})
			refusesTools(t, m, f)
			conversation := llm.Request{Messages: []llm.Message{llm.System("be brief"), llm.User("a question")}}
			if p.firstOnly {
				e := failure(t, m, conversation, llm.ErrBadRequest)
				assert.ErrorContains(t, e, "this one has 2")
				assert.Empty(t, f.requests())
			} else {
				assert.Equal(t, "hey", must(t, m, conversation).text())
				assert.Contains(t, f.last(t).text, "a question")
			}
			assert.Equal(t, "hey", must(t, m, hello).text())
		})
	}
}

// TestCloudflareStreamsItsEvents proves that the library still passes the events of a stream as text, which is why Weft
// does not stream with it.
func TestCloudflareStreamsItsEvents(t *testing.T) {
	t.Parallel()
	bare, _ := textOnlys[0].model(t)
	var text string
	_, err := bare.GenerateContent(t.Context(), human, llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
		text += string(piece)
		return nil
	}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"response":"hey"}`, text)
}
