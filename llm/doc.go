// Package llm says what a model is: the messages of a conversation, the one
// method of a [Model], and how its stream becomes a message.
//
//	reply, err := llm.Generate(ctx, model, llm.Request{Messages: []llm.Message{
//		llm.System("Answer in one word."),
//		llm.User("What is the capital of France?"),
//	}})
//	fmt.Println(reply.Text())
//
// [Stream] does the same and shows each [Chunk] as it passes.
//
// What to know:
//
//   - A [Model] only streams. [Generate] and [Stream] check the request before
//     it and the reply behind it: the text is exactly the sum of its pieces,
//     tool calls are complete, and a reply that broke off is an error.
//   - A [Message] is a value. It may be shared as long as nobody changes what
//     its slices and maps hold; [Message.Clone] gives a copy that may be changed.
//   - A message keeps its own JSON form, described at [Message], and comes back
//     from it as it was. What can not come back is refused by [Message.Validate].
//   - A conversation is kept in a graph with state.Keyed("messages", llm.ByID),
//     what it cost with state.NewChannel("usage", llm.SumUsage).
//   - [ToLangChain] and [FromLangChain] are the form in which LangChain stores
//     messages, without loss.
//   - [Prune] and [Summarise] keep a conversation within a budget of tokens; [As]
//     asks for an answer of a Go type; [Retry], [Fallback], [Limit], [Log] and
//     [Trace] are put around a Model, one inside the other.
//   - What a provider failed with is an [*Error] of a kind such as
//     [ErrRateLimit], which says whether it is worth retrying. A call that was
//     cancelled wraps ctx.Err().
//
// The package compiles the standard library and jsonschema-go. Package llmtest holds
// models for tests.
package llm
