// Command designer is the agent of a design platform. It finds products of a catalogue, makes 3D
// scenes and quotes of them, and orders, each of which waits for a person. It knows in the next
// conversation what was said in this one.
//
//	go run ./examples/designer "find oak chairs under 700 and quote 6 of the first"
//	go run ./examples/designer yes
//	go run ./examples/designer -serve 127.0.0.1:8080
//
// Read internal/kai first: it is the agent. Then internal/places, which opens what it keeps, and
// internal/terminal or internal/api, by which people reach it.
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
	"strings"
	"syscall"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/designer/internal/api"
	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/kai"
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

// options is the command line.
type options struct {
	terminal.Request
	data, schema, agents, catalogue, serve string
	hosts                                  []string
	pace, drain, lease                     time.Duration
}

const usage = `designer [flags] [MESSAGE]

Without a message it goes on with a turn that broke off, or reads messages, a line each.
While a call waits for you, the message is "yes", or "no" and a reason.

`

func parse(args []string, out io.Writer) (o options, err error) {
	f := flag.NewFlagSet("designer", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.data, "data", "designer-data", "the `folder` of the SQLite files")
	f.StringVar(&o.schema, "schema", "designer", "the `schema`, in PostgreSQL")
	f.StringVar(&o.agents, "agents", "", "a `file` of agents, instead of those that come with the program")
	f.StringVar(&o.catalogue, "catalogue", "", "a CSV `file` of products, instead of that which comes with the program")
	f.StringVar(&o.Agent, "agent", "kai", "the `id` of the agent, or with -serve of the page's")
	f.StringVar(&o.Conversation, "conversation", "default", "the `id` of the conversation")
	f.StringVar(&o.Workspace, "workspace", "studio", "the `workspace` that memories are of")
	f.StringVar(&o.serve, "serve", "", "serve the agents and a page on this `address`")
	f.Func("host", "with -serve, another `name` by which clients reach the server; may be repeated", func(name string) error {
		o.hosts = append(o.hosts, name)
		return nil
	})
	f.StringVar(&o.Scene, "scene", "", "print the model of the scene of this `id`")
	f.BoolVar(&o.Draw, "draw", false, "print the graph, for Mermaid")
	f.BoolVar(&o.Orders, "orders", false, "print the orders")
	f.BoolVar(&o.Memories, "memories", false, "print what is known")
	f.DurationVar(&o.pace, "pace", 0, "how long the offline model waits before each word")
	f.DurationVar(&o.drain, "drain", 10*time.Second, "how long the program may learn at its end what was said")
	f.DurationVar(&o.lease, "lease", 10*time.Second, "how long a process that died holds its conversations, in PostgreSQL")
	err = f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		f.SetOutput(out)
		f.PrintDefaults()
		return o, err
	}
	if err != nil {
		return o, command.Wrong("%v; -h shows how to use it", err)
	}
	o.Message = strings.TrimSpace(strings.Join(f.Args(), " "))
	return o, nil
}

// run is the program, and returns its status: 2 for a mistake of the user's.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if err == nil {
		err = o.do(ctx, stdin, stdout, stderr)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "designer:", explain(err))
	if _, ok := errors.AsType[*command.Mistake](err); ok {
		return 2
	}
	return 1
}

func explain(err error) string {
	switch {
	case errors.Is(err, checkpoint.ErrConflict):
		return "the conversation is busy with another run; wait for it, or choose another one with -conversation"
	case errors.Is(err, context.Canceled), errors.Is(err, graph.ErrDrained):
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
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // the terminal handles it by itself
		context.AfterFunc(ctx, stop)                         // a second Ctrl-C ends the program at once
		s.work()
		fmt.Fprintf(out, "model: %s\nstore: %s\nhttp://%s\n", name, s.stores.Where, listener.Addr())
		return o.serveOn(ctx, listener, s)
	}
	return terminal.Terminal{Platform: s.Platform, Work: s.work, Model: name, In: in, Out: out}.Do(ctx, o.Request)
}

// serveOn serves the agents until the context ends. Then runs stop after their step, and the next process
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

// parts is what a platform is made of, but for its stores, and the name of the model.
func (o options) parts(ctx context.Context, logger *slog.Logger) (p kai.Parts, name string, err error) {
	p.Logger, p.Workspace = logger, o.Workspace
	var agents []byte
	if o.agents != "" {
		if agents, err = os.ReadFile(o.agents); err != nil {
			return p, "", command.Wrong("%v", err)
		}
	}
	if p.Agents, err = kai.ReadConfigs(agents); err != nil {
		return p, "", command.Wrong("%v", err)
	}
	if p.Catalogue, err = o.products(); err != nil {
		return p, "", command.Wrong("%v", err)
	}
	p.Model, name, err = o.models(ctx, p.Agents)
	return p, name, err
}

func (o options) products() (*catalogue.Catalogue, error) {
	if o.catalogue == "" {
		return catalogue.Own()
	}
	f, err := os.Open(o.catalogue)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := catalogue.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.catalogue, err)
	}
	return c, nil
}
