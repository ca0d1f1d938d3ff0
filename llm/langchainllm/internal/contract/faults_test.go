package contract_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// A fault is a fault of langchaingo v0.1.14. Its test proves that the library still has the
// fault, and that a Model does not have it.
type fault struct {
	name    string
	backend string
	answers []http.HandlerFunc
	// bare asks the library, and returns a text that shows the fault, or "" if the
	// library does not have it.
	bare func(ctx context.Context, m llms.Model, f *fake) string
	// ours asks the Model, and fails the test if it has the fault.
	ours func(t *testing.T, m llm.Model, f *fake)
}

var human = []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hi")}

func libraryTool(parameters any) llms.CallOption {
	return llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "add", Parameters: parameters}}})
}

var libraryTools = libraryTool(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}}})

func silent(context.Context, []byte) error { return nil }

// libraryCalls streams a reply of the library, and returns its tool calls.
func libraryCalls(ctx context.Context, m llms.Model) string {
	r, err := m.GenerateContent(ctx, human, libraryTools, llms.WithStreamingFunc(silent))
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, c := range r.Choices {
		for _, call := range c.ToolCalls {
			all = append(all, call.FunctionCall.Name+call.FunctionCall.Arguments)
		}
	}
	return strings.Join(all, " ")
}

// unless returns a text that shows the result got, or "" if it equals want, the result of a library
// without the fault.
func unless(want, got string) string {
	if got == want {
		return ""
	}
	return "got " + got
}

func wantCalls(want string) func(*testing.T, llm.Model, *fake) {
	return func(t *testing.T, m llm.Model, _ *fake) {
		t.Helper()
		assert.Equal(t, want, calls(must(t, m, withTools(hello)).message))
	}
}

func wantText(want string) func(*testing.T, llm.Model, *fake) {
	return func(t *testing.T, m llm.Model, _ *fake) {
		t.Helper()
		assert.Equal(t, want, must(t, m, withTools(hello)).text())
	}
}

func wantKind(kind error) func(*testing.T, llm.Model, *fake) {
	return func(t *testing.T, m llm.Model, _ *fake) {
		t.Helper()
		assert.True(t, failure(t, m, hello, kind).Retryable())
	}
}

// libraryText streams a reply of the library. After an error, text is empty.
func libraryText(ctx context.Context, m llms.Model) (seen, text string, err error) {
	r, err := m.GenerateContent(ctx, human, llms.WithStreamingFunc(func(_ context.Context, b []byte) error {
		seen += string(b)
		return nil
	}))
	if err != nil {
		return seen, "", err
	}
	for _, c := range r.Choices {
		text += c.Content
	}
	return seen, text, nil
}

// isSuccess returns a text that shows the fault if the library returns a reply instead of an
// error.
func isSuccess(ctx context.Context, m llms.Model, _ *fake) string {
	_, text, err := libraryText(ctx, m)
	if err != nil {
		return ""
	}
	return "answered " + text
}

func failsWith(part string) func(context.Context, llms.Model, *fake) string {
	return func(ctx context.Context, m llms.Model, _ *fake) string {
		if _, _, err := libraryText(ctx, m); err != nil && strings.Contains(err.Error(), part) {
			return err.Error()
		}
		return ""
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range slices.Concat(openAIFaults, anthropicFaults, googleFaults, bedrockFaults) {
		for _, b := range backends {
			if b.name != fault.backend {
				continue
			}
			t.Run(b.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, fault.answers...)
				shown := fault.bare(t.Context(), b.bare(t, f), f)
				require.NotEmpty(t, shown, "langchaingo has no such fault any more")
				assert.NotEqual(t, "<nil>", shown, "langchaingo has no such fault any more")
				f = newFake(t, fault.answers...)
				fault.ours(t, b.model(t, f), f)
			})
		}
	}
}
