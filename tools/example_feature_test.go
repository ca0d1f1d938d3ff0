package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// must returns value, and panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Raw makes a tool from a JSON schema, for example of a server or a file.
func ExampleRaw() {
	echo := tools.Raw(llm.ToolSpec{
		Name: "echo", Description: "Says it again.",
		Schema: json.RawMessage(`{"properties":{"text":{"type":["string","null"],"maxLength":5}},"required":["text"]}`),
	}, func(_ context.Context, arguments json.RawMessage) (tools.Result, error) {
		return tools.Result{Text: string(arguments)}, nil
	})
	set := must(tools.NewSet(echo))
	fmt.Println(string(set.Specs()[0].Schema))
	for _, arguments := range []string{`{ "text": "hello" }`, `{"text":"hello, world"}`} {
		call := llm.ToolCall{ID: "call_1", Name: "echo", Arguments: json.RawMessage(arguments)}
		fmt.Println(must(set.Call(context.Background(), call, tools.Options{})).Text())
	}
	// Output:
	// {"type":"object","properties":{"text":{"type":"string","maxLength":5}},"required":["text"]}
	// {"text":"hello"}
	// invalid arguments for echo: text: want a string or null of at most 5 characters, got the string "hello, world"
}

// Arguments can have optional fields, fields with a list of allowed values, and recursive
// types.
func ExampleNew_schema() {
	type filter struct {
		Field string   `json:"field" enum:"title,author"`
		Value string   `json:"value,omitempty" jsonschema:"what the field has to contain"`
		Any   []filter `json:"any,omitempty" jsonschema:"filters of which one has to fit"`
	}
	find := tools.New("find", "Finds books.", func(_ context.Context, in filter) (int, error) { return len(in.Any), nil })
	arguments, err := find.Check(json.RawMessage(`{"field":"title","any":[{"field":"year"}]}`))
	fmt.Println(string(arguments), err)
	// Output: tools: invalid arguments for find: any[0].field: want one of "title", "author", got the string "year"; for example: {"field":"title"}
}

// A Result can have images, writes to the graph's channels, and the next node of the graph.
func ExampleResult() {
	cart := state.Append[string]("cart")
	messages := state.Keyed("messages", llm.ByID)
	type item struct {
		Name string `json:"name"`
	}
	set := must(tools.NewSet(tools.New("buy", "Puts an item into the cart.",
		func(_ context.Context, in item) (tools.Result, error) {
			return tools.Result{Text: "added " + in.Name, Update: state.Update{cart.Put(in.Name), graph.Goto("checkout")}}, nil
		})))
	b := graph.New("shop", messages, cart)
	b.Node("tools", tools.Node(set, messages, tools.Options{}))
	b.Node("checkout", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{messages.Put(llm.Assistant(fmt.Sprint("you bought ", cart.Get(s))))}, nil
	})
	b.Edge(graph.Start, "tools")
	b.Destinations("tools", "checkout")
	g := must(b.Compile(graph.Options{}))
	call := llm.ToolCall{ID: "call_1", Name: "buy", Arguments: json.RawMessage(`{"name":"a lamp"}`)}
	snap := must(g.Invoke(context.Background(), messages.Put(llm.Assistant("", call))))
	for _, m := range messages.Get(snap)[1:] {
		fmt.Println(m)
	}
	// Output:
	// tool: added a lamp
	// assistant: you bought [a lamp]
}

// UserID is the user of a run.
type UserID string

