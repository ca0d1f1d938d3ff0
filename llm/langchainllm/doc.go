// Package langchainllm makes any model of langchaingo an [llm.Model] that keeps
// its promises.
//
//	wire := &langchainllm.Transport{}
//	provider, err := anthropic.New(anthropic.WithHTTPClient(wire.Client()))
//	if err != nil {
//		return err
//	}
//	model := langchainllm.New(provider, langchainllm.Options{Transport: wire})
//	reply, err := llm.Generate(ctx, model, request)
//
// Package providers, below this one, opens a model by the environment.
//
// What to know:
//
//   - Each provider of langchaingo loses something else: tool choices, ids,
//     errors of a stream, parts of a message. [New] knows which and asks so that
//     nothing is lost, checks what comes back, and refuses with an error that
//     names the provider what can not be done. docs/models.md has the table.
//   - A [Transport] in the provider's HTTP client mends on the way what can not be
//     mended from outside: it is how Retry-After, the choice of a tool, and tool
//     calls that are streamed side by side arrive. Without one the model works,
//     with the limits that the table names.
//   - An error of a provider is an [llm.Error], which says whether asking again
//     may help. Nothing is asked again behind your back, but for one case: a
//     streamed reply that the library garbled is asked for once more, whole.
//   - No image is ever fetched. A provider that can not fetch one itself needs
//     its bytes.
//   - The package compiles langchaingo's llms and embeddings, and no provider.
package langchainllm
