package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// TestNothingIsLeftBehind proves that no goroutine still runs after a stream was left,
// cancelled, rejected or read to its end. It is not parallel, because it must see only its own
// goroutines.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, b := range backends {
		if !b.wires || b.name == "googleai" { // Google's client keeps connections of its own
			continue
		}
		before := goleak.IgnoreCurrent()
		answer := b.say(say("Hello, ", "world"))
		transport := &http.Transport{}
		f := newFake(t, hanging(answer), hanging(answer), status(500, `{}`), answer)
		wire := &langchainllm.Transport{Base: transport}
		m := langchainllm.New(b.open(t, f.URL, wire.Client()), langchainllm.Options{Provider: b.provider})
		for _, leave := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			for c, err := range m.Stream(ctx, hello) {
				if err == nil && c.Text != "" && leave {
					break
				}
				cancel()
			}
			cancel()
		}
		assert.Equal(t, 500, failure(t, m, hello, llm.ErrOverloaded).Status)
		must(t, m, hello)
		transport.CloseIdleConnections()
		f.Close()
		goleak.VerifyNone(t, before)
	}
}
