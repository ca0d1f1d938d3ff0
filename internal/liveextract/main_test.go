package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/llmtest"
)

func TestRunFailsWithoutAModel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	assert.Equal(t, 2, run(t.Context(), func(string) string { return "" }, &out))
	assert.Contains(t, out.String(), "liveextract: ")
}

func TestMeasureCountsBothKindsOfError(t *testing.T) {
	t.Parallel()
	turns, err := readTurns("../../" + sentences)
	require.NoError(t, err)
	require.Len(t, turns, 60)
	turns = append(turns[:3:3], turns[5])
	verdicts := func(first, second string) llmtest.Reply {
		return llmtest.Call("answer", `{"verdicts":[{"number":1,"doubt":"`+first+`","supported":`+supported(first)+`},{"number":2,"doubt":"`+second+`","supported":`+supported(second)+`}]}`)
	}
	model := llmtest.NewScript(
		verdicts("none", "more"), // right first: no error
		verdicts("none", "more"), // wrong first: both errors
		verdicts("none", "none"), // right first: the wrong fact is supported
		llmtest.Fail(errors.New("down")),
	)
	var out bytes.Buffer
	assert.Equal(t, 1, measure(t.Context(), model, turns, &out))
	assert.Contains(t, out.String(), "all          3 turns  right facts refused:  1  wrong facts supported:  2")
	assert.Contains(t, out.String(), "right fact refused (more)  en-02")
	assert.Contains(t, out.String(), "wrong fact supported  en-03")
	assert.Contains(t, out.String(), "FAIL  en-06")
}

func supported(doubt string) string {
	if doubt == "none" {
		return "true"
	}
	return "false"
}
