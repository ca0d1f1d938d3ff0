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
//   - A conversation is kept in a graph with state.Keyed("messages", llm.ByID).
//
// The package compiles nothing but the standard library. Package llmtest holds
// models for tests.
package llm
