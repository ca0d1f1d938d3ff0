package main

// gemini returns getenv, with Gemini as the provider if LLM_API_KEY is set and no other variable names a provider.
func gemini(getenv func(string) string) func(string) string {
	for _, name := range []string{"LLM_PROVIDER", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"} {
		if getenv(name) != "" {
			return getenv
		}
	}
	return func(name string) string {
		if name == "LLM_PROVIDER" && getenv("LLM_API_KEY") != "" {
			return "googleai"
		}
		return getenv(name)
	}
}

// greeting returns the greeting of the chat page. With rules, the greeting says that no language model answers.
func greeting(rules bool) string {
	text := "Attach a CSV file, then ask about it. Every figure is computed from the file."
	if rules {
		text += " Rules answer here, without a language model: set GOOGLE_API_KEY to use one."
	}
	return text
}
