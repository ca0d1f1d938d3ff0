// Package langchainllm makes any model of langchaingo an [llm.Model].
//
//	wire := &langchainllm.Transport{}
//	provider, err := anthropic.New(anthropic.WithHTTPClient(wire.Client()))
//	if err != nil {
//		return err
//	}
//	model := langchainllm.New(provider, langchainllm.Options{})
//	reply, err := llm.Generate(ctx, model, request)
//
// Package providers opens a model by its name, or as environment variables select it.
//
// Rules:
//
//   - With llms/openai, llms/anthropic and llms/googleai, the library only opens the
//     connection and sends the settings. A [Transport] in the HTTP client writes the
//     conversation and reads the reply. Without one, every call fails with an error that
//     says what to do.
//   - With any other provider, the Model works around faults of the library. docs/models.md
//     lists the features of each provider. If a provider does not support a request, the
//     error names the provider, the message and the part.
//   - The error of a provider is an [llm.Error], which says whether a retry can help. The
//     package repeats a request in one case only: if the library, without a Transport,
//     garbled a streamed reply, the request is sent once more without streaming.
//   - The package never fetches an image or a file.
//   - The package compiles langchaingo's llms and embeddings, and no provider.
package langchainllm
