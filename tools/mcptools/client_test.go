package mcptools_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

func TestListsAndCalls(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *mcptools.Client, _ func()) {
		set := setOf(t, c)
		want := []string{"add", "calls", "crash", "deafen", "echo", "environment", "hire", "leave", "refuse", "slow", "was_cancelled"}
		if got := set.Names(); !slices.Equal(got, want) {
			t.Errorf("the tools are %q, want %q, from four pages", got, want)
		}
		expect(t, ask(t, set, "echo", `{"text":"hi"}`), "success: you said hi")
		expect(t, ask(t, set, "add", `{"A":20,"B":22}`), `success: {"sum":42}`)
		expect(t, ask(t, set, "refuse", ``), "error: not on a Sunday")
		if got := ask(t, set, "echo", `{"txt":"hi"}`); !strings.HasPrefix(got, "error: invalid arguments for echo: text: is missing") {
			t.Errorf("got %q", got)
		}
		expect(t, ask(t, set, "calls", ""), "success: 1")
	})
}

func TestProgressAndCancellation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *mcptools.Client, _ func()) {
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
		if !errors.Is(err, enough) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was enough", err)
		}
		want := []tools.Progress{
			{CallID: "call_slow", Tool: "slow", Done: 1, Total: 3, Message: "page 1"},
			{CallID: "call_slow", Tool: "slow", Done: 2, Total: 3, Message: "page 2"},
			{CallID: "call_slow", Tool: "slow", Done: 3, Total: 3, Message: "page 3"},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got progress %v", got)
		}
		expect(t, ask(t, set, "was_cancelled", ""), "success: yes")
	})
}

func TestDiesAndComesBack(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *mcptools.Client, revive func()) {
		set := setOf(t, c)
		expect(t, ask(t, set, "echo", `{"text":"one"}`), "success: you said one")
		for range 2 {
			if got := ask(t, set, "crash", `{"text":"now"}`); !strings.Contains(got, "error: ") || !strings.Contains(got, "the tool may or may not have run") {
				t.Errorf("got %q", got)
			}
			revive()
			expect(t, ask(t, set, "echo", `{"text":"two"}`), "success: you said two")
			// A new process, and crash was not called again in it.
			expect(t, ask(t, set, "calls", ""), "success: 1")
		}
	})
}

func TestListChanges(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *mcptools.Client, _ func()) {
		set := setOf(t, c)
		if _, ok := set.Lookup("clerk"); ok {
			t.Fatal("there is a clerk already")
		}
		expect(t, ask(t, set, "hire", `{"text":"clerk"}`), "success: hired")
		ctx := within(t)
		for ctx.Err() == nil {
			set = setOf(t, c)
			if _, ok := set.Lookup("clerk"); ok {
				break
			}
		}
		expect(t, ask(t, set, "clerk", ""), "success: I am clerk")
	})
}

// The last progress is not lost though it comes with the answer.
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
			if err != nil || answer.Text() != "done" || got != 2 {
				t.Fatalf("%d: got %v, %v and progress %v of 2", i, answer, err, got)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
