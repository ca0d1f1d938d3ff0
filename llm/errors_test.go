package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		give  llm.Error
		kind  error
		retry bool
	}{
		{"429", llm.Error{Status: 429}, llm.ErrRateLimit, true},
		{"429 in a text", llm.Error{Err: errors.New("API returned unexpected status code: 429: slow down")}, llm.ErrRateLimit, true},
		{"no credit", llm.Error{Status: 429, Code: "insufficient_quota"}, llm.ErrAuth, false},
		{"a quota that comes back", llm.Error{Status: 429, Message: `You exceeded your current quota. "retryDelay": "34s"`}, llm.ErrRateLimit, true},
		{"throttled for tokens", llm.Error{Status: 429, Message: "Too many tokens, please wait"}, llm.ErrRateLimit, true},
		{"401", llm.Error{Status: 401, Message: "no"}, llm.ErrAuth, false},
		{"402", llm.Error{Status: 402}, llm.ErrAuth, false},
		{"a bad key with 400", llm.Error{Status: 400, Message: "API key not valid. Please pass a valid API key."}, llm.ErrAuth, false},
		{"400", llm.Error{Status: 400, Message: "unknown parameter"}, llm.ErrBadRequest, false},
		{"404", llm.Error{Status: 404, Message: "model not found"}, llm.ErrBadRequest, false},
		{"too long, OpenAI", llm.Error{Status: 400, Code: "context_length_exceeded"}, llm.ErrContextTooLong, false},
		{"too long, Anthropic", llm.Error{Status: 400, Message: "prompt is too long: 210000 tokens > 200000 maximum"}, llm.ErrContextTooLong, false},
		{"too long, Gemini", llm.Error{Status: 400, Message: "The input token count (1200000) exceeds the maximum number of tokens allowed"}, llm.ErrContextTooLong, false},
		{"too long, Anthropic with its reply", llm.Error{Status: 400, Message: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}, llm.ErrContextTooLong, false},
		{"too long, llama.cpp", llm.Error{Status: 400, Message: "the request exceeds the available context size (4096 tokens), try increasing it"}, llm.ErrContextTooLong, false},
		{"too long, xAI", llm.Error{Status: 400, Message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}, llm.ErrContextTooLong, false},
		{"too long, Hugging Face", llm.Error{Status: 422, Message: "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}, llm.ErrContextTooLong, false},
		{"too long, Cohere", llm.Error{Status: 400, Message: "too many tokens: total number of tokens in the prompt cannot exceed 4081"}, llm.ErrContextTooLong, false},
		{"too large for a minute", llm.Error{Status: 429, Message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 37000."}, llm.ErrContextTooLong, false},
		{"too large, Groq", llm.Error{Status: 413, Code: "rate_limit_exceeded", Message: "Request too large for model `x`: Limit 6000, Requested 9000"}, llm.ErrContextTooLong, false},
		{"a reply too long", llm.Error{Status: 400, Message: "max_tokens is too large: 40000. This model supports at most 16384 completion tokens"}, llm.ErrBadRequest, false},
		{"filtered", llm.Error{Status: 400, Code: "content_filter"}, llm.ErrContentFilter, false},
		{"408", llm.Error{Status: 408}, llm.ErrTransport, true},
		{"409", llm.Error{Status: 409}, llm.ErrOverloaded, true},
		{"500", llm.Error{Status: 500}, llm.ErrOverloaded, true},
		{"529", llm.Error{Status: 529, Message: "Overloaded"}, llm.ErrOverloaded, true},
		{"overloaded in a stream", llm.Error{Code: "overloaded_error"}, llm.ErrOverloaded, true},
		{"302", llm.Error{Status: 302}, nil, false},
		{"a broken stream", llm.Error{Err: io.ErrUnexpectedEOF}, llm.ErrTransport, true},
		{"an end", llm.Error{Err: fmt.Errorf("reading: %w", io.EOF)}, llm.ErrTransport, true},
		{"an end as text", llm.Error{Message: `Post "https://x": EOF`}, llm.ErrTransport, true},
		{"a reset as text", llm.Error{Message: "read tcp: connection reset by peer"}, llm.ErrTransport, true},
		{"a timeout", llm.Error{Err: os.ErrDeadlineExceeded}, llm.ErrTransport, true},
		{"the provider's own time limit", llm.Error{Err: context.DeadlineExceeded}, llm.ErrTransport, true},
		{"cancelled", llm.Error{Err: context.Canceled}, nil, false},
		{"words: rate", llm.Error{Message: "Rate limit reached"}, llm.ErrRateLimit, true},
		{"words: load", llm.Error{Message: "The service is temporarily unavailable"}, llm.ErrOverloaded, true},
		{"words: key", llm.Error{Message: "Unauthorized"}, llm.ErrAuth, false},
		{"words: request", llm.Error{Message: "invalid_request_error"}, llm.ErrBadRequest, false},
		{"words that say nothing", llm.Error{Message: "something went wrong"}, nil, false},
		{"what is set", llm.Error{Kind: llm.ErrContentFilter, Status: 429}, llm.ErrContentFilter, false},
	}
	kinds := []error{llm.ErrRateLimit, llm.ErrOverloaded, llm.ErrTransport, llm.ErrAuth, llm.ErrBadRequest, llm.ErrContextTooLong, llm.ErrContentFilter}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("asked: %w", llm.Classify(test.give))
			for _, kind := range kinds {
				assert.Equal(t, errors.Is(test.kind, kind), errors.Is(err, kind), "is %v", kind)
			}
			if test.give.Err != nil {
				require.ErrorIs(t, err, test.give.Err)
			}
			assert.Equal(t, test.retry, llm.Retryable(err))
		})
	}
}