// The program sets a Bound field. The model does not see it and cannot set it.
func ExampleBound() {
	type query struct {
		Text string `json:"text"`
		User tools.Bound[UserID]
	}
	set := must(tools.NewSet(tools.New("search_orders", "Searches the user's orders.",
		func(_ context.Context, in query) (string, error) {
			return fmt.Sprintf("orders of %s with %q", in.User.Value(), in.Text), nil
		})))
	ctx := tools.WithBound(context.Background(), UserID("ann"))
	for _, arguments := range []string{`{"text":"lamp"}`, `{"text":"lamp","User":"bob"}`} {
		call := llm.ToolCall{ID: "call_1", Name: "search_orders", Arguments: json.RawMessage(arguments)}
		fmt.Println(must(set.Call(ctx, call, tools.Options{})).Text())
	}
	_, err := set.Call(context.Background(), llm.ToolCall{ID: "call_2", Name: "search_orders", Arguments: json.RawMessage(`{"text":"lamp"}`)}, tools.Options{})
	fmt.Println(err)
	// Output:
	// orders of ann with "lamp"
	// invalid arguments for search_orders: User: it is set by the program; leave it out
	// tools: search_orders (call call_2): the run has no such value: tools_test.UserID; set it with tools.WithBound in the context of the run, or compute it with tools.Bind
}

// A binding finds a value in the context, in the state, or in the id of the thread.
func ExampleBind() {
	who := state.Last[string]("who")
	messages := state.Keyed("messages", llm.ByID)
	type nothing struct{ User tools.Bound[UserID] }
	set := must(tools.NewSet(tools.New("whoami", "Says who the user is.", func(_ context.Context, in nothing) (string, error) {
		return "you are " + string(in.User.Value()), nil
	})))
	node := tools.Node(set, messages, tools.Options{Bind: tools.Bindings{
		tools.Bind(func(_ context.Context, s state.View) (UserID, error) { return UserID(who.Get(s)), nil }),
	}})
	b := graph.New("hello", messages, who)
	b.Node("tools", node)
	b.Edge(graph.Start, "tools")
	g := must(b.Compile(graph.Options{}))
	snap := must(g.Invoke(context.Background(), who.Put("ann"), messages.Put(llm.Assistant("", llm.ToolCall{ID: "call_1", Name: "whoami"}))))
	last, _ := messages.Last(snap)
	fmt.Println(last.Text())
	// Output: you are ann
}

// Fix sets an argument of a server's tool, such as the user, from the run.
func ExampleFix() {
	remote := tools.Raw(llm.ToolSpec{
		Name: "lookup", Description: "Looks records up.",
		Schema: json.RawMessage(`{"properties":{"user_id":{"type":"string"},"text":{"type":"string"}},"required":["user_id"]}`),
	}, func(_ context.Context, arguments json.RawMessage) (tools.Result, error) {
		return tools.Result{Text: "the server gets " + string(arguments)}, nil
	})
	set := must(tools.NewSet(tools.Fix[UserID](remote, "user_id")))
	fmt.Println(string(set.Specs()[0].Schema))
	ctx := tools.WithBound(context.Background(), UserID("ann"))
	fmt.Println(must(set.Call(ctx, llm.ToolCall{ID: "call_1", Name: "lookup"}, tools.Options{})).Text())
	// Output:
	// {"type":"object","properties":{"text":{"type":"string"}}}
	// the server gets {"user_id":"ann"}
}

// ApproveTool asks a person to approve a call.
var ApproveTool = graph.NewInterrupt[tools.Question, tools.Decision]("approve_tool_example")

// A destructive call waits for a person, who approves it with its exact arguments.
func ExampleApproval() {
	type event struct {
		Title string `json:"title"`
	}
	set := must(tools.NewSet(tools.New("delete_event", "Deletes an event.", func(_ context.Context, in event) (string, error) {
		return "deleted " + in.Title, nil
	}).Annotate(tools.Annotations{Destructive: true})))
	model := llmtest.NewScript(llmtest.Call("delete_event", `{"title":"Lunch with John"}`), llmtest.Say("It is gone."))
	a := must(agent.New("helper", model, set, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
		Tools: tools.Options{
			Once: graph.Once[llm.Message],
			Approval: tools.Approval{
				Rule: tools.Destructive().Or(tools.Named("delete_*")),
				Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
					return ApproveTool.WaitKey(ctx, key, q)
				},
			},
		},
	}))
	thread := a.Thread("t")
	snap := must(thread.Invoke(context.Background(), agent.Messages.Put(llm.User("Delete my lunch with John."))))
	for _, open := range must(ApproveTool.Open(snap)) {
		fmt.Printf("run %s with %s?\n", open.Prompt.Tool, open.Prompt.Arguments)
		edited := open.Prompt.Edit(json.RawMessage(`{"title":"Lunch with John, Monday"}`))
		snap = must(thread.Invoke(context.Background(), ApproveTool.Answer(open.ID, edited)))
	}
	for _, m := range agent.Messages.Get(snap)[2:] {
		fmt.Println(m)
	}
	// Output:
	// run delete_event with {"title":"Lunch with John"}?
	// tool: The arguments were changed by a person; the tool ran with {"title":"Lunch with John, Monday"}
	//
	// deleted Lunch with John, Monday
	// assistant: It is gone.
}

