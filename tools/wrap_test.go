package tools_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// TestWithWrapRunsAroundTools proves that a function of the context runs once around all attempts
// of a tool, sees its error, and can change its context; that the outer function is outermost; and
// that a call with invalid arguments reaches none.
func TestWithWrapRunsAroundTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		type arguments struct{ N int }
		var log []string
		broken := errors.New("broken")
		set, err := tools.NewSet(tools.New("work", "Works.", func(ctx context.Context, in arguments) (string, error) {
			log = append(log, "run "+ctx.Value(key{}).(string))
			return "", broken
		}))
		require.NoError(t, err)
		wrap := func(name string) tools.WrapFunc {
			return func(ctx context.Context, call llm.ToolCall, run func(context.Context) (tools.Result, error)) (tools.Result, error) {
				log = append(log, name+" "+call.Name+" "+string(call.Arguments))
				result, err := run(context.WithValue(ctx, key{}, name))
				require.ErrorIs(t, err, broken)
				return result, err
			}
		}
		ctx := tools.WithWrap(tools.WithWrap(t.Context(), wrap("outer")), wrap("inner"))
		ctx = tools.WithRetry(ctx, tools.RetryPolicy{Attempts: 2})
		answer, err := set.Call(ctx, llm.ToolCall{ID: "1", Name: "work", Arguments: []byte(`{"N":1}`)}, tools.Options{})
		require.NoError(t, err)
		assert.Equal(t, llm.StatusError, answer.Status)
		assert.Equal(t, []string{`outer work {"N":1}`, `inner work {"N":1}`, "run inner", "run inner"}, log)

		_, err = set.Call(ctx, llm.ToolCall{ID: "2", Name: "work", Arguments: []byte(`{}`)}, tools.Options{})
		require.NoError(t, err)
		assert.Len(t, log, 4)
	})
}
