package langchaintools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/langchaintools"
)

// A search is a langchaingo tool that returns its name and its input.
type search struct{ name, description string }

func (s search) Name() string        { return s.name }
func (s search) Description() string { return s.description }

func (s search) Call(ctx context.Context, input string) (string, error) {
	if input == "down" {
		return "", errors.New("no route to the web")
	}
	call, _ := tools.CallFrom(ctx)
	return fmt.Sprintf("%s of %s for %s", s.name, input, call.ID), nil
}

func ask(t *testing.T, tool tools.Tool, arguments string) string {
	t.Helper()
	set, err := tools.NewSet(tool)
	require.NoError(t, err)
	call := llm.ToolCall{ID: "c1", Name: tool.Name(), Arguments: []byte(arguments)}
	answer, err := set.Call(t.Context(), call, tools.Options{})
	require.NoError(t, err)
	return fmt.Sprintf("%s: %s", answer.Status, answer.Text())
}

func TestFrom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool              langchaintools.Tool
		name, description string
		arguments, want   string
	}{
		{search{"wiki", "Looks up."}, "wiki", "Looks up.", `{"input":"Go"}`, "success: wiki of Go for c1"},
		{search{"Google Search", " "}, "Google_Search_3be7914e", "Google Search", `{"input":"Go"}`, "success: Google Search of Go for c1"},
		{search{"wiki", "Looks up."}, "wiki", "Looks up.", `{"input":"down"}`, "error: no route to the web"},
		{search{"wiki", "Looks up."}, "wiki", "Looks up.", `{"query":"Go"}`, "error: invalid arguments for wiki: "},
	}
	for _, tt := range tests {
		got := langchaintools.From(tt.tool)
		assert.Equal(t, tt.name, got.Name())
		assert.True(t, strings.HasPrefix(got.Spec().Description, tt.description))
		a := got.Annotations()
		assert.True(t, a.Destructive)
		assert.Equal(t, tt.tool.Name(), a.Title)
		assert.True(t, strings.HasPrefix(ask(t, got, tt.arguments), tt.want))
	}
	_, err := tools.NewSet(langchaintools.From(nil))
	assert.Error(t, err, "a nil tool was accepted")
}

type town struct {
	Name string `json:"name"`
	Days int    `json:"days,omitempty"`
}

func TestTo(t *testing.T) {
	t.Parallel()
	weather := tools.New("weather", "Tells the weather.", func(_ context.Context, in town) (string, error) {
		if in.Name == "Atlantis" {
			return "", errors.New("no such town")
		}
		return fmt.Sprintf("%s %d", in.Name, in.Days), nil
	})
	pair := tools.New("pair", "Pairs.", func(_ context.Context, in struct{ A, B string }) (string, error) { return in.A + in.B, nil })
	option := tools.New("option", "Has a choice.", func(_ context.Context, in struct {
		A string `json:"a,omitempty"`
	},
	) (string, error) {
		return "<" + in.A + ">", nil
	})
	count := tools.New("count", "Counts.", func(_ context.Context, in struct{ N int }) (int, error) { return in.N + 1, nil })
	tests := []struct {
		tool        tools.Tool
		input, want string
	}{
		{weather, "Athens", "Athens 0"},
		{weather, ` {"name":"Athens","days":2} `, "Athens 2"},
		{weather, "{Athens", "{Athens 0"},
		{weather, "Atlantis", "error: no such town"},
		{weather, `{"nam":"Athens"}`, "error: invalid arguments for weather: name: is missing"},
		{pair, `{"A":"x","B":"y"}`, "xy"},
		{pair, "x", "error: invalid arguments for pair: not valid JSON"},
		{option, "x", "<x>"},
		{option, "", "<>"},
		{count, `{"N":1}`, "2"},
	}
	for _, tt := range tests {
		old, err := langchaintools.To(tt.tool, tools.Options{})
		require.NoError(t, err)
		got, err := old.Call(t.Context(), tt.input)
		require.NoError(t, err, "%s(%q)", old.Name(), tt.input)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s(%q)", old.Name(), tt.input)
	}
}

func TestToReturnsErrors(t *testing.T) {
	t.Parallel()
	_, err := langchaintools.To(tools.Tool{}, tools.Options{})
	assert.Error(t, err, "the zero tool was accepted")
	wipe := tools.New("wipe", "Wipes.", func(context.Context, struct{}) (string, error) { return "wiped", nil })
	old, err := langchaintools.To(wipe, tools.Options{Approval: tools.Approval{Rule: tools.Named("wipe")}})
	require.NoError(t, err)
	_, err = old.Call(t.Context(), "")
	assert.ErrorIs(t, err, tools.ErrNoApprover)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	free, err := langchaintools.To(wipe, tools.Options{})
	require.NoError(t, err)
	_, err = free.Call(ctx, "")
	assert.ErrorIs(t, err, context.Canceled)
}

// TestThereAndBack proves that a langchaingo tool still works after it was converted to a tool
// of Weft and back.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	old, err := langchaintools.To(langchaintools.From(search{"wiki", "Looks up."}), tools.Options{})
	require.NoError(t, err)
	got, err := old.Call(t.Context(), "Go")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(got, "wiki of Go for "))
}

func FuzzTo(f *testing.F) {
	f.Add("Athens")
	f.Add(`{"name":"x"}`)
	f.Add("{\xff")
	echo := tools.New("echo", "Says it again.", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		return in.Text, nil
	})
	old, err := langchaintools.To(echo, tools.Options{MaxText: -1})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := old.Call(t.Context(), text)
		require.NoError(t, err)
		if utf8.ValidString(text) && !strings.Contains(text, "{") {
			assert.Equal(t, text, got)
		}
	})
}

// From converts a tool of langchaingo, such as duckduckgo. The example uses search instead.
func ExampleFrom() {
	web := langchaintools.From(search{"Web Search", "Searches the web."})
	fmt.Println(web.Name(), string(web.Spec().Schema))
	set, err := tools.NewSet(web.Annotate(tools.Annotations{ReadOnly: true, OpenWorld: true}))
	if err != nil {
		panic(err)
	}
	call := llm.ToolCall{ID: "1", Name: web.Name(), Arguments: []byte(`{"input":"weaving"}`)}
	fmt.Println(set.Call(context.Background(), call, tools.Options{}))
	// Output:
	// Web_Search_d04fc7d7 {"type":"object","properties":{"input":{"type":"string","description":"what the tool is asked"}},"required":["input"],"additionalProperties":false}
	// tool: Web Search of weaving for 1 <nil>
}

func ExampleTo() {
	weather := tools.New("weather", "Tells the weather in a town.", func(_ context.Context, in town) (string, error) {
		return "sunny in " + in.Name, nil
	})
	old, err := langchaintools.To(weather, tools.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(old.Call(context.Background(), "Athens"))
	fmt.Println(old.Call(context.Background(), `{"name":"Lyon","days":2}`))
	// Output:
	// sunny in Athens <nil>
	// sunny in Lyon <nil>
}
