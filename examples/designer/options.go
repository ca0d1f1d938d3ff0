package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/terminal"
	"github.com/weft-go/weft/examples/internal/command"
)

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

// parts returns the parts of a platform without its stores, and the name of the model.
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
