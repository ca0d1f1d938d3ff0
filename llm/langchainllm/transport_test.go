package langchainllm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// events are the parts of a reply of OpenAI's API.
var events = []string{
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
	": the provider is alive\n\n",
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
}

// A slowServer waits before the header of its reply and before each part. A negative time means until the request ends.
type slowServer []time.Duration

func (s slowServer) wait(ctx context.Context, i int) error {
	var after <-chan time.Time
	if s[i] >= 0 {
		after = time.After(s[i])
	}
	select {
	case <-after:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RoundTrip implements [http.RoundTripper].
func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := s.wait(r.Context(), 0); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: &slowBody{server: s, ctx: r.Context()},
	}, nil
}

type slowBody struct {
	server slowServer
	ctx    context.Context //nolint:containedctx // of the request
	part   int
	rest   strings.Reader
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.rest.Len() == 0 {
		if b.part == len(events) {
			return 0, io.EOF
		}
		if err := b.server.wait(b.ctx, b.part+1); err != nil {
			return 0, err
		}
		b.rest.Reset(events[b.part])
		b.part++
	}
	return b.rest.Read(p)
}

func (b *slowBody) Close() error { return nil }

func TestTransportEndsTheRequestToASilentProvider(t *testing.T) {
	t.Parallel()
	const m, ever = time.Minute, time.Duration(-1)
	tests := []struct {
		name    string
		server  slowServer
		silence time.Duration
		text    string
		takes   time.Duration
		want    string // part of the error
	}{
		{"a reply", slowServer{9 * m, 9 * m, 9 * m, 9 * m}, 0, "ab", 36 * m, ""},
		{"no header", slowServer{ever, 0, 0, 0}, 0, "", 10 * m, "sent nothing for 10m0s"},
		{"no first part", slowServer{m, ever, 0, 0}, 0, "", 11 * m, "sent nothing for 10m0s"},
		{"a stream that stops", slowServer{m, m, m, ever}, 2 * m, "a", 5 * m, "sent nothing for 2m0s"},
		{"a limit of one's own", slowServer{ever, 0, 0, 0}, 20 * m, "", 20 * m, "sent nothing for 20m0s"},
		{"no limit", slowServer{60 * m, 0, 60 * m, 0}, -1, "ab", 120 * m, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				wire := &langchainllm.Transport{Base: test.server, Silence: test.silence}
				provider, err := openai.New(openai.WithToken("a key"), openai.WithHTTPClient(wire.Client()))
				require.NoError(t, err)
				begin, text := time.Now(), ""
				var last error
				for c, err := range langchainllm.New(provider, langchainllm.Options{}).Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.User("Hello.")}}) {
					text, last = text+c.Text, err
				}
				assert.Equal(t, test.text, text)
				assert.Equal(t, test.takes, time.Since(begin))
				if test.want == "" {
					assert.NoError(t, last)
					return
				}
				require.ErrorIs(t, last, llm.ErrTransport)
				assert.ErrorContains(t, last, test.want)
				assert.True(t, llm.Retryable(last))
			})
		})
	}
}

func TestTransportDoesNotCountASlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wire := &langchainllm.Transport{Base: slowServer{0, 0, 0, 0}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com", http.NoBody)
		require.NoError(t, err)
		resp, err := wire.Client().Do(request)
		require.NoError(t, err)
		<-time.After(time.Hour)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, strings.Join(events, ""), string(body))
	})
}

func TestTransportEndsASilentRequestForVectors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wire := &langchainllm.Transport{Base: slowServer{-1, 0, 0, 0}, Silence: time.Minute}
		client, err := openai.New(openai.WithToken("a key"), openai.WithHTTPClient(wire.Client()))
		require.NoError(t, err)
		_, err = langchainllm.NewEmbedder(client, langchainllm.EmbedderOptions{Provider: "openai"}).Embed(t.Context(), []string{"a"})
		require.ErrorIs(t, err, llm.ErrTransport)
		assert.ErrorContains(t, err, "sent nothing for 1m0s")
	})
}

func TestTransportKeepsTheErrorOfTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wire := &langchainllm.Transport{Base: slowServer{0, 0, -1, 0}}
		provider, err := openai.New(openai.WithToken("a key"), openai.WithHTTPClient(wire.Client()))
		require.NoError(t, err)
		_, err = llm.Generate(ctx, langchainllm.New(provider, langchainllm.Options{}), llm.Request{Messages: []llm.Message{llm.User("Hello.")}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, errors.Is(err, llm.ErrTransport))
	})
}

// A closedBody is like the request body of AWS's client: once it is closed, WriteTo returns [io.EOF].
type closedBody struct {
	io.Reader
	closed bool
}

func (b *closedBody) WriteTo(w io.Writer) (int64, error) {
	if b.closed {
		return 0, io.EOF
	}
	return io.Copy(w, b.Reader)
}

func (b *closedBody) Close() error {
	b.closed = true
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportReadsTheEndOfABodyThatIsClosed(t *testing.T) {
	t.Parallel()
	for _, silence := range []time.Duration{0, -1} {
		body := &closedBody{Reader: strings.NewReader("{}")}
		wire := &langchainllm.Transport{Silence: silence, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			sent, err := io.ReadAll(io.LimitReader(r.Body, 2))
			require.NoError(t, err)
			assert.Equal(t, "{}", string(sent))
			require.NoError(t, body.Close())
			_, err = io.Copy(io.Discard, r.Body) // as net/http does
			require.NoError(t, err)
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		})}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example.com", body)
		require.NoError(t, err)
		resp, err := wire.Client().Do(request)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
}
