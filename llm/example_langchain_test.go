package llm_test

import (
	"fmt"

	"github.com/weft-go/weft/llm"
)

// A row that LangChain stored is read and written again. Data for which Weft has no field, such as
// the artifact, is kept.
func ExampleFromLangChain() {
	row := []byte(`[
		{"type":"human","data":{"content":"How is the weather?","id":"h1","additional_kwargs":{},"response_metadata":{}}},
		{"type":"ai","data":{"content":"","id":"a1","tool_calls":[{"name":"weather","args":{"city":"Athens"},"id":"call_1","type":"tool_call"}],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{}}},
		{"type":"tool","data":{"content":"sunny","tool_call_id":"call_1","artifact":{"station":7},"additional_kwargs":{},"response_metadata":{}}}
	]`)
	messages, err := llm.FromLangChain(row)
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		fmt.Println(m)
	}
	written, err := llm.ToLangChain(messages[2:])
	if err != nil {
		panic(err)
	}
	fmt.Println(string(written))
	// Output:
	// user: How is the weather?
	// assistant: weather({"city":"Athens"})
	// tool: sunny
	// [{"data":{"additional_kwargs":{},"artifact":{"station":7},"content":"sunny","response_metadata":{},"tool_call_id":"call_1"},"type":"tool"}]
}

func ExampleToLangChain() {
	written, err := llm.ToLangChain([]llm.Message{llm.User("hello")})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(written))
	// Output: [{"data":{"additional_kwargs":{},"content":"hello","response_metadata":{}},"type":"human"}]
}
