package main

// gemini reads the environment, in which a key in LLM_API_KEY alone is one for Gemini.
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

// greeting says once on the page that rules answer.
func greeting(rules bool) string {
	text := "Attach a CSV file, then ask about it. Every figure is computed from the file."
	if rules {
		text += " Rules answer here, without a language model: set GOOGLE_API_KEY to use one."
	}
	return text
}
