package mcptools_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

func TestListsAndCalls(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, c *mcptools.Client, _ func()) {
		set := setOf(t, c)
		want := []string{"add", "calls", "crash", "deafen", "echo", "environment", "hire", "leave", "refuse", "slow", "was_cancelled"}
		assert.Equal(t, want, set.Names())
		assert.Equal(t, "success: you said hi", ask(t, set, "echo", `{"text":"hi"}`))
		assert.Equal(t, `success: {"sum":42}`, ask(t, set, "add", `{"A":20,"B":22}`))
		assert.Equal(t, "error: not on a Sunday", ask(t, set, "refuse", ``))
		assert.True(t, strings.HasPrefix(ask(t, set, "echo", `{"txt":"hi"}`), "error: invalid arguments for echo: text: is missing"))
		assert.Equal(t, "success: 1", ask(t, set, "calls", ""))
	})
}

func TestProgressAndCancellation(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, c *mcptools.Client, _ func()) {
		set := setOf(t, c)
		enough := errors.New("that is enough")
		ctx, cancel := context.WithCancelCause(within(t))
		defer cancel(nil)
		var got []tools.Progress
		o := tools.Options{Timeout: -1, Emit: func(_ context.Context, v any) {
			if p, ok := v.(tools.Progress); ok {
				got = append(got, p)
				if p.Done == 3 {
					cancel(enough)
				}
			}
		}}
		_, err := set.Call(ctx, callOf("slow", ""), o)
		assert.ErrorIs(t, err, enough)
		assert.ErrorIs(t, err, context.Canceled)
		want := []tools.Progress{
			{CallID: "call_slow", Tool: "slow", Done: 1, Total: 3, Message: "page 1"},
			{CallID: "call_slow", Tool: "slow", Done: 2, Total: 3, Message: "page 2"},
			{CallID: "call_slow", Tool: "slow", Done: 3, Total: 3, Message: "page 3"},
		}
		assert.Equal(t, want, got)
		assert.Equal(t, "success: yes", ask(t, set, "was_cancelled", ""))
	})
}

func TestDiesAndComesBack(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, c *mcptools.Client, revive func()) {
		set := setOf(t, c)
		assert.Equal(t, "success: you said one", ask(t, set, "echo", `{"text":"one"}`))
		for range 2 {
			got := ask(t, set, "crash", `{"text":"now"}`)
			assert.Contains(t, got, "error: ")
			assert.Contains(t, got, "the tool may or may not have run")
			revive()
			assert.Equal(t, "success: you said two", ask(t, set, "echo", `{"text":"two"}`))
			// The new process counts one call, so crash was not called again.
			assert.Equal(t, "success: 1", ask(t, set, "calls", ""))
		}
	})
}

func TestListChanges(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, c *mcptools.Client, _ func()) {
		set := setOf(t, c)
		_, ok := set.Lookup("clerk")
		assert.False(t, ok, "there is a clerk already")
		assert.Equal(t, "success: hired", ask(t, set, "hire", `{"text":"clerk"}`))
		ctx := within(t)
		for ctx.Err() == nil {
			set = setOf(t, c)
			if _, ok := set.Lookup("clerk"); ok {
				break
			}
		}
		assert.Equal(t, "success: I am clerk", ask(t, set, "clerk", ""))
	})
}

// TestLastProgress proves that the last progress is reported even if the answer follows at
// once.
func TestLastProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "quick"}, nil)
		add(server, "quick", "Is done at once in the end.", func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 2 {
				time.Sleep(time.Second)
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 2,
				})
				if err != nil {
					return nil, nil, err
				}
			}
			return text("done"), nil, nil
		})
		c := newClient(t, dialTo(server), mcptools.Options{})
		set := setOf(t, c)
		for i := range 100 {
			var got float64
			o := tools.Options{Emit: func(_ context.Context, v any) {
				if p, ok := v.(tools.Progress); ok {
					got = p.Done
				}
			}}
			answer, err := set.Call(t.Context(), callOf("quick", ""), o)
			require.NoError(t, err, "call %d", i)
			require.Equal(t, "done", answer.Text(), "call %d", i)
			require.Equal(t, float64(2), got, "call %d", i)
		}
		assert.NoError(t, c.Close())
		synctest.Wait()
	})
}
