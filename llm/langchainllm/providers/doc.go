// Package providers opens a model, and one for embeddings, by the environment.
//
//	model, err := providers.FromEnv(ctx)
//	if errors.Is(err, providers.ErrUnset) {
//		// no provider is set up; go on without, or say how to set one up
//	}
//	reply, err := llm.Generate(ctx, model, request)
//
// What is read:
//
//	LLM_PROVIDER     openai, anthropic, googleai, mistral, ollama or compatible
//	LLM_MODEL        its model; each has a default but compatible
//	LLM_API_KEY      its key, where the variable of its own is not set:
//	OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY, MISTRAL_API_KEY
//	OPENAI_BASE_URL  where OpenAI's form is spoken, by whomever: https://host/v1
//	OLLAMA_HOST      where Ollama listens, as it reads it itself: host:11434
//	EMBEDDING_MODEL, EMBEDDING_PROVIDER, EMBEDDING_DIM
//	                 who makes vectors, for [EmbedderFromEnv]: the provider above
//	                 unless another is named, and as long as the model's own
//	                 vectors unless a length is given. Without one, opening the
//	                 model asks for one vector, to know its length.
//
// What to know:
//
//   - Without LLM_PROVIDER it is the one whose variable is set. If that is so of
//     several, the error names them.
//   - Every model has a [langchainllm.Transport], so all that docs/models.md says
//     of one holds.
//   - A key is in no error, no log and no text of a [Config].
//   - Only who imports this package links the code of providers. Google's alone
//     makes a program 15 MB larger.
package providers
