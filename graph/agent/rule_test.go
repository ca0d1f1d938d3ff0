package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// New reports an approval rule that matches no tool, because it would protect nothing.
func TestNewReportsRulesThatNameNoTool(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("send", "Sends.", func(context.Context, struct{}) (string, error) { return "sent", nil }))
	o := agent.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("sned")}}}
	_, err := agent.New("bot", llmtest.NewScript(), set, o)
	require.ErrorIs(t, err, tools.ErrPattern)
	require.ErrorContains(t, err, `agent "bot": Options.Tools: tools: Named("sned"): the pattern matches no tool; did you mean "send"?`)

	_, err = agent.Supervisor("boss", llmtest.NewScript(), set, []agent.Member{{Agent: newAgent(t, llmtest.NewScript(), nil, agent.Options{})}}, o)
	require.ErrorIs(t, err, tools.ErrPattern)
}
