package memory_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

func newHistory() *memory.Conversations {
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	history := m.Conversations()
	return history
}

func Example_conversation() {
	ctx := context.Background()
	history := newHistory()
	ann := memory.Scope{User: "ann"}
	id := "" // the first request names no session
	for _, question := range []string{"What is a weft?", "And a warp?"} {
		resumed, before, err := history.Resume(ctx, ann, id)
		if err != nil {
			panic(err)
		}
		reply := fmt.Sprintf("An answer that knows of %d messages.", len(before))
		_, err = history.Append(ctx, ann, memory.Turn{
			Session:  resumed,
			Messages: []llm.Message{llm.User(question), llm.Assistant(reply)},
		})
		if err != nil {
			panic(err)
		}
		id = resumed
	}
	messages, err := history.Load(ctx, ann, id)
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		fmt.Println(m.Position, m)
	}
	// Output:
	// 1 user: What is a weft?
	// 2 assistant: An answer that knows of 0 messages.
	// 3 user: And a warp?
	// 4 assistant: An answer that knows of 2 messages.
}

func ExampleConversations_Append_answersOnly() {
	ctx := context.Background()
	history := newHistory()
	ann := memory.Scope{User: "ann"}
	call := llm.ToolCall{ID: "c1", Name: "weather", Arguments: []byte(`{"city":"Athens"}`)}
	_, err := history.Append(ctx, ann, memory.Turn{
		Session: "s", Mode: memory.AnswersOnly,
		Messages: []llm.Message{
			llm.User("Is it warm in Athens?"),
			llm.Assistant("", call),
			llm.ToolResult(call, `{"celsius":31}`),
			llm.Assistant("Yes, 31 °C."),
		},
	})
	if err != nil {
		panic(err)
	}
	messages, err := history.Load(ctx, ann, "s")
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		fmt.Println(m)
	}
	// Output:
	// user: Is it warm in Athens?
	// assistant: Yes, 31 °C.
}

// A program that has the whole conversation in memory saves the end of it after each turn. Messages that are
// already saved are not stored twice, even without ids.
func ExampleConversations_Append_once() {
	ctx := context.Background()
	history := newHistory()
	ann := memory.Scope{User: "ann"}
	picture := llm.User("What is this?", llm.Image("image/png", []byte{0x89, 'P', 'N', 'G'}))
	for range 2 {
		_, err := history.Append(ctx, ann, memory.Turn{
			Session: "s", Last: 2, Once: true,
			Messages: []llm.Message{llm.User("Hello"), picture, llm.Assistant("A very small picture.")},
		})
		if err != nil {
			panic(err)
		}
	}
	messages, err := history.Load(ctx, ann, "s")
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		metadata, err := memory.MessageMetadata(m.Message)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s %s\n", m, metadata)
	}
	// Output:
	// user: What is this? {"images":[{"data":"iVBORw==","mimeType":"image/png"}]}
	// assistant: A very small picture.
}

func ExampleConversations_FromLangChain() {
	ctx := context.Background()
	history := newHistory()
	ann := memory.Scope{User: "ann"}
	// A row of a table that Python writes.
	row := []byte(`[{"type":"human","data":{"content":"Hi","additional_kwargs":{"source":"web"},"id":null,"example":false}}]`)
	if _, err := history.FromLangChain(ctx, ann, "s", row); err != nil {
		panic(err)
	}
	if _, err := history.Append(ctx, ann, memory.Turn{Session: "s", Messages: []llm.Message{{ID: "a1", Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("Hello")}}}}); err != nil {
		panic(err)
	}
	messages, err := history.ToLangChain(ctx, ann, "s")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(messages[:len(row)-1]))
	fmt.Println(bytes.Count(messages, []byte(`"type":"ai"`)), "reply")
	// Output:
	// [{"type":"human","data":{"content":"Hi","additional_kwargs":{"source":"web"},"id":null,"example":false}}
	// 1 reply
}

func ExampleConversations_Search() {
	ctx := context.Background()
	history := newHistory()
	ann := memory.Scope{User: "ann"}
	for id, text := range map[string]string{"monday": "My flight to Oslo is on Friday", "tuesday": "How do I cook rice?"} {
		_, err := history.Append(ctx, ann, memory.Turn{Session: id, Messages: []llm.Message{llm.User(text)}})
		if err != nil {
			panic(err)
		}
	}
	found, err := history.Search(ctx, memory.Question{Reach: ann.Only(), Text: "when does the flight leave?"})
	if err != nil {
		panic(err)
	}
	for _, f := range found {
		fmt.Println(f.Item.Session, f.Item.Position, f.Item.Text())
	}
	// Output:
	// monday 1 My flight to Oslo is on Friday
}

func ExampleConversations_List() {
	ctx := context.Background()
	history := newHistory()
	ann := memory.Scope{User: "ann"}
	for _, id := range []string{"one", "two", "three"} {
		session, err := history.Append(ctx, ann, memory.Turn{Session: id, Messages: []llm.Message{llm.User("Hi")}})
		if err != nil {
			panic(err)
		}
		session.Title = "Session " + id
		if _, err := history.Update(ctx, ann, session); err != nil {
			panic(err)
		}
	}
	q := memory.SessionQuery{Reach: ann.Only(), Limit: 2}
	for page := 1; page <= 2; page++ {
		for session, err := range history.List(ctx, q) {
			if err != nil {
				panic(err)
			}
			fmt.Println(page, session.Title, session.Messages)
			q.After = &session
		}
	}
	// Output:
	// 1 Session three 1
	// 1 Session two 1
	// 2 Session one 1
}

func ExampleConversations_Forget() {
	ctx := context.Background()
	history := newHistory()
	_, err := history.Append(ctx, memory.Scope{Tenant: "acme", Workspace: "design", User: "ann"}, memory.Turn{Messages: []llm.Message{llm.User("Hi")}})
	if err != nil {
		panic(err)
	}
	n, err := history.Forget(ctx, memory.Scope{Tenant: "acme", User: "ann"}) // in every workspace
	fmt.Println("forgot", n, err)
	// Output:
	// forgot 1 <nil>
}
