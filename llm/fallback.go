package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
)

// A ModelError is the error of one of the models of a [Fallback].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmmodelerror.
type ModelError struct {
	// Model is the result of the model's String method, or "model 1 of 2" if it has
	// none. A model in a [Retry], [Limit], [IdleTimeout], [Trace] or [Log] keeps its name.
	Model string
	Err   error
}

// Error returns the model's name and its error.
func (e *ModelError) Error() string { return fmt.Sprintf("llm: fallback: %s: %v", e.Model, e.Err) }

// Unwrap returns the model's error.
func (e *ModelError) Unwrap() error { return e.Err }

// A PassedOver is a model of a [Fallback] that failed before another model replied.
type PassedOver struct {
	Model string `json:"model"` // see [ModelError]
	Error string `json:"error"` // the text of its error
}

// fallbackKey is the key of the metadata that [Message.PassedOver] reads.
const fallbackKey = "fallback"

// PassedOver returns the models of a [Fallback] that failed before the one that
// wrote the message, in the order in which they were asked. It is empty if the first
// model wrote the message.
func (m Message) PassedOver() []PassedOver {
	var failed []PassedOver
	if json.Unmarshal(m.Metadata[fallbackKey], &failed) != nil {
		return nil
	}
	return failed
}

// Fallback returns a model that asks the first of models. If a model fails, it asks the
// next one. It continues after every error except [ErrInvalid] and the error of a
// context, because a request that is too long for one model, or is rejected by its
// filter, can succeed with another model.
//
// [Message.PassedOver] of a reply returns the models that failed. If every model fails, the
// error joins a [*ModelError] for each.
//
// After Fallback has passed on a chunk it does not ask another model, and returns the
// error. To fall back after a stream that breaks off, wrap the inner model in a [Retry]
// with [RetryPolicy].Whole.
func Fallback(models ...Model) Model { return fallback(models) }

type fallback []Model

// Stream asks the models in order.
func (models fallback) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if len(models) == 0 {
			yield(Chunk{}, fmt.Errorf("llm: fallback: no model: %w", ErrInvalid))
			return
		}
		var failures []error
		for i, m := range models {
			within, asked := wrappedEach(ctx, m)
			passed, err := relay(withFailures(streamOf(within, asked, r), failures), yield)
			if err == nil {
				return
			}
			failures = append(failures, &ModelError{Model: modelName(m, i, len(models)), Err: err})
			if passed || ctx.Err() != nil || errors.Is(err, ErrInvalid) {
				break
			}
		}
		yield(Chunk{}, errors.Join(failures...))
	}
}

// isFallback reports whether a model is a fallback or wraps one.
func isFallback(m Model) bool {
	for {
		switch x := m.(type) {
		case fallback:
			return true
		case interface{ unwrap() Model }:
			m = x.unwrap()
		default:
			return false
		}
	}
}

// A wrapper is a model that wraps another one and has the same name.
type wrapper struct {
	ModelFunc
	inner Model
}

func (w wrapper) unwrap() Model { return w.inner }

// modelName returns the name of a model in errors.
func modelName(m Model, i, count int) string {
	if name := ownName(m); name != "" {
		return name
	}
	return fmt.Sprintf("model %d of %d", i+1, count)
}

// ownName returns the result of the String method of a model, or of the model that it wraps, or "".
func ownName(m Model) string {
	for {
		if named, ok := m.(fmt.Stringer); ok {
			return named.String()
		}
		w, ok := m.(interface{ unwrap() Model })
		if !ok {
			return ""
		}
		m = w.unwrap()
	}
}

// withFailures adds the failures to the metadata of a stream.
func withFailures(chunks iter.Seq2[Chunk, error], failures []error) iter.Seq2[Chunk, error] {
	if len(failures) == 0 {
		return chunks
	}
	return func(yield func(Chunk, error) bool) {
		for c, err := range chunks {
			if err == nil && c.Kind == ChunkEnd {
				c.Metadata = addFailures(c.Metadata, failures)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func addFailures(metadata map[string]json.RawMessage, failures []error) map[string]json.RawMessage {
	var all []PassedOver
	for _, err := range failures {
		if e, ok := errors.AsType[*ModelError](err); ok {
			all = append(all, PassedOver{Model: e.Model, Error: e.Err.Error()})
		}
	}
	// The model that replied can be a Fallback itself.
	all = append(all, Message{Metadata: metadata}.PassedOver()...)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	metadata[fallbackKey] = encode(all)
	return metadata
}
