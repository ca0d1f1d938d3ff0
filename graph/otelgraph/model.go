package otelgraph

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
)

// providers maps names of providers to the names of the semantic conventions.
var providers = map[string]string{
	"googleai": "gcp.gemini", "google": "gcp.gemini", "vertex": "gcp.vertex_ai", "mistral": "mistral_ai", "bedrock": "aws.bedrock",
}

func providerOf(name llm.ModelName) string {
	if known, ok := providers[name.Provider]; ok {
		return known
	}
	if name.Provider == "" {
		return "unknown"
	}
	return name.Provider
}

// model returns a model whose requests have spans.
func (t *Telemetry) model(m llm.Model) llm.Model {
	name := llm.NameOf(m)
	return llm.Trace(m, llm.Hooks{
		Start: func(ctx context.Context, r llm.Request) context.Context { return t.asked(ctx, name, r) },
		End:   func(ctx context.Context, e llm.Exchange) { t.replied(ctx, name, e) },
	})
}

// asked begins the span of a request.
func (t *Telemetry) asked(ctx context.Context, name llm.ModelName, r llm.Request) context.Context {
	title := "chat"
	attrs := []attribute.KeyValue{semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(providerOf(name))}
	if name.Model != "" {
		title += " " + name.Model
		attrs = append(attrs, semconv.GenAIRequestModel(name.Model))
	}
	ctx, span := t.tracer.Start(ctx, title, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	if span.IsRecording() {
		span.SetAttributes(requestAttributes(ctx, r)...)
		if t.content {
			span.SetAttributes(semconv.GenAIInputMessagesKey.String(messagesJSON(r.Messages)))
			if len(r.Tools) > 0 {
				span.SetAttributes(semconv.GenAIToolDefinitionsKey.String(definitionsJSON(r.Tools)))
			}
		}
	}
	return ctx
}

func requestAttributes(ctx context.Context, r llm.Request) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.GenAIRequestStream(true)}
	if at, ok := graph.FromContext(ctx); ok {
		if at.Thread != "" {
			attrs = append(attrs, semconv.GenAIConversationID(at.Thread))
		}
		if at.Attempt > 1 {
			attrs = append(attrs, attemptKey.Int(at.Attempt))
		}
	}
	if r.Temperature != nil {
		attrs = append(attrs, semconv.GenAIRequestTemperature(*r.Temperature))
	}
	if r.TopP != nil {
		attrs = append(attrs, semconv.GenAIRequestTopP(*r.TopP))
	}
	if r.MaxTokens > 0 {
		attrs = append(attrs, semconv.GenAIRequestMaxTokens(r.MaxTokens))
	}
	if r.Seed != nil {
		attrs = append(attrs, semconv.GenAIRequestSeedKey.Int64(*r.Seed))
	}
	if len(r.Stop) > 0 {
		attrs = append(attrs, semconv.GenAIRequestStopSequences(r.Stop...))
	}
	if r.Format.Type != llm.FormatText {
		attrs = append(attrs, semconv.GenAIOutputTypeJSON)
	}
	return attrs
}

// replied ends the span of a request.
func (t *Telemetry) replied(ctx context.Context, name llm.ModelName, e llm.Exchange) {
	span := trace.SpanFromContext(ctx)
	err := e.Err
	if err == nil && ctx.Err() != nil && e.Left {
		err = context.Cause(ctx)
	}
	if span.IsRecording() {
		span.SetAttributes(replyAttributes(e)...)
		if t.content && e.Reply.Role != "" {
			span.SetAttributes(semconv.GenAIOutputMessagesKey.String(messagesJSON([]llm.Message{e.Reply})))
		}
	}
	outcome := outcomeOf(ctx, err, false)
	if e.Left && err == nil {
		outcome = outcomeCancelled
	}
	t.measureRequest(ctx, name, e, err)
	endSpan(span, outcome, err)
}

func replyAttributes(e llm.Exchange) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if e.Chunks > 0 {
		attrs = append(attrs, semconv.GenAIResponseTimeToFirstChunk(e.FirstChunk.Seconds()))
	}
	if e.Reply.StopReason != "" {
		attrs = append(attrs, semconv.GenAIResponseFinishReasons(finishReason(e.Reply.StopReason)))
	}
	u := e.Reply.Usage
	if u == nil {
		return attrs
	}
	attrs = append(attrs, semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output)))
	if u.Cached > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheReadInputTokens(int(u.Cached)))
	}
	if u.CacheWrite > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheCreationInputTokens(int(u.CacheWrite)))
	}
	if u.Reasoning > 0 {
		attrs = append(attrs, semconv.GenAIUsageReasoningOutputTokens(int(u.Reasoning)))
	}
	return attrs
}

// measureRequest records the duration and the tokens of a request.
func (t *Telemetry) measureRequest(ctx context.Context, name llm.ModelName, e llm.Exchange, err error) {
	provider := genaiconv.ProviderNameAttr(providerOf(name))
	var attrs []attribute.KeyValue
	if name.Model != "" {
		attrs = append(attrs, semconv.GenAIRequestModel(name.Model))
	}
	if u := e.Reply.Usage; u != nil {
		t.metrics.tokens.Record(ctx, u.Input, genaiconv.OperationNameChat, provider, genaiconv.TokenTypeInput, attrs...)
		t.metrics.tokens.Record(ctx, u.Output, genaiconv.OperationNameChat, provider, genaiconv.TokenTypeOutput, attrs...)
	}
	if err != nil {
		attrs = append(attrs, failureOf(err))
	}
	t.metrics.requests.Record(ctx, e.Duration.Seconds(), genaiconv.OperationNameChat, provider, attrs...)
}