// TestClassifyOfALongText proves that the beginning and the end of a page of a megabyte are read,
// and that its middle is not.
func TestClassifyOfALongText(t *testing.T) {
	t.Parallel()
	const limited = " too many requests, try again in 3s "
	page := strings.Repeat("status ", 150_000)
	for _, text := range []string{limited + page, page + limited} {
		e := llm.Classify(llm.Error{Message: text, Err: errors.New(text)})
		require.ErrorIs(t, e, llm.ErrRateLimit)
		assert.Equal(t, 3*time.Second, e.RetryAfter)
		assert.True(t, e.Message == text, "the message was changed") //nolint:testifylint // a diff would have megabytes
	}
	require.NoError(t, llm.Classify(llm.Error{Message: page + limited + page}).Kind, "the middle was read")
}

func TestClassifyReadsTimes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		give string
		want time.Duration
	}{
		{"Please try again in 20s.", 20 * time.Second},
		{"Please try again in 1.5s.", 1500 * time.Millisecond},
		{"Please try again in 6m0s.", 6 * time.Minute},
		{"try again in 250ms", 250 * time.Millisecond},
		{`"retryDelay": "34.07s"`, 34070 * time.Millisecond},
		{"Retry-After: 7", 7 * time.Second},
		{"retry after 5 seconds", 5 * time.Second},
		{"try again in 20 milliseconds", 20 * time.Millisecond},
		{"try again in 2 minutes", 2 * time.Minute},
		{"try again in 999999h", 7 * 24 * time.Hour},
		{"try again later", 0},
		{"try again in a while", 0},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, llm.Classify(llm.Error{Status: 429, Message: test.give}).RetryAfter, test.give)
	}
	set := llm.Error{RetryAfter: time.Second, Message: "try again in 9s"}
	assert.Equal(t, time.Second, llm.Classify(set).RetryAfter, "a wait that is set")
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		give string
		want time.Duration
	}{
		{" 3 ", 3 * time.Second},
		{"0.5", 500 * time.Millisecond},
		{"Fri, 02 Jan 2026 03:04:15 GMT", 10 * time.Second},
		{"Fri, 02 Jan 2026 03:04:00 GMT", 0},
		{"-1", 0},
		{"soon", 0},
		{"", 0},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, llm.RetryAfter(test.give, now), test.give)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	cause := errors.New("boom")
	tests := []struct {
		give llm.Error
		want string
	}{
		{llm.Error{}, "llm: failed"},
		{llm.Error{Kind: llm.ErrAuth, Provider: "openai", Status: 401, Code: "invalid_key", Message: "wrong key", Err: cause}, "llm: openai: not allowed (status 401): invalid_key: wrong key: boom"},
		{llm.Error{Message: "boom", Err: cause}, "llm: failed: boom"},
		{llm.Error{Message: "<html>\n\t<body>\r\nBad Gateway"}, "llm: failed: <html> <body> Bad Gateway"},
		{llm.Error{Code: "c", Message: strings.Repeat("ü", 1<<20)}, "llm: failed: c: " + strings.Repeat("ü", 1000) + "…"},
	}
	for _, test := range tests {
		require.EqualError(t, &test.give, test.want)
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		llm.ErrEmpty:     true,
		llm.ErrMalformed: true,
		llm.ErrInvalid:   false,
		errors.New("?"):  false,
		fmt.Errorf("%w: %w", context.Canceled, llm.ErrEmpty):                                             false,
		context.DeadlineExceeded:                                                                         false,
		&llm.Error{Kind: llm.ErrTransport, Err: context.DeadlineExceeded}:                                true,
		&llm.Error{Kind: llm.ErrEmpty}:                                                                   true,
		&llm.Error{Kind: llm.ErrMalformed}:                                                               true,
		&llm.Error{Kind: llm.ErrContentFilter, Err: llm.ErrEmpty}:                                        false,
		fmt.Errorf("%w: %w", context.Canceled, &llm.Error{Kind: llm.ErrRateLimit}):                       false,
		errors.Join(&llm.Error{Kind: llm.ErrAuth}, &llm.Error{Kind: llm.ErrRateLimit}):                   true,
		errors.Join(&llm.Error{Kind: llm.ErrAuth}, &llm.Error{Kind: llm.ErrRateLimit}, context.Canceled): false,
	} {
		assert.Equal(t, want, llm.Retryable(err), "%v", err)
	}
	assert.False(t, llm.Retryable(nil), "nil")
}

// FuzzClassify proves that Classify returns a wait of at most 7 days for any text of a provider.
func FuzzClassify(f *testing.F) {
	f.Add(429, "rate_limit", "try again in 1m2.5s")
	f.Add(0, "", "status code: 529 overloaded")
	f.Fuzz(func(t *testing.T, status int, code, message string) {
		e := llm.Classify(llm.Error{Status: status, Code: code, Message: message})
		require.GreaterOrEqual(t, e.RetryAfter, time.Duration(0))
		require.LessOrEqual(t, e.RetryAfter, 7*24*time.Hour)
		require.False(t, e.Retryable() && e.Kind == nil, "retryable, and of no kind")
		require.Regexp(t, "^llm: ", e.Error())
		llm.RetryAfter(message, time.Unix(0, 0))
	})
}
