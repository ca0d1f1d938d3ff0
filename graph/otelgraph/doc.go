// Package otelgraph traces and measures graphs with OpenTelemetry.
//
//	telemetry := otelgraph.New(otelgraph.Options{})
//	g, err := b.Compile(telemetry.Graph(graph.Options{Checkpoints: store}))
//
// That is all that a graph needs: the spans of its runs have the spans of their supersteps, tasks,
// model calls and tool calls, also in subgraphs, agents and flows.
//
//	invoke_workflow support                a run
//	└ superstep
//	  └ task research                      a node; this one runs a subgraph
//	    └ invoke_workflow researcher       a call of the subgraph
//	      └ superstep
//	        └ task agent
//	          └ chat gpt-5                 a request to a model
//	      └ superstep
//	        └ task tools
//	          └ execute_tool search        a call of a tool
//
// Rules:
//
//   - Spans and metrics of models and tools follow the semantic conventions for GenAI, version
//     1.41. Other names begin with "weft.". The page docs/observability.md lists them.
//   - Texts of messages, and arguments and results of tools, are recorded only with
//     [Options.Content].
//   - A run that answers a question has a link to the run that asked it, and its task has a link to
//     the task that asked. The links work in any process: the context of the span is stored with the
//     question, by [graph.Once]. It is stored only if the span was sampled.
//   - A model is traced if a node asks it by [llm.Stream] or a function that uses it, such as
//     [llm.Generate], and a tool if package tools runs it. Call these functions with the context of
//     the node. Each model that an [llm.Fallback] asks has a span.
//   - Without a provider of OpenTelemetry nothing is recorded. Exporters belong to the program.
//
// A [Telemetry] is safe for concurrent use by any number of graphs.
//
// The files of this package, lowest layer first:
//
//   - metrics.go: the instruments.
//   - failure.go: the kinds of errors, and the ends of spans.
//   - message.go: messages as attributes.
//   - model.go, tool.go: spans of model calls and tool calls.
//   - pause.go: links from a resumed run to its pause.
//   - run.go: spans of runs, supersteps and tasks.
//   - telemetry.go: options, and the hooks of a graph.
//   - request.go: traces across the queue of a server.
//   - log.go: trace ids in logs.
package otelgraph
