package langchaintools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/langchaintools"
)

// search is a tool of langchaingo.
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
	if err != nil {
		t.Fatal(err)
	}
	call := llm.ToolCall{ID: "c1", Name: tool.Name(), Arguments: []byte(arguments)}
	answer, err := set.Call(t.Context(), call, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
		if got.Name() != tt.name || !strings.HasPrefix(got.Spec().Description, tt.description) {
			t.Errorf("got %q, %q", got.Name(), got.Spec().Description)
		}
		if a := got.Annotations(); !a.Destructive || a.Title != tt.tool.Name() {
			t.Errorf("got %+v", a)
		}
		if answer := ask(t, got, tt.arguments); !strings.HasPrefix(answer, tt.want) {
			t.Errorf("got %q, want %q", answer, tt.want)
		}
	}
	if _, err := tools.NewSet(langchaintools.From(nil)); err == nil {
		t.Error("no tool was taken for one")
	}
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
		if err != nil {
			t.Fatal(err)
		}
		got, err := old.Call(t.Context(), tt.input)
		if err != nil || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s(%q): got %q, %v; want %q", old.Name(), tt.input, got, err, tt.want)
		}
	}
}

func TestToReturnsErrors(t *testing.T) {
	t.Parallel()
	if _, err := langchaintools.To(tools.Tool{}, tools.Options{}); err == nil {
		t.Error("the zero tool was taken")
	}
	wipe := tools.New("wipe", "Wipes.", func(context.Context, struct{}) (string, error) { return "wiped", nil })
	old, err := langchaintools.To(wipe, tools.Options{Approval: tools.Approval{Rule: tools.Named("wipe")}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := old.Call(t.Context(), ""); !errors.Is(err, tools.ErrNoApprover) {
		t.Errorf("got %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	free, err := langchaintools.To(wipe, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := free.Call(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", got, err)
	}
}

// There and back again, a tool does what it did.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	old, err := langchaintools.To(langchaintools.From(search{"wiki", "Looks up."}), tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := old.Call(t.Context(), "Go")
	if err != nil || !strings.HasPrefix(got, "wiki of Go for ") {
		t.Errorf("got %q, %v", got, err)
	}
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
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := old.Call(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); want == text && !strings.Contains(text, "{") && got != want {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}

// search stands for a tool of langchaingo, such as its duckduckgo.
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