// Three tools replace a large set in the prompt.
func ExampleSet_Meta() {
	type event struct {
		ID string `json:"id"`
	}
	fn := func(_ context.Context, in event) (string, error) { return "deleted " + in.ID, nil }
	calendar := must(tools.NewSet(
		tools.New("delete_calendar_event", "Deletes an event. It does not come back.", fn).
			Annotate(tools.Annotations{Category: "calendar", Action: "delete", Destructive: true}),
		tools.New("delete_task", "Deletes a task.", fn).Annotate(tools.Annotations{Category: "tasks", Action: "delete"}),
	))
	meta := calendar.Meta()
	fmt.Println(meta.Names())
	for _, call := range []llm.ToolCall{
		{ID: "call_1", Name: "discover_tools", Arguments: json.RawMessage(`{"categories":["calendar"],"actions":["delete"]}`)},
		{ID: "call_2", Name: "invoke_tool", Arguments: json.RawMessage(`{"tool_name":"delete_task","params":{"id":"t7"}}`)},
	} {
		fmt.Println(must(meta.Call(context.Background(), call, tools.Options{})).Text())
	}
	// Output:
	// [discover_tools get_tool_schema invoke_tool]
	// delete_calendar_event (calendar, delete, destructive): Deletes an event.
	// deleted t7
}

