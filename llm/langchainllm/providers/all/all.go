// Package all imports every package of providers, so that package providers can open each
// model that it knows:
//
//	import _ "github.com/weft-go/weft/llm/langchainllm/providers/all"
//
// A program that uses few providers builds faster if it imports only their packages.
package all

import (
	_ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic" // opens anthropic
	_ "github.com/weft-go/weft/llm/langchainllm/providers/googleai"  // opens googleai
	_ "github.com/weft-go/weft/llm/langchainllm/providers/openai"    // opens openai, mistral, ollama and compatible
)
