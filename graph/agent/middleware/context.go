package middleware

import (
	"context"
	"slices"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

// Clearing configures [ClearResults]. The zero value is valid.
type Clearing struct {
	// Above is the number of tokens in the conversation above which results are cleared. Zero
	// means 100,000.
	Above int
	// Keep is the number of newest results that are not cleared. Zero means 3.
	Keep int
	// Exclude has the names of tools whose results are not cleared.
	Exclude []string
	// Counter counts tokens. Nil means [llm.EstimateTokens].
	Counter llm.TokenCounter
}

const cleared = "[cleared: call the tool again if you need the result]"

// ClearResults replaces old results of tools in long requests by a short note. The stored
// conversation stays complete.
func ClearResults(o Clearing) agent.Middleware {
	if o.Above <= 0 {
		o.Above = 100_000
	}
	if o.Keep <= 0 {
		o.Keep = 3
	}
	if o.Counter == nil {
		o.Counter = llm.TokenCounterFunc(llm.EstimateTokens)
	}
	return agent.Middleware{Name: "clear results", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		c.Request.Messages = o.clear(c.Request.Messages)
		return next(ctx, c)
	}}
}

func (o *Clearing) clear(messages []llm.Message) []llm.Message {
	total := 0
	for _, m := range messages {
		total += o.Counter.CountTokens(m)
	}
	if total <= o.Above {
		return messages
	}
	out, kept := slices.Clone(messages), 0
	for i, m := range slices.Backward(out) {
		if m.Role != llm.RoleTool || slices.Contains(o.Exclude, m.Name) {
			continue
		}
		if kept++; kept > o.Keep {
			out[i].Parts = []llm.Part{llm.Text(cleared)}
		}
	}
	return out
}
