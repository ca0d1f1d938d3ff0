package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// TestBackoff proves that the delay between attempts to reach a server grows, and that no
// call waits longer than two seconds.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up, server := true, listing(&mcp.Tool{Name: "echo"})
		var tries []time.Duration
		var wires []*mcp.ServerSession
		begin := time.Now()
		c := newClient(t, mcptools.Dial(func(ctx context.Context) (mcp.Transport, error) {
			tries = append(tries, time.Since(begin))
			if !up {
				return nil, errors.New("nobody is in")
			}
			here, there := mcp.NewInMemoryTransports()
			session, err := server.Connect(ctx, there, nil)
			wires = append(wires, session)
			return here, err
		}), mcptools.Options{})
		set := setOf(t, c)
		assert.Equal(t, "success: echo {}", ask(t, set, "echo", ""))

		up = false
		require.NoError(t, wires[0].Close())
		synctest.Wait()
		answers := map[string]int{}
		for time.Since(begin) < time.Minute {
			call := time.Now()
			got := ask(t, set, "echo", "")
			assert.LessOrEqual(t, time.Since(call), 2*time.Second)
			reason, _, _ := strings.Cut(got, "; not tried again for ")
			answers[reason]++
			time.Sleep(100 * time.Millisecond)
		}
		require.Len(t, answers, 1)
		assert.NotZero(t, answers[`error: mcptools: server "server": not available: nobody is in`])
		for i := range tries {
			tries[i] = tries[i].Round(time.Second / 2)
		}
		assert.Equal(t, "[0s 0s 500ms 1s 2s 4s 8s 16s 32s 1m2s]", fmt.Sprint(tries))
		assert.Len(t, setOfTools(t, c), 1, "the list is lost with the server")

		up = true
		time.Sleep(time.Minute)
		assert.Equal(t, "success: echo {}", ask(t, set, "echo", ""))
		assert.NoError(t, c.Close())
		synctest.Wait()
	})
}

// TestManyCallsShareAConnection proves that concurrent calls use one connection, and that a
// cancelled call does not affect the others.
func TestManyCallsShareAConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	dials := 0
	server := listing(&mcp.Tool{Name: "echo"})
	c := newClient(t, mcptools.Dial(func(ctx context.Context) (mcp.Transport, error) {
		mu.Lock()
		dials++
		mu.Unlock()
		return dialTo(server)(ctx)
	}), mcptools.Options{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%5 == 0 {
				cancel()
			}
			list, err := c.Tools(ctx)
			if i%5 == 0 {
				assert.ErrorIs(t, err, context.Canceled, "call %d", i)
				return
			}
			if !assert.NoError(t, err, "call %d", i) {
				return
			}
			set, err := tools.NewSet(list...)
			if !assert.NoError(t, err) {
				return
			}
			assert.Equal(t, fmt.Sprintf(`success: echo {"i":%d}`, i), ask(t, set, "echo", fmt.Sprintf(`{"i":%d}`, i)))
		})
	}
	wg.Wait()
	assert.Equal(t, 1, dials)
}

// TestConnectionHasNoValues proves that a connection does not get the values of the context
// of the first call.
func TestConnectionHasNoValues(t *testing.T) {
	t.Parallel()
	type key struct{}
	var seen []any
	server := listing(&mcp.Tool{Name: "echo"})
	c := newClient(t, mcptools.Dial(func(ctx context.Context) (mcp.Transport, error) {
		seen = append(seen, ctx.Value(key{}))
		return dialTo(server)(ctx)
	}), mcptools.Options{})
	_, err := c.Tools(context.WithValue(t.Context(), key{}, "ada"))
	require.NoError(t, err)
	assert.Equal(t, []any{nil}, seen)
}

// TestServerThatDoesNotList proves that a server that does not answer tools/list is not
// asked again at once, and that the last list is used.
func TestServerThatDoesNotList(t *testing.T) {
	t.Parallel()
	stalled, gone := make(chan struct{}), make(chan struct{})
	server := listing(&mcp.Tool{Name: "echo"})
	begun := time.Now()
	c := newClient(t, mcptools.Dial(func(ctx context.Context) (mcp.Transport, error) {
		here, there := net.Pipe()
		_, err := server.Connect(ctx, &mcp.IOTransport{Reader: stallingReader{there, stalled, gone}, Writer: there}, nil)
		return &mcp.IOTransport{Reader: here, Writer: here}, err
	}), mcptools.Options{MaxAge: time.Nanosecond, ConnectTimeout: 2 * time.Second})
	require.Len(t, setOfTools(t, c), 1)
	close(stalled)
	for range 10 {
		assert.Len(t, setOfTools(t, c), 1)
	}
	assert.LessOrEqual(t, time.Since(begun), 20*time.Second)
	close(gone)
}
