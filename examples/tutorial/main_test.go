package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func Example() {
	main()
	// Output:
	// user: What do I pack for Athens?
	// assistant: weather({"city":"Athens"})
	// tool: sunny in Athens
	// assistant: Take sunglasses.
}

func TestOutputInTheTutorial(t *testing.T) {
	t.Parallel()
	output, err := os.ReadFile("output.txt")
	require.NoError(t, err)
	bot, err := newAgent(llmtest.NewScript(llmtest.Call("weather", `{"city":"Athens"}`), llmtest.Say("Take sunglasses.")))
	require.NoError(t, err)
	snap, err := bot.Invoke(t.Context(), agent.Messages.Put(llm.User("What do I pack for Athens?")))
	require.NoError(t, err)
	var got string
	for _, m := range agent.Messages.All(snap) {
		got += m.String() + "\n"
	}
	assert.Equal(t, string(output), got)
}
