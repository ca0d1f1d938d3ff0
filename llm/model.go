package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
)

// A Model answers a conversation. It may be used by any number of goroutines
// at once.
//
// Stream yields the reply piece by piece; see [Chunk] for the rules. It stops
// soon after ctx is done. An error is the last pair, and what came before it is
// not an answer. Leaving the loop early ends the request, and leaves no
// goroutine behind. A stream is for one loop only. A model does not change r.
//
// Use [Generate] or [Stream] to ask a model; they check what it gives. A model
// that has its whole answer at once returns [Reply].
type Model interface {
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// A ModelFunc is a function that is a [Model].
type ModelFunc func(ctx context.Context, r Request) iter.Seq2[Chunk, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return f(ctx, r)
}

// A Request is what a model is asked. Its zero settings leave the choice to
// the provider.
type Request struct {
	// Messages is the conversation so far. There is at least one.
	Messages []Message
	// Tools are those that the model may call.
	Tools []ToolSpec
	// ToolChoice says whether it has to. The zero value leaves it to the model.
	ToolChoice ToolChoice
	// Temperature is nil for the provider's default, so that zero can be asked
	// for.
	Temperature *float64
	// MaxTokens is the most that the reply may have. Zero means the provider's
	// default.
	MaxTokens int
	// TopP is the share of likely tokens that the model chooses from, over 0
	// and at most 1. Nil is the provider's default.
	TopP *float64
	// Seed asks for the same reply to the same request, as far as the provider
	// can. Nil asks for nothing.
	Seed *int64
	// Stop are texts at which the model ends its reply.
	Stop []string
	// Format is what the text of the reply has to be. The zero value is text
	// of any kind.
	Format Format
	// Reasoning says how much the model thinks before it answers. The zero
	// value is the provider's default.
	Reasoning Reasoning
	// CacheKey groups requests that begin alike, for a provider that caches by
	// itself and takes such a key: OpenAI's prompt_cache_key. It makes it more
	// likely that they share the cache. Other providers do not get it. To mark
	// the parts to cache, for Anthropic, see [Part.Cache].
	CacheKey string
}

// A FormatType says what the text of a reply is.
type FormatType string

// The types of a [Format].
const (
	FormatText   FormatType = ""            // as the model likes
	FormatJSON   FormatType = "json_object" // any JSON object
	FormatSchema FormatType = "json_schema" // JSON that fits Schema
)

// A Format says what the text of a reply has to be. A provider that can not be
// told is asked all the same, so the caller checks what comes back, as [As] does.
type Format struct {
	Type FormatType
	// Name is that of the schema: 1 to 64 letters, digits, underscores or
	// dashes. Some providers ask for one; empty counts as "answer".
	Name string
	// Schema is the JSON Schema of the reply, an object.
	Schema json.RawMessage
}

// An Effort says how much a model thinks.
type Effort string

// The efforts of a [Reasoning].
const (
	EffortDefault Effort = ""
	EffortNone    Effort = "none" // answer at once, where the model can
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
)

// Reasoning says how much a model thinks before it answers. A model that does
// not reason ignores it.
type Reasoning struct {
	Effort Effort
	// Budget is the most tokens to think in, for providers that count. Zero
	// leaves it to Effort.
	Budget int
}

// A ToolSpec is what a model is told about a tool.
type ToolSpec struct {
	// Name is 1 to 64 letters, digits, underscores or dashes.
	Name string `json:"name"`
	// Description says to the model what the tool does and when to use it.
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the arguments, which are an object.
	Schema json.RawMessage `json:"schema"`
}

// A ToolMode says whether a model calls tools.
type ToolMode string

// The modes of a [ToolChoice].
const (
	ToolsAuto     ToolMode = ""         // as the model likes
	ToolsNone     ToolMode = "none"     // no tool
	ToolsRequired ToolMode = "required" // at least one tool
)

// A ToolChoice says whether a model calls tools, and which.
type ToolChoice struct {
	Mode ToolMode
	// Name, when not empty, is the one tool that the model has to call. Mode
	// is then ToolsAuto or ToolsRequired, which mean the same.
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
