package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// A server that is down is tried ever more seldom, and no call waits long for it.
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
		expect(t, ask(t, set, "echo", ""), "success: echo {}")

		up = false
		if err := wires[0].Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		answers := map[string]int{}
		for time.Since(begin) < time.Minute {
			call := time.Now()
			got := ask(t, set, "echo", "")
			if waited := time.Since(call); waited > 2*time.Second {
				t.Errorf("a call waited for %s", waited)
			}
			reason, _, _ := strings.Cut(got, "; not tried again for ")
			answers[reason]++
			time.Sleep(100 * time.Millisecond)
		}
		if want := `error: mcptools: server "server": not available: nobody is in`; len(answers) != 1 || answers[want] == 0 {
			t.Errorf("got %v", answers)
		}
		for i := range tries {
			tries[i] = tries[i].Round(time.Second / 2)
		}
		if got := fmt.Sprint(tries); got != "[0s 0s 500ms 1s 2s 4s 8s 16s 32s 1m2s]" {
			t.Errorf("tried at %s", got)
		}
		if len(setOfTools(t, c)) != 1 {
			t.Error("the list is lost with the server")
		}

		up = true
		time.Sleep(time.Minute)
		expect(t, ask(t, set, "echo", ""), "success: echo {}")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// Many calls at once share one connection, and one that is given up does not
// harm the others.
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
			if (err != nil) != (i%5 == 0) || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%d: got %v, %v", i, list, err)
			}
			if err != nil {
				return
			}
			set, err := tools.NewSet(list...)
			if err != nil {
				t.Error(err)
				return
			}
			expect(t, ask(t, set, "echo", fmt.Sprintf(`{"i":%d}`, i)), fmt.Sprintf(`success: echo {"i":%d}`, i))
		})
	}
	wg.Wait()
	if dials != 1 {
		t.Errorf("connected %d times, want once", dials)
	}
}

// What the context of the first call holds is not for those after it.
func TestConnectionHasNoValues(t *testing.T) {
	t.Parallel()
	type key struct{}
	var seen []any
	server := listing(&mcp.Tool{Name: "echo"})
	c := newClient(t, mcptools.Dial(func(ctx context.Context) (mcp.Transport, error) {
		seen = append(seen, ctx.Value(key{}))
		return dialTo(server)(ctx)
	}), mcptools.Options{})
	if _, err := c.Tools(context.WithValue(t.Context(), key{}, "ada")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []any{nil}) {
		t.Errorf("the connection knows %v", seen)
	}
}

// A server that does not read what it is asked is asked no more for a while, and
// its list is the last one there was.
func TestServerThatDoesNotList(t *testing.T) {
	t.Parallel()
	deaf, gone := make(chan struct{}), make(chan struct{})
	server := listing(&mcp.Tool{Name: "echo"})
	begun := time.Now()
	c := newClient(t, mcptools.Dial(func(ctx context.Context) (mcp.Transport, error) {
		here, there := net.Pipe()
		_, err := server.Connect(ctx, &mcp.IOTransport{Reader: ear{there, deaf, gone}, Writer: there}, nil)
		return &mcp.IOTransport{Reader: here, Writer: here}, err
	}), mcptools.Options{MaxAge: time.Nanosecond, ConnectTimeout: 2 * time.Second})
	if n := len(setOfTools(t, c)); n != 1 {
		t.Fatalf("got %d tools", n)
	}
	close(deaf)
	for range 10 {
		if n := len(setOfTools(t, c)); n != 1 {
			t.Errorf("got %d tools, want those there were", n)
		}
	}
	if waited := time.Since(begun); waited > 20*time.Second {
		t.Errorf("waited for %s", waited)
	}
	close(gone)
}
