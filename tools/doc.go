// Package tools says what an agent can do: typed functions that a model may
// call, in a [Set], and the graph node that calls them.
//
//	type Where struct {
//		City string `json:"city" jsonschema:"the city, in English"`
//		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
//		User tools.Bound[UserID] // from the run; the model neither sees nor sets it
//	}
//
//	weather := tools.New("weather", "Looks the weather forecast up.",
//		func(ctx context.Context, in Where) (Forecast, error) { … })
//	set, err := tools.NewSet(weather, search)
//	b.Node("tools", tools.Node(set, Messages, tools.Options{Once: graph.Once[llm.Message]}))
//
// What to know:
//
//   - The JSON Schema that the model sees comes from the type of the arguments.
//     A field is required unless it is a pointer or has omitempty or omitzero in
//     its json tag. The jsonschema tag describes it to the model, an enum tag
//     lists its values.
//   - Arguments are checked against the schema before anything runs. What is
//     wrong with them, a tool that does not exist and a call that is not JSON is
//     answered to the model, which can then do better.
//   - A tool's own error, panic or timeout is answered to the model as well,
//     unless [Options].OnError says otherwise. An error that waits for a person,
//     and the end of the run's context, are always returned and never answered.
//   - Calls run at the same time, five at most and 30 seconds each by default;
//     their answers are in the order of the calls. Every goroutine is waited
//     for, so a tool that ignores its context holds up the run.
//   - What [Approval] picks waits for a person, who approves one call with its
//     arguments: anything else is asked anew. [Set.Meta] puts three tools in the
//     place of many; what guards a tool guards it behind them too.
//
// A Tool and a Set are immutable and safe for use by any number of goroutines;
// so has to be the function of a tool.
package tools
