package contract_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	langchaingo "github.com/tmc/langchaingo/tools"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/langchaintools"
)

// The interface is langchaingo's own.
var (
	_ langchaintools.Tool = langchaingo.Tool(nil)
	_ langchaingo.Tool    = langchaintools.Tool(nil)
)

func TestCalculator(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(langchaintools.From(langchaingo.Calculator{}))
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{"6 * 7": "42", "6 *": "error"} {
		arguments, err := json.Marshal(map[string]string{"input": input})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := set.Call(t.Context(), llm.ToolCall{ID: "1", Name: "calculator", Arguments: arguments}, tools.Options{})
		if err != nil || !strings.HasPrefix(answer.Text(), want) {
			t.Errorf("%s: got %v, %v; want %s", input, answer, err, want)
		}
	}
}

func TestToolOfWeft(t *testing.T) {
	t.Parallel()
	weather := tools.New("weather", "Tells the weather.", func(_ context.Context, in struct {
		Town string `json:"town"`
	},
	) (string, error) {
		return "sunny in " + in.Town, nil
	})
	carried, err := langchaintools.To(weather, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var old langchaingo.Tool = carried
	got, err := old.Call(t.Context(), "Athens")
	if err != nil || old.Name() != "weather" || got != "sunny in Athens" {
		t.Errorf("%s: got %q, %v", old.Name(), got, err)
	}
}
