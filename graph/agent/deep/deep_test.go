package deep_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// New reports duplicate names of tools and invalid sub-agents, with their names.
func TestNewReportsMistakes(t *testing.T) {
	t.Parallel()
	double := tools.New(deep.ReadTool, "Reads.", func(context.Context, struct{}) (string, error) { return "", nil })
	model := llmtest.NewScript()
	for name, tt := range map[string]struct {
		o     deep.Options
		model llm.Model
		want  []string
	}{
		"no model":                {deep.Options{}, nil, []string{`agent "a": the model is nil`}},
		"a tool of another name":  {deep.Options{Tools: []tools.Tool{double}}, model, []string{`"read_file"`}},
		"a tool of a sub-agent":   {deep.Options{SubAgents: []deep.SubAgent{{Name: "sub", Tools: []tools.Tool{double}}}}, model, []string{`sub-agent "sub"`, `"read_file"`}},
		"a sub-agent has no name": {deep.Options{SubAgents: []deep.SubAgent{{}}}, model, []string{"the name is empty"}},
		"two have one name":       {deep.Options{SubAgents: []deep.SubAgent{{Name: "sub"}, {Name: "sub"}}}, model, []string{`"sub"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := deep.New("a", tt.model, tt.o)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// A long conversation is summarised for the model, and a long result of a tool is moved
// to a file.
func TestLongWorkFitsTheModel(t *testing.T) {
	t.Parallel()
	load := tools.New("load", "Loads.", func(context.Context, struct{}) (string, error) { return strings.Repeat("data ", 20_000), nil })
	turns, longest, summaries := 0, 0, 0
	model := modelFunc(func(r llm.Request) llmtest.Reply {
		size := 0
		for _, m := range r.Messages {
			size += llm.EstimateTokens(m)
		}
		if len(r.Tools) == 0 {
			summaries++
			return llmtest.Say("summary")
		}
		longest = max(longest, size)
		if turns++; turns < 60 {
			return llmtest.Calls(named(turns, "load", struct{}{}))
		}
		return llmtest.Say("done")
	})
	a, err := deep.New("a", model, deep.Options{Tools: []tools.Tool{load}, MaxTokens: 4000})
	require.NoError(t, err)
	snap, err := a.Invoke(t.Context(), agent.Messages.Put(llm.User("load all")))
	require.NoError(t, err)
	last, _ := agent.Messages.Last(snap)
	assert.Equal(t, "done", last.Text())
	assert.Equal(t, 60, turns)
	assert.Positive(t, summaries)
	assert.Less(t, longest, 5500, "tokens of a request")
	list, err := deep.State().List(t.Context(), snap, "/results")
	require.NoError(t, err)
	assert.Equal(t, []deep.File{{Name: list[0].Name, Size: 100_000}}, list, "equal results share a file")
}
