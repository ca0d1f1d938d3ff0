package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// Where has the arguments of the weather tool.
type Where struct {
	City string `json:"city" jsonschema:"the city, in English"`
	Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
}

// Forecast is the result of the weather tool.
type Forecast struct {
	Sky     string `json:"sky"`
	Celsius int    `json:"celsius"`
}

func forecast(_ context.Context, in Where) (Forecast, error) {
	if in.City != "Athens" {
		return Forecast{}, errors.New("no forecast for " + in.City)
	}
	return Forecast{Sky: "clear", Celsius: 31 - in.Days}, nil
}

func ExampleNew() {
	weather := tools.New("weather", "Looks the weather forecast up.", forecast)
	fmt.Println(string(weather.Spec().Schema))
	// Output: {"type":"object","properties":{"city":{"type":"string","description":"the city, in English"},"days":{"type":"integer","description":"how many days ahead"}},"required":["city"],"additionalProperties":false}
}

// NewSet reports all mistakes of a set at once.
func ExampleNewSet() {
	_, err := tools.NewSet(
		tools.New("the weather", "Looks the weather forecast up.", forecast),
		tools.New("weather", "", forecast),
	)
	fmt.Println(err)
	// Output:
	// tools: llm: tool "the weather": a name is 1 to 64 letters, digits, underscores or dashes: invalid request
	// tools: tool "weather": no description
}

func ExampleSet_Call() {
	set, err := tools.NewSet(tools.New("weather", "Looks the weather forecast up.", forecast))
	if err != nil {
		panic(err)
	}
	for _, arguments := range []string{`{"city":"Athens","days":1}`, `{"town":"Athens","days":"one"}`, `{"city":"Lyon"}`} {
		call := llm.ToolCall{ID: "call_1", Name: "weather", Arguments: json.RawMessage(arguments)}
		answer, err := set.Call(context.Background(), call, tools.Options{})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", answer.Status, answer.Text())
	}
	// Output:
	// success: {"sky":"clear","celsius":30}
	// error: invalid arguments for weather: city: is missing; want a string; days: want an integer, got the string "one"; town: there is no such field; the fields are city, days; for example: {"city":"<city>"}
	// error: no forecast for Lyon
}

func ExampleSet_CallAll() {
	set, err := tools.NewSet(tools.New("weather", "Looks the weather forecast up.", forecast))
	if err != nil {
		panic(err)
	}
	calls := []llm.ToolCall{
		{ID: "call_1", Name: "weather", Arguments: json.RawMessage(`{"city":"Athens"}`)},
		{ID: "call_2", Name: "wether", Arguments: json.RawMessage(`{"city":"Athens"}`)},
	}
	answers, err := set.CallAll(context.Background(), calls, tools.Options{})
	if err != nil {
		panic(err)
	}
	for _, answer := range answers {
		fmt.Println(answer.ToolCallID, answer.Text())
	}
	// Output:
	// call_1 {"sky":"clear","celsius":31}
	// call_2 there is no tool "wether"; the tools are weather
}

// An error policy decides which errors of a tool are answers for the model.
func ExampleErrorPolicy() {
	secret := errors.New("dial db-3.internal: refused")
	set, err := tools.NewSet(tools.New("balance", "Looks an account's balance up.",
		func(context.Context, struct{}) (int, error) { return 0, secret }))
	if err != nil {
		panic(err)
	}
	discreet := func(_ llm.ToolCall, err error) (string, error) {
		if errors.Is(err, secret) {
			return "the service is not available", nil
		}
		return "", err
	}
	answer, err := set.Call(context.Background(), llm.ToolCall{ID: "call_1", Name: "balance"}, tools.Options{OnError: discreet})
	fmt.Println(answer.Status, answer.Text(), err)
	// Output: error the service is not available <nil>
}

func ExampleCallFrom() {
	set, err := tools.NewSet(tools.New("order", "Orders a pizza.",
		func(ctx context.Context, _ struct{}) (string, error) {
			call, _ := tools.CallFrom(ctx)
			return "ordered, receipt " + call.ID, nil
		}))
	if err != nil {
		panic(err)
	}
	answer, err := set.Call(context.Background(), llm.ToolCall{ID: "call_7", Name: "order"}, tools.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Text())
	// Output: ordered, receipt call_7
}

func ExamplePending() {
	search := llm.ToolCall{ID: "call_1", Name: "search"}
	weather := llm.ToolCall{ID: "call_2", Name: "weather"}
	for _, call := range tools.Pending([]llm.Message{
		llm.User("How is the weather in Athens?"),
		llm.Assistant("", search, weather),
		llm.ToolResult(search, "nothing found"),
	}) {
		fmt.Println(call.ID, call.Name)
	}
	// Output: call_2 weather
}
