package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/llm"
)

func TestErrorsOfProviders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code  int
		body  string
		kind  error
		retry bool
	}{
		{429, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, llm.ErrRateLimit, true},
		{500, `{"error":{"message":"oops","type":"api_error"}}`, llm.ErrOverloaded, true},
		{502, `<html>Bad Gateway</html>`, llm.ErrOverloaded, true},
		{503, `{"error":{"message":"busy","status":"UNAVAILABLE"}}`, llm.ErrOverloaded, true},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded, true},
		{401, `{"error":{"message":"Incorrect API key provided: key-of-the-test"}}`, llm.ErrAuth, false},
		{400, `{"error":{"message":"prompt is too long: 200001 tokens > 200000 maximum"}}`, llm.ErrContextTooLong, false},
		{404, `{"error":{"message":"no such model"}}`, llm.ErrBadRequest, false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.code), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, b backend) {
				said := test.body
				if b.name == "bedrock" {
					said = strings.TrimSuffix(strings.TrimPrefix(said, `{"error":`), `}`) // its API sends the error without an envelope
				}
				f := newFake(t, status(test.code, said))
				e := failure(t, b.model(t, f), hello, test.kind)
				assert.Equal(t, test.retry, e.Retryable())
				assert.Equal(t, test.code, e.Status)
				assert.Equal(t, b.name, e.Provider)
				if b.wires {
					assert.Equal(t, 7*time.Second, e.RetryAfter)
				}
				if b.wires {
					assert.NotContains(t, fmt.Sprintf("%v %+v", e, *e), "key-of-the-test", "the key is in %+v", e)
				}
				assert.Len(t, f.requests(), 1)
			})
		})
	}
}

func TestServerIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("a")))
		m := b.model(t, f)
		f.Close()
		assert.True(t, failure(t, m, hello, llm.ErrTransport).Retryable())
	})
}
