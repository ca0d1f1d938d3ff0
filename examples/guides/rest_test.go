package guides_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/eval"
	"github.com/weft-go/weft/llm/langchainllm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/mcpserver"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/server/ui"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

var _ = []any{
	theme, frames, german, productTool, evalTarget, evalMain, askInFlow, flowAsNode, embedder, counter, order, transport, byName, telemetry,
	mcpServer, serve, replicas, route, beside, studio, nodeLogs, costs, supabase, sessions, retention, reindex,
}

func theme() ui.Chat {
	return ui.Chat{
		// docs:begin theme
		Theme: map[string]string{"accent": "light-dark(#7c3aed, #c4b5fd)", "radius": "6px"},
		// docs:end
	}
}

func frames() ui.Chat {
	return ui.Chat{
		// docs:begin frames
		Frames: []string{"https://www.example.com"},
		// docs:end
	}
}

func german() ui.Chat {
	// docs:begin german
	return ui.Chat{
		Language: "de",
		Title:    "Kontor",
		Texts: map[string]string{
			"New chat":     "Neues Gespräch",
			"Send":         "Senden",
			"Approve":      "Freigeben",
			"{count} rows": "{count} Zeilen",
		},
	}
	// docs:end
}

func productTool() tools.Tool {
	// docs:begin card
	products := tools.New("search", "Searches the catalogue.", search).
		Annotate(tools.Annotations{Title: "Search products", Result: "product"})
	// docs:end
	return products
}

type Delivery struct{ Day string }

// docs:begin form
type Prompt struct {
	Title   string          `json:"title"`
	Schema  json.RawMessage `json:"schema"`
	Default Delivery        `json:"default"` // the initial values of the form
}

var Ask = graph.NewInterrupt[Prompt, Delivery]("delivery")

// docs:end

func evalTarget(a *graph.Graph) eval.Target {
	// docs:begin eval-target
	ask := func(ctx context.Context, c eval.Case) (eval.Answer, error) {
		snap, err := a.Invoke(ctx, agent.Messages.Put(llm.User(c.Text())))
		if err != nil {
			return eval.Answer{}, err
		}
		return eval.Conversation(agent.Messages.Get(snap)), nil
	}
	// docs:end
	return ask
}

func evalMain(ask eval.Target) {
	// docs:begin eval-main
	eval.Main(eval.Suite{
		Data: "questions.jsonl", Target: ask, Scorers: []eval.Scorer{eval.Exact()}, Minimums: map[string]float64{"exact": 0.9},
	})
	// docs:end
}

var Approve = graph.NewInterrupt[string, bool]("approve")

func askInFlow(ctx context.Context, draft string) (string, error) {
	// docs:begin flow-question
	ok, err := Approve.Wait(ctx, draft)
	if err != nil {
		return "", err // without an answer, err pauses the flow
	}
	// docs:end
	use(ok)
	return draft, nil
}

func flowAsNode(b *graph.Builder, report *flow.Flow[string, string]) {
	// docs:begin flow-node
	b.SubgraphWith("report", report.Graph, graph.SubgraphOptions{
		Input:  func(s state.View) (state.Update, error) { return state.Update{report.Input(Topic.Get(s))}, nil },
		Output: func(_, s state.View) (state.Update, error) { return state.Update{Text.Put(report.Output(s))}, nil },
	})
	// docs:end
}

func embedder(db driver.Backend) error {
	// docs:begin embedder
	embedder, err := providers.EmbedderFromEnv(ctx) // llm/langchainllm/providers, and e.g. providers/openai
	if err != nil && !errors.Is(err, providers.ErrUnset) {
		return err
	}
	o := memory.Options{}
	if err == nil { // otherwise recall uses words only
		o.Embedder = embedder
	}
	m, err := memory.New(db, o) // for facts, values and documents
	// docs:end
	use(m)
	return err
}

func counter(encoding interface{ Encode(text string) []string }) llm.Pruning {
	// docs:begin counter
	counter := llm.TokenCounterFunc(func(m llm.Message) int {
		return len(encoding.Encode(m.Text())) + 4 // of a tokeniser that you link
	})
	// docs:end
	return llm.Pruning{Counter: counter}
}

func order(logger *slog.Logger) llm.Model {
	// docs:begin order
	model = llm.IdleTimeout(model, time.Minute)                         // a silent model fails
	model = llm.Limit(model, llm.Limits{Concurrent: 8, PerMinute: 500}) // delays every attempt
	model = llm.Retry(model, llm.RetryPolicy{})
	model = llm.Fallback(model, other)
	model = llm.Log(model, "main", logger) // one line for all attempts
	// docs:end
	return model
}

func transport() error {
	// docs:begin transport
	wire := &langchainllm.Transport{}
	provider, err := openai.New(openai.WithHTTPClient(wire.Client()))
	if err != nil {
		return err
	}
	model := langchainllm.New(provider, langchainllm.Options{})
	// docs:end
	use(model)
	return nil
}

