package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

type purchase struct {
	Item string `json:"item"`
	N    int    `json:"n"`
	User tools.Bound[userID]
}

// buying is a tool whose price a test can change.
func buying(price *int, bought *[]string) tools.Tool {
	buy := tools.New("buy", "Buys.", func(_ context.Context, in purchase) (string, error) {
		*bought = append(*bought, in.Item)
		return "bought", nil
	})
	return tools.Preview(buy, func(_ context.Context, in purchase) (map[string]any, error) {
		if in.Item == "" {
			return nil, errors.New("there is no such item")
		}
		return map[string]any{"for": in.User.Value(), "total": *price * in.N}, nil
	})
}

// An approval binds the preview: when the price changes before the run resumes, the person is asked again.
func TestApprovalBindsThePreview(t *testing.T) {
	t.Parallel()
	price, bought := 10, []string(nil)
	set := mustSet(t, buying(&price, &bought))
	th := nodeGraph(t, set, memcheckpoint.New(memcheckpoint.Options{}), onGraph(tools.Named("buy"))).Thread("t")
	ctx := tools.WithBound(t.Context(), userID("ann"))
	snap, err := th.Invoke(ctx, messages.Put(llm.Assistant("", llm.ToolCall{ID: "call_1", Name: "buy", Arguments: json.RawMessage(`{"item":"chair","n":3}`)})))
	require.NoError(t, err)
	for _, want := range []string{`{"for":"ann","total":30}`, `{"for":"ann","total":33}`} {
		open, err := approveTool.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		q := open[0].Prompt
		assert.JSONEq(t, want, string(q.Preview))
		assert.Contains(t, q.Text(), "preview: "+want)
		assert.Empty(t, bought)
		if q.Problem != "" {
			assert.Contains(t, q.Problem, "the arguments or the preview")
		}
		price = 11
		snap, err = th.Invoke(ctx, approveTool.Answer(open[0].ID, q.Approve()))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"chair"}, bought)
}

// If the preview fails, the model gets the error and nobody is asked.
func TestFailingPreviewAsksNobody(t *testing.T) {
	t.Parallel()
	price, bought := 10, []string(nil)
	set := mustSet(t, buying(&price, &bought))
	th := nodeGraph(t, set, memcheckpoint.New(memcheckpoint.Options{}), onGraph(tools.Named("buy"))).Thread("t")
	ctx := tools.WithBound(t.Context(), userID("ann"))
	snap, err := th.Invoke(ctx, messages.Put(llm.Assistant("", llm.ToolCall{ID: "call_1", Name: "buy", Arguments: json.RawMessage(`{"item":"","n":3}`)})))
	require.NoError(t, err)
	assert.Empty(t, snap.Pauses)
	last, _ := messages.Last(snap)
	assert.Equal(t, llm.StatusError, last.Status)
	assert.Contains(t, last.Text(), "there is no such item")
	assert.Empty(t, bought)
	_, err = set.Question(ctx, llm.ToolCall{ID: "1", Name: "buy", Arguments: json.RawMessage(`{"item":"","n":3}`)})
	require.ErrorContains(t, err, "there is no such item")
}

func TestPreviewOfAnotherTypeIsReported(t *testing.T) {
	t.Parallel()
	buy := tools.New("buy", "Buys.", func(context.Context, purchase) (string, error) { return "", nil })
	other := tools.Preview(buy, func(context.Context, struct{ N int }) (int, error) { return 0, nil })
	require.ErrorContains(t, other.Err(), "it must have the tool's type tools_test.purchase")
	require.ErrorIs(t, other.Err(), llm.ErrInvalid)
	require.Error(t, tools.Preview[purchase, int](buy, nil).Err())
}
