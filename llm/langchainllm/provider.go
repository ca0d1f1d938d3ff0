package langchainllm

import (
	"path"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// A Provider says how a model of langchaingo has to be treated.
type Provider string

// The providers that are known. Any other is treated as Generic.
const (
	OpenAI     Provider = "openai"     // llms/openai with OpenAI's own API, or Azure's
	Compatible Provider = "compatible" // llms/openai with the /v1 of another server: Ollama, llama.cpp, vLLM
	Mistral    Provider = "mistral"    // llms/mistral; better is llms/openai with MistralAPI
	MistralAPI Provider = "mistralapi" // llms/openai with Mistral's own /v1
	Anthropic  Provider = "anthropic"  // llms/anthropic
	GoogleAI   Provider = "googleai"   // llms/googleai
	Vertex     Provider = "vertex"     // llms/googleai/vertex
	Ollama     Provider = "ollama"     // llms/ollama; better is llms/openai with Compatible
	Bedrock    Provider = "bedrock"    // llms/bedrock
	Generic    Provider = "generic"    // what is not known: only what all can do
)

// Detect returns the provider of a model by the package of its type, without
// importing it. A wrapped model is Generic.
func Detect(m llms.Model) Provider {
	t := reflect.TypeOf(m)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || !strings.HasPrefix(t.PkgPath(), "github.com/tmc/langchaingo/llms/") {
		return Generic
	}
	name := Provider(path.Base(t.PkgPath()))
	if _, ok := profiles[name]; ok {
		return name
	}
	return Generic
}

// imageForm is how a provider of langchaingo takes an image.
type imageForm int

const (
	noImages imageForm = iota
	imageURLs
	imageBytes
)

// A profile is what a provider of langchaingo does to a request and a reply.
type profile struct {
	// splitAI: only the first part of an assistant's message is sent.
	splitAI bool
	// groupResults: the results of a turn have to be one message; else each has
	// to be one of its own.
	groupResults bool
	images       imageForm
	// files: other files than images can be sent as bytes.
	files bool
	// tools: tools are sent, and their results with the ids of the calls.
	tools bool
	// choice: the choice of a tool is sent.
	choice bool
	// callsDeclared: a conversation with tool calls needs the tools declared.
	callsDeclared bool
	// streamTools: tool calls survive streaming.
	streamTools bool
	// json: JSON mode is sent.
	json bool
	// simpleSchema: only a simple schema is taken, as a map.
	simpleSchema bool
	// temperature is sent when none is asked for, as zero would be sent else.
	temperature float64
	// topP, topK and maxTokens likewise; zero sends nothing.
	topP      float64
	topK      int
	maxTokens int
	// omitsZero: a temperature of zero is not sent.
	omitsZero bool
	// legacyMax: the old name of the most tokens is the one that is known.
	legacyMax bool
	// deaf: a call does not heed its context.
	deaf bool
	// ids is the form that the ids of tool calls have to have.
	ids idForm
	// userLast: the conversation has to end with the user or a tool.
	userLast bool
	// userNeeded: instructions alone are no request.
	userNeeded bool
	// think: the library can be asked to reason.
	think bool
	// dialect: a Transport knows what the library speaks.
	dialect bool
	// mistral: it is Mistral's form of OpenAI's.
	mistral bool
	// saysStop: the library tells why a reply ended.
	saysStop bool
	// wrongUsage: while streaming, the usage is that of the first piece.
	wrongUsage bool
	// emptyFails: the library takes an empty answer for an error.
	emptyFails bool
	// limitFails: while not streaming, the library takes a reply that a limit or
	// a filter cut off for an error.
	limitFails bool
	// callsInText: pieces of tool calls are streamed as text.
	callsInText bool
}

// mended is the profile of a provider whose requests and replies pass a
// Transport.
func (p profile) mended() profile {
	p.choice, p.streamTools = true, true
	return p
}

var openAIProfile = profile{
	images: imageURLs, tools: true, choice: true, streamTools: true, json: true,
	temperature: 1, dialect: true, saysStop: true, callsInText: true,
}

var profiles = map[Provider]profile{
	OpenAI:     openAIProfile,
	Compatible: openAIProfile.with(func(p *profile) { p.legacyMax = true }),
	MistralAPI: openAIProfile.with(func(p *profile) { p.legacyMax, p.mistral, p.temperature, p.ids = true, true, 0.7, idsOfNine }),
	Anthropic: {
		splitAI: true, images: imageBytes, tools: true, callsDeclared: true, streamTools: true,
		temperature: 1, maxTokens: 4096, ids: idsPlain, userNeeded: true, think: true,
		dialect: true, saysStop: true, emptyFails: true,
	},
	GoogleAI: googleProfile.with(func(p *profile) { p.dialect = true }),
	Vertex:   googleProfile,
	Ollama: {
		images: imageBytes, json: true, temperature: 0.8, topP: 0.9,
	},
	Bedrock: {
		images: imageBytes, tools: true, choice: true, callsDeclared: true,
		omitsZero: true, maxTokens: 4096, ids: idsPlain, userNeeded: true, saysStop: true,
		limitFails: true,
	},
	Mistral: {temperature: 0.7, maxTokens: 4096, deaf: true, saysStop: true},
	Generic: {tools: true, temperature: 1, callsDeclared: true, callsInText: true},
}

var googleProfile = profile{
	groupResults: true, images: imageBytes, files: true, tools: true, streamTools: true, json: true,
	simpleSchema: true, temperature: 1, topP: 0.95, topK: 40, maxTokens: 8192,
	userLast: true, userNeeded: true, saysStop: true, wrongUsage: true,
}

func (p profile) with(change func(*profile)) profile {
	change(&p)
	return p
}