// A log of the calls of a model names the tools behind invoke_tool.
func ExampleInvoked() {
	fmt.Println(tools.Invoked(llm.ToolCall{Name: "refund"}))
	fmt.Println(tools.Invoked(llm.ToolCall{Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"refund","params":{}}`)}))
	// Output:
	// refund
	// refund
}

// With Planning, a model's destructive calls are recorded, and its other calls run.
func ExamplePlanning() {
	actions := state.Append[tools.Action]("actions")
	messages := state.Keyed("messages", llm.ByID)
	type event struct {
		ID string `json:"id"`
	}
	set := must(tools.NewSet(
		tools.New("search", "Searches.", func(context.Context, struct{}) (string, error) { return "e7: Lunch with John", nil }),
		tools.New("delete", "Deletes.", func(context.Context, event) (string, error) { return "deleted", nil }).
			Annotate(tools.Annotations{Destructive: true}),
	))
	b := graph.New("plan", messages, actions)
	b.Node("tools", tools.Node(set, messages, tools.Options{Planning: &tools.Planning{Actions: actions}}))
	b.Edge(graph.Start, "tools")
	g := must(b.Compile(graph.Options{}))
	snap := must(g.Invoke(context.Background(), messages.Put(llm.Assistant("",
		llm.ToolCall{ID: "call_1", Name: "search"}, llm.ToolCall{ID: "call_2", Name: "delete", Arguments: json.RawMessage(`{"id":"e7"}`)}))))
	for _, m := range messages.Get(snap)[1:] {
		fmt.Println(m)
	}
	fmt.Println(string(must(json.Marshal(actions.Get(snap)))))
	// Output:
	// tool: e7: Lunch with John
	// tool: delete was not run. It is noted as action "call_2" of the plan, and will run when the plan is approved.
	// [{"id":"call_2","tool":"delete","args":{"id":"e7"}}]
}

// A tool reports its progress to the readers of the run's events.
func ExampleReport() {
	messages := state.Keyed("messages", llm.ByID)
	set := must(tools.NewSet(tools.New("import", "Imports rows.", func(ctx context.Context, _ struct{}) (string, error) {
		for row := range 2 {
			tools.Report(ctx, tools.Progress{Done: float64(row + 1), Total: 2})
		}
		return "2 rows", nil
	})))
	b := graph.New("import", messages)
	b.Node("tools", tools.Node(set, messages, tools.Options{Emit: graph.Emit}))
	b.Edge(graph.Start, "tools")
	g := must(b.Compile(graph.Options{}))
	for ev, err := range g.Stream(context.Background(), messages.Put(llm.Assistant("", llm.ToolCall{ID: "call_1", Name: "import"}))) {
		if err != nil {
			panic(err)
		}
		emitted, ok := ev.(graph.Emitted)
		if !ok {
			continue
		}
		switch e := emitted.Value.(type) {
		case tools.CallStarted:
			fmt.Println("started", e.Call.Name)
		case tools.Progress:
			fmt.Println(e.CallID, e.Done, "of", e.Total)
		case tools.CallFinished:
			fmt.Println(e.Answer.Text())
		}
	}
	// Output:
	// started import
	// call_1 1 of 2
	// call_1 2 of 2
	// 2 rows
}

// Select returns a part of a set, and Merge joins sets.
func ExampleSet_Select() {
	fn := func(context.Context, struct{}) (string, error) { return "", nil }
	all := must(tools.NewSet(
		tools.New("search_mail", "Searches mail.", fn).Annotate(tools.Annotations{Category: "mail", Action: "search"}),
		tools.New("send_mail", "Sends mail.", fn).Annotate(tools.Annotations{Category: "mail", Action: "send"}),
		tools.New("search_tasks", "Searches tasks.", fn).Annotate(tools.Annotations{Category: "tasks", Action: "search"}),
	))
	mail := all.Select(tools.Query{Categories: []string{"mail"}})
	fmt.Println(mail.Names(), all.Select(tools.Query{Names: []string{"search_*"}}).Names())
	// The model sees the mail tools, and can invoke all others with the meta-tools.
	fmt.Println(must(mail.Merge(all.Meta())).Names())
	// Output:
	// [search_mail send_mail] [search_mail search_tasks]
	// [search_mail send_mail discover_tools get_tool_schema invoke_tool]
}

// Repair completes a conversation in which a call has no answer, so that every provider
// accepts it.
func ExampleRepair() {
	search := llm.ToolCall{ID: "call_1", Name: "search"}
	for _, m := range tools.Repair([]llm.Message{
		llm.User("What is new?"),
		llm.Assistant("", search),
		llm.User("Never mind. What time is it?"),
	}) {
		fmt.Println(m)
	}
	// Output:
	// user: What is new?
	// assistant: search({})
	// tool: The tool was not called: the conversation went on without it.
	// user: Never mind. What time is it?
}

// Visible shows the characters that hide the end of a text.
func ExampleVisible() {
	fmt.Println(tools.Visible("Lunch \u202egnp.exe\u202c"))
	// Output: Lunch \u202egnp.exe\u202c
}

// Text returns a question as text for a person, with one line for each part and visible escapes of hidden characters.
func ExampleQuestion_Text() {
	q := tools.Question{
		Tool: "pay", Description: "Pays an invoice.", Arguments: json.RawMessage("{\"to\":\"ann\u200b\"}"),
		Bound: []tools.BoundValue{{Name: "account", Text: "ends in 42", Secret: true}},
	}
	fmt.Println(q.Text())
	// Output:
	// pay: Pays an invoice.
	// arguments: {"to":"ann\u200b"}
	// for account (secret): ends in 42
}

// MaxText limits the text of a result, and Printable removes invisible characters.
func ExamplePrintable() {
	set := must(tools.NewSet(tools.New("fetch", "Fetches a page.", func(context.Context, struct{}) (string, error) {
		return "weather: sun\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065, 25 degrees", nil
	})))
	o := tools.Options{MaxText: 16, Clean: func(_ llm.ToolCall, text string) string { return tools.Printable(text) }}
	fmt.Println(must(set.Call(context.Background(), llm.ToolCall{ID: "call_1", Name: "fetch"}, o)).Text())
	// Output:
	// weather: sun, 25
	// [cut off: these are the first 16 of 24 bytes; ask for less]
}

type apiKey string

// Redacted returns the text for questions. The method also marks the key as secret.
func (k apiKey) Redacted() string { return "ends in " + string(k[len(k)-2:]) }

// A question shows the bound values of a call. A decision is valid for these values only.
func ExampleSet_Question() {
	type deletion struct {
		ID  string              `json:"id"`
		Key tools.Bound[apiKey] `json:"key"`
	}
	set, err := tools.NewSet(tools.New("delete", "Deletes a file.", func(context.Context, deletion) (string, error) { return "deleted", nil }))
	if err != nil {
		panic(err)
	}
	call := llm.ToolCall{ID: "1", Name: "delete", Arguments: json.RawMessage(`{"id":"7"}`)}
	mine, err := set.Question(tools.WithBound(context.Background(), apiKey("k-42")), call)
	if err != nil {
		panic(err)
	}
	other, err := set.Question(tools.WithBound(context.Background(), apiKey("j-42")), call)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %s for %+v\n", mine.Tool, mine.Arguments, mine.Bound)
	fmt.Println("one approval for both:", mine.Hash == other.Hash)
	// Output:
	// delete {"id":"7"} for [{Name:key Text:ends in 42 Secret:true}]
	// one approval for both: false
}

// Check reports a misspelt name in a rule when the program starts.
func ExampleOptions_Check() {
	set, err := tools.NewSet(tools.New("delete_event", "Deletes an event.", func(context.Context, struct{}) (string, error) { return "deleted", nil }))
	if err != nil {
		panic(err)
	}
	o := tools.Options{Approval: tools.Approval{Rule: tools.Named("delete_evnt")}}
	fmt.Println(o.Check(set))
	// Output: tools: Named("delete_evnt"): the pattern matches no tool; did you mean "delete_event"?
}

// A tool has a schema of its result type, which servers publish.
func ExampleTool_OutputSchema() {
	type forecast struct {
		High float64 `json:"high"`
	}
	weather := tools.New("weather", "Looks the forecast up.", func(context.Context, struct{}) (forecast, error) { return forecast{21}, nil })
	fmt.Println(string(weather.OutputSchema()))
	// Output: {"type":"object","properties":{"high":{"type":"number"}},"required":["high"],"additionalProperties":false}
}

// A rule can select calls by their arguments.
func ExampleRuleFunc() {
	large := tools.RuleFunc(func(_ tools.Tool, call llm.ToolCall) bool {
		var in struct{ Amount int }
		return json.Unmarshal(call.Arguments, &in) != nil || in.Amount > 100
	})
	pay := tools.New("pay", "Pays.", func(context.Context, struct{ Amount int }) (string, error) { return "paid", nil })
	rule := tools.Named("pay").And(large)
	fmt.Println(rule.Selects(pay, llm.ToolCall{Name: "pay", Arguments: json.RawMessage(`{"Amount":10}`)}))
	fmt.Println(rule.Selects(pay, llm.ToolCall{Name: "pay", Arguments: json.RawMessage(`{"Amount":1000}`)}))
	// Output:
	// false
	// true
}

// The tool is tried up to three times.
func ExampleWithRetry() {
	tries := 0
	set := must(tools.NewSet(tools.New("weather", "Weather.", func(context.Context, struct{}) (string, error) {
		if tries++; tries < 3 {
			return "", errors.New("no connection")
		}
		return "sunny", nil
	})))
	ctx := tools.WithRetry(context.Background(), tools.RetryPolicy{Initial: time.Millisecond})
	fmt.Println(set.Call(ctx, llm.ToolCall{ID: "1", Name: "weather"}, tools.Options{}))
	// Output: tool: sunny <nil>
}