func byName(key string) error {
	// docs:begin providers
	// import "github.com/weft-go/weft/llm/langchainllm/providers"
	// import _ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic"
	// import _ "github.com/weft-go/weft/llm/langchainllm/providers/openai"

	model, err := providers.Open(ctx, "anthropic:claude-sonnet-4-5", key)
	if err != nil {
		return err
	}
	other, err := providers.FromEnv(ctx)
	// docs:end
	use(model, other)
	return err
}

func telemetry(graphs map[string]*graph.Graph, store runs.Store, telemetry *otelgraph.Telemetry) error {
	// docs:begin telemetry
	s, err := server.New(server.Options{
		Graphs: graphs, Runs: store, // graphs that were compiled with telemetry.Graph
		SaveTrace: telemetry.SaveTrace, RunContext: telemetry.RunContext,
	})
	// docs:end
	use(s)
	return err
}

func mcpServer(s *server.Server) {
	// docs:begin mcp
	http.Handle("/mcp", mcpserver.New(s, mcpserver.Options{}))
	http.Handle("/", s)
	// docs:end
}

func serve(g *graph.Graph) error {
	// docs:begin serve
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"assistant": g}, // compiled with graph.Options.Checkpoints
		Runs:   memruns.New(),                           // or sqliteruns, pgruns
	})
	if err != nil {
		return err
	}
	return s.ListenAndServe(ctx, "127.0.0.1:8123", nil)
	// docs:end
}

func replicas(graphs map[string]*graph.Graph, store runs.Store, pool *pgxpool.Pool) error {
	// docs:begin replicas
	s, err := server.New(server.Options{
		Graphs: graphs, // compiled with pgcheckpoint, LeaseTime 10 s
		Runs:   store,  // pgruns
		Queue:  riverqueue.New(pool, riverqueue.Options{}),
	})
	// docs:end
	use(s)
	return err
}

type orders struct{}

func (orders) Orders(context.Context, string) ([]string, error) {
	return strings.Fields("chair table"), nil
}

func route(s *server.Server, shop orders) {
	// docs:begin route
	s.Handle("GET /api/orders", func(w http.ResponseWriter, r *http.Request) error {
		orders, err := shop.Orders(r.Context(), server.UserID(r.Context()))
		if err != nil {
			return err // a *server.Refusal has a status and a text; other errors are logged and sent as 500
		}
		return json.NewEncoder(w).Encode(orders)
	})
	// docs:end
}

func beside(s *server.Server) error {
	// docs:begin script
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("GET /app.js", func(w http.ResponseWriter, r *http.Request) { // Chat.Script is "/app.js"
		http.ServeFile(w, r, "app.js")
	})
	return s.ListenAndServe(ctx, "127.0.0.1:8123", mux)
	// docs:end
}

func studio(graphs map[string]*graph.Graph, runs runs.Store) error {
	// docs:begin studio
	s, err := server.New(server.Options{
		Graphs: graphs,
		Runs:   runs,
		Studio: &ui.Studio{Write: true}, // without Write, the page can only read
	})
	// docs:end
	use(s)
	return err
}

func nodeLogs(query string) {
	// docs:begin logs
	logger := slog.New(server.LogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	// in a node or a tool:
	logger.InfoContext(ctx, "the search begins", "query", query)
	// docs:end
}

func costs() server.Options {
	return server.Options{
		// docs:begin costs
		Cost: func(graph, node string, used llm.Usage) float64 {
			return (0.4*float64(used.Input-used.Cached) + 0.1*float64(used.Cached) + 1.6*float64(used.Output)) / 1e6
		},
		Studio: &ui.Studio{Currency: "USD"},
		// docs:end
	}
}

func supabase() error {
	// docs:begin supabase
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	// docs:end
	use(store)
	return err
}

func sessions(mine *supacheckpoint.Store, thread string) error {
	// docs:begin sessions
	err := mine.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "completed"})
	if err != nil {
		return err
	}
	for s, err := range mine.Sessions(ctx, supacheckpoint.SessionQuery{Statuses: []string{"active"}}) {
		if err != nil {
			return err
		}
		slog.Info("active", "session", s)
	}
	// docs:end
	return nil
}

func retention(store *supacheckpoint.Store) (int, error) {
	// docs:begin retention
	old := supacheckpoint.SessionQuery{AllUsers: true, Statuses: []string{"completed"}, IdleFor: 30 * 24 * time.Hour}
	n, err := store.CleanUp(ctx, old)
	// docs:end
	return n, err
}

func reindex(facts *memory.Memory) error {
	// docs:begin reindex
	for scope, err := range facts.Scopes(ctx) { // *memory.Memory, with the service role
		if err != nil {
			return err
		}
		if _, err := facts.Reindex(ctx, memory.FactQuery{Reach: scope.Only()}); err != nil {
			return err
		}
	}
	// docs:end
	return nil
}
