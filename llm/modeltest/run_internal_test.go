package modeltest

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/llm"
)

// TestCancelAtTextNeedsAStream proves that cancelAtText ends with an error that names the fault of the model, for a
// model that waits for the whole reply and for one that hides the error of the context.
func TestCancelAtTextNeedsAStream(t *testing.T) {
	t.Parallel()
	model := func(text string, end func(context.Context) error) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				if text != "" && !yield(llm.Chunk{Kind: llm.ChunkText, Text: text}, nil) {
					return
				}
				<-ctx.Done()
				yield(llm.Chunk{}, end(ctx))
			}
		})
	}
	own := func(ctx context.Context) error { return ctx.Err() }
	hidden := func(context.Context) error { return errors.New("connection closed") }
	for name, c := range map[string]struct {
		model llm.Model
		want  string
	}{
		"streams":         {model("Hello, ", own), ""},
		"does not stream": {model("", own), "no text before the end of the request after 10s"},
		"hides the error": {model("Hello, ", hidden), "the error of a cancelled request is connection closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				err := cancelAtText(t.Context(), c.model)
				if c.want == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, c.want)
			})
		})
	}
}

// An unfinished model fails a scene, and the failure names the reason. The test uses only the scene Text, because such a
// model fails before the scenes differ.
func TestScenesFailForDrafts(t *testing.T) {
	t.Parallel()
	stream := func(chunks ...llm.Chunk) llm.Model {
		return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				for _, c := range chunks {
					if !yield(c, nil) {
						return
					}
				}
			}
		})
	}
	for name, c := range map[string]struct {
		model llm.Model
		want  string
	}{
		"nil":       {nil, "the suite got no model"},
		"panics":    {llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { panic("not written yet") }), "not written yet"},
		"no stream": {llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { return nil }), "the model returned nil in place of a stream"},
		"no chunks": {stream(), "the reply failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failures := suitetest.Record(func(tb testing.TB) {
				check(tb, Text, func(testing.TB, Scene) llm.Model { return c.model }, checkText)
			})
			require.Len(t, failures, 1)
			require.Contains(t, failures[0], c.want)
		})
	}
}
