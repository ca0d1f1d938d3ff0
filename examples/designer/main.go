// Command designer is the agent of a design platform. It finds products in a catalogue. It makes 3D
// scenes, quotes and orders of them, each after a person's approval. It remembers facts about the
// user for later conversations.
//
//	go run ./examples/designer "find oak chairs under 700 and quote 6 of the first"
//	go run ./examples/designer yes
//	go run ./examples/designer -serve 127.0.0.1:8080
//
// Read internal/kai first: it is the agent. Then read internal/places, which opens the stores, and
// internal/terminal and internal/api, through which people use the agent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/designer/internal/api"
	"github.com/weft-go/weft/examples/designer/internal/terminal"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/ui"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the program and returns its exit status: 2 for a mistake of the user.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if err == nil {
		err = o.do(ctx, stdin, stdout, stderr)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "designer:", explain(ctx, err))
	if _, ok := errors.AsType[*command.Mistake](err); ok {
		return 2
	}
	return 1
}

func explain(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, checkpoint.ErrConflict):
		return "the conversation is busy with another run; wait for it, or choose another one with -conversation"
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, graph.ErrDrained):
		return "stopped; start it without a message to go on"
	}
	return err.Error()
}

func (o options) do(ctx context.Context, in io.Reader, out, errs io.Writer) (err error) {
	logger := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p, name, err := o.parts(ctx, logger)
	if err != nil {
		return err
	}
	var listener net.Listener
	if o.serve != "" {
		if listener, err = net.Listen("tcp", o.serve); err != nil {
			return command.Wrong("-serve %s: %v", o.serve, err)
		}
		defer listener.Close()
	}
	s, err := o.open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(o.drain)) }()
	if listener != nil {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // the terminal handles Ctrl-C itself
		context.AfterFunc(ctx, stop)                         // a second Ctrl-C ends the program at once
		s.work()
		fmt.Fprintf(out, "model: %s\nstore: %s\nhttp://%s\n", name, s.stores.Where, listener.Addr())
		return o.serveOn(ctx, listener, s)
	}
	return terminal.Terminal{Platform: s.Platform, Work: s.work, Model: name, In: in, Out: out}.Do(ctx, o.Request)
}

// serveOn serves the agents until the context ends. Then runs stop after their superstep, and the next process
// continues them.
func (o options) serveOn(ctx context.Context, l net.Listener, s *service) error {
	graphs, err := s.Graphs()
	if err != nil {
		return err
	}
	page := &ui.Chat{
		Title: "Design studio", Greeting: "Products, scenes, quotes and orders. Nothing is made or ordered without your approval.",
		Placeholder: "What are you looking for?", Tools: s.Tools(), Attach: true, Memory: "/api/memories",
		Suggestions: []string{"Find oak chairs under 700", "A sofa, but not leather", "How much is the Barcelona chair, and how big is it?", "Find oak chairs under 700 and quote 6 of the second"},
	}
	if page.Assistant = o.Agent; graphs[o.Agent] == nil {
		return command.Wrong("-agent %s: there is no such agent", o.Agent)
	}
	to, err := server.New(server.Options{
		Graphs: graphs, Runs: s.stores.Runs, Chat: page, Studio: &ui.Studio{Write: true}, Logger: s.Logger,
		Auth: s.stores.Caller(), Hosts: append([]string{"127.0.0.1", "::1", "localhost"}, o.hosts...),
	})
	if err != nil {
		return err
	}
	api.Handle(to, s.Platform)
	return to.Serve(ctx, l, nil)
}
