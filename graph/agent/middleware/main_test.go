package middleware_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memory() graph.Options {
	return graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}
}

func newAgent(t testing.TB, m llm.Model, o agent.Options, list ...tools.Tool) *graph.Graph {
	t.Helper()
	set, err := tools.NewSet(list...)
	require.NoError(t, err)
	g, err := agent.New("helper", m, set, o)
	require.NoError(t, err)
	return g
}

// roles returns the role and text of each message.
func roles(s state.View) (out []string) {
	for _, m := range agent.Messages.All(s) {
		out = append(out, string(m.Role)+":"+m.Text())
	}
	return out
}

func use(list ...agent.Middleware) agent.Options { return agent.Options{Use: list, Graph: memory()} }
