package contract_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// cut sends the first bytes of a reply and then closes the connection.
func cut(answer http.HandlerFunc, after int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer(&limited{ResponseWriter: w, left: after}, r)
		panic(http.ErrAbortHandler)
	}
}

type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(l.left, len(p))
	l.left -= n
	if _, err := l.ResponseWriter.Write(p[:n]); err != nil {
		return 0, err
	}
	l.ResponseWriter.(http.Flusher).Flush()
	return len(p), nil
}

// TestCutOff proves that a stream that breaks off, at any place, is a retryable error and never
// a reply.
func TestCutOff(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		answer := b.say(say("Hello, ", "world").calling(saidCall{"call_1", "add", `{"a":1}`}))
		for after := 0; after < 2000; after += 97 {
			f := newFake(t, cut(answer, after))
			h := ask(t, b.model(t, f), withTools(hello))
			if h.err != nil {
				assert.True(t, llm.Retryable(h.err), "after %d bytes: %v (%T) is not retryable", after, h.err, h.err)
				continue
			}
			assert.Equal(t, "Hello, world", h.text(), "after %d bytes", after)
			assert.Equal(t, `add{"a":1}`, calls(h.message), "after %d bytes", after)
		}
	})
}

func TestMalformedStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		if b.name == "bedrock" {
			return // TestMalformedFrameIsAnError has malformed frames
		}
		f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, "data: {\"choices\": nonsense\n\ndata: [1,2]\n\n")
		})
		h := ask(t, b.model(t, f), hello)
		assert.Error(t, h.err)
		if b.name != "googleai" {
			assert.True(t, llm.Retryable(h.err))
		}
	})
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1<<19) // a megabyte
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say(long)))
		h := must(t, b.model(t, f), hello)
		assert.Equal(t, long, h.text())
		if n := len(f.requests()); b.wires {
			assert.Equal(t, 1, n, "%d requests", n)
		}
	})
}

func TestLongArguments(t *testing.T) {
	t.Parallel()
	arguments := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("a").calling(saidCall{"call_1", "add", arguments})))
		h := must(t, b.model(t, f), withTools(hello))
		checkCalls(t, b, h.message.ToolCalls, []saidCall{{"call_1", "add", arguments}})
	})
}

func TestCancelMidStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, hanging(b.say(say("Hello, ", "world"))))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for c, err := range b.model(t, f).Stream(ctx, hello) {
			last = err
			if c.Text != "" {
				cancel()
			}
		}
		assert.ErrorIs(t, last, context.Canceled)
	})
}

func TestLeaveMidStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		gone := make(chan struct{})
		f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			hanging(b.say(say("Hello, ", "world")))(w, r)
			close(gone)
		})
		for c, err := range b.model(t, f).Stream(t.Context(), hello) {
			require.NoError(t, err)
			if c.Text != "" {
				break
			}
		}
		<-gone
	})
}

// hanging sends a reply without its end, and waits until the client leaves.
func hanging(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all := &recorded{header: http.Header{}}
		answer(all, r)
		for key, values := range all.header {
			w.Header()[key] = values
		}
		for _, part := range all.parts[:len(all.parts)-1] {
			write(w, part)
		}
		<-r.Context().Done()
	}
}

type recorded struct {
	header http.Header
	parts  []string
}

func (r *recorded) Header() http.Header { return r.header }
func (r *recorded) WriteHeader(int)     {}
func (r *recorded) Write(p []byte) (int, error) {
	r.parts = append(r.parts, string(p))
	return len(p), nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSilentProvider proves that a provider that sends nothing, or stops in its reply, does not hold a request for ever.
func TestSilentProvider(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		for _, answer := range []http.HandlerFunc{silent, hanging(b.say(say("Hello, ", "world")))} {
			f := newFake(t, answer)
			sent := 0 // counted here: at the timeout, the request may not have reached the server
			base := toServer{f.URL, roundTripper(func(r *http.Request) (*http.Response, error) {
				sent++
				return http.DefaultTransport.RoundTrip(r)
			})}
			wire := &langchainllm.Transport{Base: base, Silence: 50 * time.Millisecond}
			m := langchainllm.New(b.open(t, f.URL, wire.Client()), langchainllm.Options{Provider: b.provider})
			h := ask(t, m, hello)
			require.ErrorIs(t, h.err, llm.ErrTransport)
			assert.ErrorContains(t, h.err, "the provider sent nothing for 50ms")
			assert.Equal(t, 1, sent, "requests")
		}
	})
}
