package server

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

type contextKey struct{}

// Context returns the context that a client gave a run, or the values of config.configurable, together with the values of
// the run's assistant. Fields that T does not have are ignored. Outside a run of a server it returns the zero value.
func Context[T any](ctx context.Context) (T, error) {
	var out T
	data, ok := ctx.Value(contextKey{}).(json.RawMessage)
	if !ok {
		return out, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("server: the context of the run is not a %T: %w", out, err)
	}
	return out, nil
}

// ContextSchema returns the JSON schema of a T, for [Options.Context]. No field is required.
func ContextSchema[T any]() json.RawMessage { return typeSchema(reflect.TypeFor[T]()) }
