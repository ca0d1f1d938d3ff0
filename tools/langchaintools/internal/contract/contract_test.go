package contract_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	langchaingo "github.com/tmc/langchaingo/tools"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/langchaintools"
)

// The interfaces of langchaintools and langchaingo are assignable to each other.
var (
	_ langchaintools.Tool = langchaingo.Tool(nil)
	_ langchaingo.Tool    = langchaintools.Tool(nil)
)

func TestCalculator(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(langchaintools.From(langchaingo.Calculator{}))
	require.NoError(t, err)
	for input, want := range map[string]string{"6 * 7": "42", "6 *": "error"} {
		arguments, err := json.Marshal(map[string]string{"input": input})
		require.NoError(t, err)
		answer, err := set.Call(t.Context(), llm.ToolCall{ID: "1", Name: "calculator", Arguments: arguments}, tools.Options{})
		require.NoError(t, err, input)
		assert.True(t, strings.HasPrefix(answer.Text(), want), input)
	}
}

func TestToolOfWeft(t *testing.T) {
	t.Parallel()
	weather := tools.New("weather", "Tells the weather.", func(_ context.Context, in struct {
		Town string `json:"town"`
	},
	) (string, error) {
		return "sunny in " + in.Town, nil
	})
	carried, err := langchaintools.To(weather, tools.Options{})
	require.NoError(t, err)
	var old langchaingo.Tool = carried
	got, err := old.Call(t.Context(), "Athens")
	require.NoError(t, err)
	assert.Equal(t, "weather", old.Name())
	assert.Equal(t, "sunny in Athens", got)
}
