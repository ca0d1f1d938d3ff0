package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func ExampleGenerate() {
	model := llmtest.NewScript(llmtest.Say("Paris."))
	reply, err := llm.Generate(context.Background(), model, llm.Request{Messages: []llm.Message{
		llm.System("Answer in one word."),
		llm.User("What is the capital of France?"),
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Role, reply.Text())
	// Output: assistant Paris.
}

func ExampleStream() {
	model := llmtest.NewScript(llmtest.Say("It is sunny."))
	request := llm.Request{Messages: []llm.Message{llm.User("How is the weather?")}}
	var reply llm.Message
	for chunk, err := range llm.Stream(context.Background(), model, request, &reply) {
		if err != nil {
			panic(err)
		}
		if chunk.Kind == llm.ChunkText {
			fmt.Printf("[%s]", chunk.Text)
		}
	}
	fmt.Println()
	fmt.Println(reply.Text())
	// Output:
	// [It is][ sunn][y.]
	// It is sunny.
}

// A model can be a function. This model does not stream.
func ExampleModelFunc() {
	shout := llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		last := r.Messages[len(r.Messages)-1]
		return llm.Reply(llm.Assistant(strings.ToUpper(last.Text())))
	})
	reply, err := llm.Generate(context.Background(), shout, llm.Request{Messages: []llm.Message{llm.User("hello")}})
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
	// Output: HELLO
}

func ExampleMessage() {
	call := llm.ToolCall{ID: "call_1", Name: "weather", Arguments: json.RawMessage(`{"city":"Athens"}`)}
	for _, m := range []llm.Message{
		llm.User("How is the weather in Athens?"),
		llm.Assistant("", call),
		llm.ToolResult(call, "sunny"),
	} {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
	// Output:
	// {"role":"user","parts":[{"type":"text","text":"How is the weather in Athens?"}]}
	// {"role":"assistant","tool_calls":[{"id":"call_1","name":"weather","arguments":{"city":"Athens"}}]}
	// {"role":"tool","name":"weather","parts":[{"type":"text","text":"sunny"}],"tool_call_id":"call_1","status":"success"}
}

func ExampleUsage_Add() {
	total := llm.Usage{}
	for _, u := range []llm.Usage{{Input: 10, Output: 5, Total: 15}, {Input: 20, Output: 1, Total: 21}} {
		total = total.Add(u)
	}
	fmt.Println(total.Input, total.Output, total.Total)
	// Output: 30 6 36
}

// A task that one agent passes to another has the role user, but is not the user's own words.
func ExampleRelay() {
	said, task := llm.User("Book me a seat."), llm.Relay("Find flights to Oslo.")
	fmt.Println(said.Role, said.Relayed())
	fmt.Println(task.Role, task.Relayed())
	// Output:
	// user false
	// user true
}

func ExampleMessage_String() {
	fmt.Println(llm.User("What day is it?"))
	fmt.Println(llm.Assistant("", llm.ToolCall{ID: "1", Name: "clock", Arguments: json.RawMessage(`{}`)}))
	// Output:
	// user: What day is it?
	// assistant: clock({})
}

// The instructions are the same in every request. The mark asks Anthropic to keep them in its
// cache.
func ExampleMessage_Cache() {
	instructions := llm.System("A long text about the products of the shop.").Cache(time.Hour)
	request := llm.Request{Messages: []llm.Message{instructions, llm.User("Do you have red boats?")}, CacheKey: "shop"}
	stored, err := json.Marshal(request.Messages[0].Parts[0].Metadata)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(stored))
	// Output: {"cache_control":{"ttl":"1h","type":"ephemeral"}}
}

func ExamplePart_Cache() {
	report := llm.File("report.pdf", "application/pdf", []byte("%PDF-1.7")).Cache(0)
	question := llm.User("Sum it up.", report)
	fmt.Println(string(question.Parts[1].Metadata["cache_control"]))
	// Output: {"type":"ephemeral"}
}
