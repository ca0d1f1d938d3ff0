// Package llm defines conversations with language models: the messages, the interface
// [Model], and the conversion of a streamed reply to a message.
//
//	reply, err := llm.Generate(ctx, model, llm.Request{Messages: []llm.Message{
//		llm.System("Answer in one word."),
//		llm.User("What is the capital of France?"),
//	}})
//	fmt.Println(reply.Text())
//
// [Stream] does the same, and yields each [Chunk] as it arrives.
//
// Rules:
//
//   - A [Model] only streams. [Generate] and [Stream] check the request before it is sent,
//     and then the reply: the text of the message is the text of its chunks, tool calls are
//     complete, and a reply that breaks off is an error.
//   - A [Message] is a value. Its copies share slices and maps, so do not change the
//     elements of these; [Message.Clone] returns a copy that can be changed.
//   - The JSON form of a message is described at [Message]. Encoding and decoding do not
//     change a message. [Message.Validate] rejects a message that they would change.
//   - A graph keeps a conversation in the channel state.Keyed("messages", llm.ByID), and its
//     usage in state.NewChannel("usage", llm.SumUsage).
//   - [ToLangChain] and [FromLangChain] convert messages to the form in which LangChain
//     stores them, and back, without loss.
//   - [Prune] and [Summarise] shorten a conversation to a number of tokens. [As] asks for an
//     answer of a Go type. [Retry], [Fallback], [Limit], [Log] and [Trace] wrap a Model.
//   - The error of a provider is an [*Error] of a kind such as [ErrRateLimit]. [Retryable]
//     reports whether a retry can help. The error of a cancelled call wraps ctx.Err().
//
// The package depends on the standard library and jsonschema-go. Package llmtest has models
// for tests.
package llm
