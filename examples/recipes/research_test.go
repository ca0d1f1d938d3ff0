package recipes_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// SQL agent: the model reads the schema and asks the database. The connection can only read, the
// result of a wrong query is the database's error, and the number of queries is limited.
func Example_sqlAgent() {
	ctx := context.Background()
	db := must(sql.Open("sqlite", "file:shop?mode=memory&cache=shared"))
	defer db.Close()
	db.SetMaxOpenConns(1) // query_only holds for one connection
	must(db.ExecContext(ctx, `CREATE TABLE orders (id INTEGER, country TEXT, euros INTEGER);
		INSERT INTO orders VALUES (1, 'DE', 40), (2, 'FR', 25), (3, 'DE', 10); PRAGMA query_only = 1`))
	schema := tools.New("schema", "Returns the tables and their columns.", func(ctx context.Context, _ struct{}) (text string, err error) {
		err = db.QueryRowContext(ctx, `SELECT group_concat(sql, ';') FROM sqlite_schema`).Scan(&text)
		return text, err
	})
	query := tools.New("query", "Runs one query and returns its first 100 rows.", func(ctx context.Context, in struct {
		SQL string `json:"sql"`
	},
	) ([][]any, error) {
		rows, err := db.QueryContext(ctx, in.SQL)
		if err != nil {
			return nil, err
		}
		return firstRows(rows, 100)
	})
	model := llmtest.NewScript(
		llmtest.Call("schema", `{}`),
		llmtest.Call("query", `{"sql":"SELECT land, sum(euros) FROM orders GROUP BY 1"}`),
		llmtest.Call("query", `{"sql":"SELECT country, sum(euros) FROM orders GROUP BY 1"}`),
		llmtest.Call("query", `{"sql":"DELETE FROM orders"}`),
		llmtest.Say("Germany: 50 euros, France: 25."),
	)
	bot := must(agent.New("analyst", model, must(tools.NewSet(schema, query)), agent.Options{
		System: "Answer with SQL. Read the schema first.",
		Use:    []agent.Middleware{middleware.ToolLimit(middleware.Limit{Tool: "query", Run: 5})},
	}))
	snap := must(bot.Invoke(ctx, agent.Messages.Put(llm.User("What did each country spend?"))))
	for _, m := range agent.Messages.Get(snap)[4:] {
		if m.Role == llm.RoleTool {
			fmt.Println(m.Status, strings.SplitN(m.Text(), ":", 2)[0])
		}
	}
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output:
	// error SQL logic error
	// success [["DE",50],["FR",25]]
	// error attempt to write a readonly database (8)
	// assistant: Germany: 50 euros, France: 25.
}

// firstRows returns the first rows of a result.
func firstRows(rows *sql.Rows, limit int) (out [][]any, err error) {
	defer rows.Close()
	columns, err := rows.Columns()
	for err == nil && len(out) < limit && rows.Next() {
		row := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range row {
			targets[i] = &row[i]
		}
		err = rows.Scan(targets...)
		out = append(out, row)
	}
	return out, errors.Join(err, rows.Err())
}

// Deep research: the lead plans with a to-do list, gives questions to researchers that work at the
// same time, each with its own conversation, and writes the report.
func Example_deepResearch() {
	sources := map[string]string{"warp": "The warp is under tension.", "weft": "The weft goes over and under."}
	search := tools.New("search", "Searches the web.", func(_ context.Context, in struct {
		Query string `json:"query"`
	},
	) (string, error) {
		return sources[in.Query], nil
	})
	// The researcher's model searches for its task, and reports the result.
	researching := llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == llm.RoleTool {
			return llm.Reply(llm.Assistant("Found: " + last.Text()))
		}
		arguments, _ := json.Marshal(map[string]string{"query": last.Text()})
		return llm.Reply(llm.Assistant("", llm.ToolCall{ID: "search", Name: "search", Arguments: arguments}))
	})
	researcher := must(agent.New("researcher", researching, must(tools.NewSet(search)), agent.Options{System: "Answer one question with sources."}))
	lead := llmtest.NewScript(
		llmtest.Call("write_todos", `{"todos":[{"content":"ask about warp and weft","status":"in_progress"},{"content":"write","status":"pending"}]}`),
		llmtest.Calls(
			llm.ToolCall{ID: "1", Name: "researcher", Arguments: []byte(`{"task":"warp"}`)}, llm.ToolCall{ID: "2", Name: "researcher", Arguments: []byte(`{"task":"weft"}`)}),
		llmtest.Say("The warp is held tight, and the weft goes over and under it."),
	)
	bot := must(agent.New("lead", lead, nil, agent.Options{MaxTurns: 30, Use: []agent.Middleware{
		middleware.Budget(middleware.Spending{Tokens: 1_000_000}),
		middleware.TodoList(),
		agent.AsTool(agent.SubAgent{Agent: researcher, Description: "It answers one question."}),
	}, Graph: graph.Options{MaxParallel: 8}}))
	snap := must(bot.Invoke(context.Background(), agent.Messages.Put(llm.User("Explain cloth."))))
	for _, m := range agent.Messages.Get(snap)[4:] {
		fmt.Println(m)
	}
	// Output:
	// tool: Found: The warp is under tension.
	// tool: Found: The weft goes over and under.
	// assistant: The warp is held tight, and the weft goes over and under it.
}
