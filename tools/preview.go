package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/weft-go/weft/llm"
)

// Preview returns a copy of the tool t whose questions show the effect of a call, for example the names, the
// prices and the total of an order. When a person is asked about a call, fn computes the effect from the arguments
// and the bound values. In is the argument type of the tool; [NewSet] and [Tool.Err]
// report another type. The result is encoded as JSON in [Question].Preview,
// and [Annotations].Preview is its type.
//
// An approval is valid only for the preview that the person saw: if fn returns another result when the run resumes,
// the person is asked again. So fn must return the same result for the same effect, and must change nothing. If fn
// returns an error, the call is answered with the error, and nobody is asked. A call whose arguments a person edits
// runs without another preview.
func Preview[In, Out any](t Tool, fn func(context.Context, In) (Out, error)) Tool {
	if t.Err() != nil {
		return t
	}
	if in := reflect.TypeFor[In](); fn == nil || t.in != in {
		t.err = fmt.Errorf("tool %q: the function of its preview is nil or has arguments of type %v; it must have the tool's type %v: %w", t.spec.Name, in, t.in, llm.ErrInvalid)
		return t
	}
	decoder := t.schema
	bound, _ := boundFields(reflect.TypeFor[In]())
	t.preview = func(ctx context.Context, arguments json.RawMessage) (_ json.RawMessage, err error) {
		defer caught(&err)
		var in In
		if err := decoder.Decode(arguments, &in); err != nil {
			return nil, err
		}
		if err := fillBound(ctx, reflect.ValueOf(&in), bound); err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
	return t
}

// A previewError is the error of a preview.
type previewError struct{ error }

func (e previewError) Unwrap() error { return e.error }
