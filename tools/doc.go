// Package tools defines the tools of an agent: typed functions that a model may call, sets of
// tools, and the graph node that calls tools.
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
// Rules:
//
//   - The JSON schema that the model sees is inferred from the type of the arguments. A
//     field is required unless it is a pointer or has omitempty or omitzero in its json
//     tag. The jsonschema tag describes the field to the model, an enum tag lists
//     its values, and the tags minimum and maximum limit a number.
//   - Arguments are checked against the schema before a tool runs. Invalid arguments, a
//     tool that does not exist and a call that is not JSON are answered with an error,
//     so that the model can correct the call.
//   - The error, panic or timeout of a tool is an answer for the model too, unless
//     [Options].OnError decides otherwise. An error that waits for a person and the end
//     of the run's context are always returned as errors.
//   - By default five calls run at the same time, and each has 30 seconds. The answers
//     are in the order of the calls. The node waits for every goroutine, so a tool that
//     ignores its context delays the run.
//   - A call that [Approval] selects waits for a person, who approves one call with its exact
//     arguments. If the call changes, the person is asked again. [Set.Meta] replaces a large
//     set by three tools; approvals and limits then apply to the invoked tool.
//
// A Tool and a Set are immutable and safe for concurrent use. The function of a tool must
// be safe for concurrent use.
package tools
