package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
)

// A Model answers a conversation. It is safe for concurrent use.
//
// Stream yields the reply in chunks; see [Chunk] for the rules. It ends soon after ctx is
// done. An error is in the last pair, and the chunks before it must not be used as an answer.
// If the caller leaves the loop, the request ends, and no goroutine is left. The result can
// be iterated only once. A model does not change r.
//
// Use [Generate] or [Stream] to ask a model: they check the reply. A model that does not
// stream can return the result of [Reply].
type Model interface {
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// A ModelFunc is a function that is a [Model].
type ModelFunc func(ctx context.Context, r Request) iter.Seq2[Chunk, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return f(ctx, r)
}

// A Request is a request to a model. If a setting is zero, the provider's default applies.
type Request struct {
	// Messages is the conversation so far. It has at least one message.
	Messages []Message
	// Tools are the tools that the model may call.
	Tools []ToolSpec
	// ToolChoice restricts the calls of tools. With the zero value, the model decides.
	ToolChoice ToolChoice
	// Temperature is the sampling temperature. Nil means the provider's default.
	Temperature *float64
	// MaxTokens is the maximum number of tokens in the reply. Zero means the provider's
	// default.
	MaxTokens int
	// TopP is the threshold of nucleus sampling, greater than 0 and at most 1. Nil means the
	// provider's default.
	TopP *float64
	// Seed requests the same reply to the same request. Providers do not guarantee it. Nil
	// means no seed.
	Seed *int64
	// Stop lists texts at which the model ends its reply.
	Stop []string
	// Format is the format of the reply's text. The zero value permits any text.
	Format Format
	// Reasoning sets how much the model reasons before it answers. The zero value means the
	// provider's default.
	Reasoning Reasoning
	// CacheKey makes it more likely that requests with the same key and the same beginning
	// share the provider's cache. It is OpenAI's prompt_cache_key, and is not sent to other
	// providers. For Anthropic, mark the parts to cache; see [Part.Cache].
	CacheKey string
}

// A FormatType is the type of a [Format].
type FormatType string

// The types of a [Format].
const (
	FormatText   FormatType = ""            // any text
	FormatJSON   FormatType = "json_object" // any JSON object
	FormatSchema FormatType = "json_schema" // JSON that fits Schema
)

// A Format is the format of a reply's text. Some providers do not enforce it, so the caller
// must check the reply. [As] does.
type Format struct {
	Type FormatType
	// Name is the name of the schema: 1 to 64 letters, digits, underscores or dashes. Some
	// providers require one; empty means "answer".
	Name string
	// Schema is the JSON Schema of the reply, a JSON object.
	Schema json.RawMessage
}

// An Effort is the amount of reasoning of a model.
type Effort string

// The efforts of a [Reasoning].
const (
	EffortDefault Effort = ""
	EffortNone    Effort = "none" // no reasoning, if the model supports that
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
)

// Reasoning sets how much a model reasons before it answers. A model that cannot reason
// ignores it.
type Reasoning struct {
	Effort Effort
	// Budget is the maximum number of tokens of the reasoning, for providers with such a
	// limit. If it is zero, only Effort counts.
	Budget int
}

// A ToolSpec describes a tool to a model.
type ToolSpec struct {
	// Name is 1 to 64 letters, digits, underscores or dashes.
	Name string `json:"name"`
	// Description tells the model what the tool does and when to use it.
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the arguments, which are an object.
	Schema json.RawMessage `json:"schema"`
}

// A ToolMode restricts whether a model calls tools.
type ToolMode string

// The modes of a [ToolChoice].
const (
	ToolsAuto     ToolMode = ""         // the model decides
	ToolsNone     ToolMode = "none"     // no tool
	ToolsRequired ToolMode = "required" // at least one tool
)

// A ToolChoice restricts whether a model calls tools, and which.
type ToolChoice struct {
	Mode ToolMode
	// Name, if not empty, is the tool that the model must call. Mode must then be ToolsAuto
	// or ToolsRequired, which mean the same.
	Name string
}

// Clone returns a copy that shares nothing with r.
func (r Request) Clone() Request {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i] = r.Messages[i].Clone()
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		r.Tools[i].Schema = bytes.Clone(r.Tools[i].Schema)
	}
	r.Temperature = cloneValue(r.Temperature)
	r.TopP = cloneValue(r.TopP)
	r.Seed = cloneValue(r.Seed)
	r.Stop = slices.Clone(r.Stop)
	r.Format.Schema = bytes.Clone(r.Format.Schema)
	return r
}

func cloneValue[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}
