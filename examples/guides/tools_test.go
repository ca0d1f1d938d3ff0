package guides_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/langchaintools"
	"github.com/weft-go/weft/tools/mcptools"
	"github.com/weft-go/weft/tools/plan"
)

var _ = []any{
	weather, selection, toolNode, boundQuery, bindUser, approveTool, answerTool, metaTools, planning, runPlan, mcpTools,
	serveTools, fromLangChain,
}

// docs:begin tool
type Where struct {
	City string `json:"city" jsonschema:"the city, in English"`
	Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
	Unit string `json:"unit,omitempty" enum:"celsius,fahrenheit"`
}

type Forecast struct{ Text string }

func weather() tools.Tool {
	return tools.New("weather", "Looks the weather forecast up.",
		func(ctx context.Context, in Where) (Forecast, error) {
			return Forecast{Text: "sunny in " + in.City}, nil
		})
}

// docs:end

func selection() *tools.Set {
	// docs:begin select
	part := set.Select(tools.Query{Categories: []string{"calendar"}, Actions: []string{"delete"}})
	// docs:end
	return part
}

func toolNode(b *graph.Builder) {
	// docs:begin node
	b.Node("tools", tools.Node(set, Messages, tools.Options{Once: graph.Once[llm.Message], Emit: graph.Emit}))
	// docs:end
}

// docs:begin bound
type UserID string

type Query struct {
	Text string `json:"text"`
	User tools.Bound[UserID]
}

func search(_ context.Context, in Query) ([]string, error) {
	return find(in.User.Value(), in.Text)
}

// docs:end

func find(UserID, string) ([]string, error) { return nil, nil }

func boundQuery() tools.Tool { return tools.New("search", "Searches.", search) }

func bindUser() tools.Options {
	// docs:begin bind
	o := tools.Options{Bind: tools.Bindings{
		tools.Bind(func(ctx context.Context, _ state.View) (UserID, error) { return UserID(server.UserID(ctx)), nil }),
	}}
	// docs:end
	return o
}

// docs:begin approval
var ApproveTool = graph.NewInterrupt[tools.Question, tools.Decision]("approve_tool")

func approveTool() tools.Options {
	return tools.Options{
		Once: graph.Once[llm.Message],
		Approval: tools.Approval{
			Rule: tools.Destructive().Or(tools.Named("send_*", "submit_order")),
			Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
				return ApproveTool.WaitKey(ctx, key, q)
			},
		},
	}
}

// docs:end

func answerTool() error {
	// docs:begin answer
	open, err := ApproveTool.Open(snap)
	if err != nil {
		return err
	}
	q := open[0].Prompt
	snap, err = thread.Invoke(ctx, ApproveTool.Answer(open[0].ID, q.Approve()))
	// or q.Reject("not today"), or q.Edit(json.RawMessage(`{"id":"7"}`))
	// docs:end
	return err
}

func metaTools(favourites, all *tools.Set) error {
	// docs:begin meta
	meta, err := favourites.Merge(all.Meta())
	// docs:end
	use(meta)
	return err
}

func planning() tools.Options {
	// docs:begin planning
	o := tools.Options{Planning: &tools.Planning{Actions: Actions}} // Actions = state.Append[tools.Action]("actions")
	// docs:end
	return o
}

func runPlan() error {
	// docs:begin plan
	results, err := plan.Run(ctx, set, []tools.Action{
		{ID: "find", Tool: "search_events", Arguments: json.RawMessage(`{"text":"John"}`)},
		{ID: "drop", Tool: "delete_event", Arguments: json.RawMessage(`{"id":"${find.0.id}"}`), DependsOn: []string{"find"}},
	}, plan.Options{})
	// docs:end
	use(results)
	return err
}

func mcpTools(own []tools.Tool) error {
	// docs:begin mcp
	files, err := mcptools.New(mcptools.Command{
		Path: "mcp-files", Args: []string{"/srv/docs"},
		Env: []string{"FILES_TOKEN=" + os.Getenv("FILES_TOKEN")},
	}, mcptools.Options{Prefix: "files"})
	if err != nil {
		return err
	}
	defer files.Close()

	list, err := files.Tools(ctx)
	if err != nil {
		return err
	}
	set, err := tools.NewSet(append(list, own...)...)
	// docs:end
	use(set)
	return err
}

func serveTools(verify func(func(http.ResponseWriter, *http.Request, UserID)) http.Handler) error {
	// docs:begin serve-mcp
	server, err := mcptools.NewServer(set, mcptools.ServerOptions{Name: "notes"})
	if err != nil {
		return err
	}
	http.Handle("/mcp", verify(func(w http.ResponseWriter, r *http.Request, user UserID) {
		server.ServeHTTP(w, r.WithContext(tools.WithBound(r.Context(), user)))
	}))
	// or to one client, until it disconnects:
	err = server.Serve(ctx, os.Stdin, os.Stdout)
	// docs:end
	return err
}

func fromLangChain(duckduckgo, calculator langchaintools.Tool) error {
	// docs:begin langchain
	set, err := tools.NewSet(langchaintools.From(duckduckgo), langchaintools.From(calculator))
	if err != nil {
		return err
	}
	old, err := langchaintools.To(weather(), tools.Options{})
	// docs:end
	use(set, old)
	return err
}
