package contract_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// cutShort is a reply that reached its limit.
var cutShort = said{texts: []string{"Once"}, stop: "length", in: 10, out: 4}

var bedrockFaults = []fault{
	{
		name: "11 a stream loses its calls", backend: "bedrock",
		answers: []http.HandlerFunc{sayBedrock(say("Let me.").calling(saidCall{"a", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1}`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1}`),
	},
	{
		name: "11 a reply that reached its limit is an error", backend: "bedrock",
		answers: []http.HandlerFunc{sayBedrock(cutShort)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human)
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			if h := must(t, m, hello); h.text() != "Once" || h.message.StopReason != llm.StopLength {
				t.Errorf("got %q, stopped by %q", h.text(), h.message.StopReason)
			}
			// Beside tools it is not streamed, and the library loses the text;
			// the reason is still told.
			h := ask(t, m, withTools(hello))
			if !errors.Is(h.err, llm.ErrEmpty) || h.chunks[len(h.chunks)-1].StopReason != llm.StopLength {
				t.Errorf("got %v and %+v", h.err, h.chunks)
			}
		},
	},
}
