package langchainllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

const (
	noTools   = "langchaingo loses its tools; open its OpenAI-compatible /v1 with llms/openai instead"
	firstOnly = "langchaingo sends only the first message of a conversation, and this one has %d with the instructions; open the provider's OpenAI-compatible /v1 with llms/openai instead"
)

// leastTemperature is sent instead of zero to a library that does not send zero.
const leastTemperature = 1e-6

// tools returns the tools to offer to the model.
func (t *translation) tools(r llm.Request) ([]llms.Tool, error) {
	if len(r.Tools) == 0 {
		return nil, nil
	}
	if !t.profile.tools {
		return nil, errors.New(noTools)
	}
	if r.ToolChoice.Mode == llm.ToolsNone && !t.choosesNone() {
		if t.profile.callsDeclared && called(r) {
			return nil, errors.New("the provider cannot be told to call no tools if the conversation has calls")
		}
		return nil, nil
	}
	var tools []llms.Tool
	for _, spec := range r.Tools {
		// If the library drops the choice, offer only the chosen tool.
		if name := r.ToolChoice.Name; name != "" && !t.profile.choice && spec.Name != name {
			continue
		}
		tool, err := t.profile.tool(spec)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", spec.Name, err)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// choosesNone reports whether a request to the provider can offer tools and forbid calls.
func (t *translation) choosesNone() bool {
	return t.profile.dialect != wire.None || t.profile.choice && !t.profile.callsDeclared
}

func called(r llm.Request) bool {
	for i := range r.Messages {
		if len(r.Messages[i].ToolCalls) > 0 {
			return true
		}
	}
	return false
}

func (p profile) tool(spec llm.ToolSpec) (llms.Tool, error) {
	var schema map[string]any
	if p.simpleSchema {
		schema = wire.SimpleSchema(spec.Schema)
	} else if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		return llms.Tool{}, fmt.Errorf("schema: %w", err)
	}
	return llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
		Name: spec.Name, Description: spec.Description, Parameters: schema,
	}}, nil
}

// options returns the options of a request. It sets every option for which the library has
// its own default.
func (m *Model) options(r llm.Request, tools []llms.Tool) []llms.CallOption {
	p := m.profile
	o := llms.CallOptions{
		Temperature: p.temperature, TopP: p.topP, TopK: p.topK, MaxTokens: p.maxTokens,
		StopWords: r.Stop, Tools: tools,
		JSONMode: p.json && r.Format.Type != llm.FormatText,
	}
	if len(tools) > 0 && p.choice {
		o.ToolChoice = choice(r.ToolChoice)
	}
	if t := r.Temperature; t != nil {
		o.Temperature = *t
		if *t == 0 && p.omitsZero {
			o.Temperature = leastTemperature
		}
	}
	if r.TopP != nil {
		o.TopP = *r.TopP
	}
	if r.MaxTokens > 0 {
		o.MaxTokens = r.MaxTokens
	}
	if r.Seed != nil {
		o.Seed = int(*r.Seed)
	}
	if p.legacyMax {
		// The library reads this option and does not send it.
		o.Metadata = map[string]any{"openai:use_legacy_max_tokens": true}
	}
	if thinking := m.thinking(r, len(tools) > 0, &o); thinking != nil {
		o.Metadata = map[string]any{"thinking_config": thinking}
	}
	return []llms.CallOption{overlay(o)}
}

// overlay returns an option that replaces all options by o, except Model, CandidateCount and
// Functions. It also keeps TopP, TopK, MaxTokens and Seed if they are zero in o.
func overlay(o llms.CallOptions) llms.CallOption {
	return func(to *llms.CallOptions) {
		model, count, functions := to.Model, to.CandidateCount, to.Functions
		before := *to
		*to = o
		to.Model, to.CandidateCount, to.Functions = model, count, functions
		if o.TopP == 0 {
			to.TopP = before.TopP
		}
		if o.TopK == 0 {
			to.TopK = before.TopK
		}
		if o.MaxTokens == 0 {
			to.MaxTokens = before.MaxTokens
		}
		if o.Seed == 0 {
			to.Seed = before.Seed
		}
	}
}

func choice(c llm.ToolChoice) any {
	switch {
	case c.Name != "":
		return map[string]any{"type": "function", "function": map[string]any{"name": c.Name}}
	case c.Mode != llm.ToolsAuto:
		return string(c.Mode)
	}
	return nil
}

// thinking returns the configuration of reasoning, or nil for none. With reasoning, it can
// raise MaxTokens of o, and sets Temperature to 1.
func (m *Model) thinking(r llm.Request, tools bool, o *llms.CallOptions) *llms.ThinkingConfig {
	effort := r.Reasoning.Effort
	if !m.profile.think || effort == llm.EffortNone || effort == llm.EffortDefault && r.Reasoning.Budget == 0 {
		return nil
	}
	if tools && !m.mayThink(r) {
		return nil
	}
	budget := r.Reasoning.Budget
	if budget == 0 {
		budget = map[llm.Effort]int{llm.EffortLow: 1024, llm.EffortMedium: 8192, llm.EffortHigh: 24576}[effort]
	}
	budget = max(budget, 1024) // the least that the provider accepts
	if o.MaxTokens <= budget {
		o.MaxTokens += budget // reasoning counts towards the limit
	}
	o.Temperature = 1 // the provider rejects any other with reasoning
	return &llms.ThinkingConfig{Mode: llms.ThinkingMode(effort), BudgetTokens: budget, ReturnThinking: true, StreamThinking: true}
}

// mayThink reports whether the provider accepts reasoning in this request. The provider
// rejects reasoning if a tool is required, or if a message with tool calls after the last
// message of the user has no signed reasoning.
func (m *Model) mayThink(r llm.Request) bool {
	if r.ToolChoice.Name != "" || r.ToolChoice.Mode == llm.ToolsRequired {
		return false
	}
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != llm.RoleUser; i-- {
		if len(r.Messages[i].ToolCalls) > 0 && !slices.ContainsFunc(r.Messages[i].Parts, wire.SignedByAnthropic) {
			return false
		}
	}
	return true
}
