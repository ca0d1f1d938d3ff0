package langchainllm

import (
	"path"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A Provider is the kind of a model of langchaingo. It decides how requests are translated.
type Provider string

// The known providers. Any other is treated as Generic. OpenAI, Compatible, MistralAPI, Anthropic
// and GoogleAI need a [Transport] in their HTTP client.
const (
	OpenAI     Provider = "openai"     // llms/openai with OpenAI's own API, or Azure's
	Compatible Provider = "compatible" // llms/openai with the /v1 of another server: Ollama, llama.cpp, vLLM
	Mistral    Provider = "mistral"    // llms/mistral; llms/openai with MistralAPI can do more
	MistralAPI Provider = "mistralapi" // llms/openai with Mistral's own /v1
	Anthropic  Provider = "anthropic"  // llms/anthropic
	GoogleAI   Provider = "googleai"   // llms/googleai
	Vertex     Provider = "vertex"     // llms/googleai/vertex
	Ollama     Provider = "ollama"     // llms/ollama; llms/openai with Compatible can do more
	Bedrock    Provider = "bedrock"    // llms/bedrock
	Generic    Provider = "generic"    // any other, such as your own: text and tools; see Options.StreamTools
)

// Detect returns the provider of a model by the package of its type, without
// importing it. For a package of langchaingo that can only send text and has no constant here,
// such as llms/cohere, it returns the name of the package. A wrapped model is Generic.
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

// A profile describes the features and faults of a provider of langchaingo.
type profile struct {
	// dialect is the form of the provider's API, if a Transport has to translate requests
	// and replies. If it is set, the fields up to limitFails are not used.
	dialect wire.Dialect

	// groupResults: adjacent tool results must be in one message. Otherwise each must be a
	// message of its own.
	groupResults bool
	// images: images can be sent, as bytes.
	images bool
	// files: other files can be sent, as bytes.
	files bool
	// callsDeclared: a conversation with tool calls has to declare the tools.
	callsDeclared bool
	// streamTools: the library returns the tool calls of a stream.
	streamTools bool
	// noStream: the library passes the events of a stream as its text, or ends the program if it cannot read one.
	noStream bool
	// firstOnly: the library sends only the first message of a conversation.
	firstOnly bool
	// omitsZero: the library does not send a temperature of zero.
	omitsZero bool
	// deaf: the library does not return when the context of a call ends.
	deaf bool
	// ids is the form that the ids of tool calls must have.
	ids wire.IDForm
	// userLast: the conversation has to end with the user or a tool.
	userLast bool
	// saysStop: the library returns the stop reason of a reply.
	saysStop bool
	// wrongUsage: the library returns the usage of the first chunk as the usage of a stream.
	wrongUsage bool
	// limitFails: without streaming, the library returns an error for a reply that a limit
	// or a filter cut off.
	limitFails bool

	// simpleSchema: the library takes only a simple schema, as a map.
	simpleSchema bool
	// think: the library can ask for reasoning.
	think bool
	// tools: the library sends tools, and results with the ids of their calls.
	tools bool
	// choice: the choice of a tool is sent.
	choice bool
	// json: JSON mode is sent.
	json bool
	// temperature is sent if the request has none: the library would send zero.
	temperature float64
	// topP, topK and maxTokens are sent if the request has none. Zero sends nothing.
	topP      float64
	topK      int
	maxTokens int
	// legacyMax: the server supports only the old name of the token limit.
	legacyMax bool
	// userNeeded: a request needs a message whose role is not system.
	userNeeded bool
}

var openAIProfile = profile{dialect: wire.OpenAI, tools: true, choice: true, json: true, temperature: 1}

var profiles = map[Provider]profile{
	OpenAI:     openAIProfile,
	Compatible: openAIProfile.with(func(p *profile) { p.dialect, p.legacyMax = wire.Compatible, true }),
	MistralAPI: openAIProfile.with(func(p *profile) { p.dialect, p.legacyMax, p.temperature = wire.Mistral, true, 0.7 }),
	Anthropic: {
		dialect: wire.Anthropic, tools: true, choice: true, think: true,
		temperature: 1, maxTokens: 4096, userNeeded: true,
	},
	GoogleAI: googleProfile.with(func(p *profile) { p.dialect, p.choice = wire.Gemini, true }),
	Vertex:   googleProfile,
	Ollama: {
		images: true, json: true, temperature: 0.8, topP: 0.9,
	},
	Bedrock: {
		images: true, tools: true, choice: true, callsDeclared: true,
		omitsZero: true, maxTokens: 4096, ids: wire.PlainID, userNeeded: true, saysStop: true,
		limitFails: true,
	},
	Mistral: {temperature: 0.7, maxTokens: 4096, deaf: true, saysStop: true},
	Generic: {tools: true, temperature: 1, callsDeclared: true},

	"cloudflare":  {temperature: 1, noStream: true},
	"cohere":      {temperature: 1, firstOnly: true},
	"ernie":       {temperature: 1, firstOnly: true, noStream: true},
	"huggingface": {temperature: 1, firstOnly: true},
	"llamafile":   {temperature: 1},
	"local":       {temperature: 1, firstOnly: true},
	"maritaca":    {temperature: 1},
	"watsonx":     {temperature: 1, firstOnly: true},
}

var googleProfile = profile{
	groupResults: true, images: true, files: true, tools: true, streamTools: true, json: true,
	simpleSchema: true, temperature: 1, topP: 0.95, topK: 40, maxTokens: 8192,
	userLast: true, userNeeded: true, saysStop: true, wrongUsage: true,
}

func (p profile) with(change func(*profile)) profile {
	change(&p)
	return p
}
