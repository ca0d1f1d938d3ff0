// Package providers opens chat models and embedding models, selected by environment variables
// or by name.
//
//	import (
//		"github.com/weft-go/weft/llm/langchainllm/providers"
//		_ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic"
//		_ "github.com/weft-go/weft/llm/langchainllm/providers/openai"
//	)
//
//	model, err := providers.FromEnv(ctx)
//	if errors.Is(err, providers.ErrUnset) {
//		// The environment names no provider: continue without, or tell the user.
//	}
//	reply, err := llm.Generate(ctx, model, request)
//
// This package links no provider. Import a package for each API that the program uses, like a
// database driver: providers/openai (also for Mistral, Ollama and other servers with OpenAI's
// API), providers/anthropic, providers/googleai, or providers/all. A model whose package is not
// linked is [ErrNotLinked].
//
// The environment variables are:
//
//	LLM_PROVIDER     openai, anthropic, googleai, mistral, ollama or compatible
//	LLM_MODEL        the model; every provider has a default, except compatible
//	LLM_API_KEY      the key, if the variable of the provider is not set:
//	OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY, MISTRAL_API_KEY
//	OPENAI_BASE_URL  the address of a server with OpenAI's API: https://host/v1
//	OLLAMA_HOST      the address of Ollama, in the form that Ollama reads: host:11434
//	EMBEDDING_MODEL, EMBEDDING_PROVIDER, EMBEDDING_DIM
//	                 the model for embeddings, its provider and the length of its vectors, for
//	                 [EmbedderFromEnv]. The default provider is the provider of the chat model.
//	                 Without a length, opening the model requests one vector to measure it.
//
// If LLM_PROVIDER is not set, the variables of one provider must be set, and select this
// provider. If the variables of several providers are set, the error names them.
//
// Every model has a [langchainllm.Transport]. Errors, logs and the text of a [Config] do not
// contain the key.
package providers
