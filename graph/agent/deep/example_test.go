package deep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An agent plans, gives the research to a sub-agent, and edits the file that the sub-agent wrote.
func ExampleNew() {
	researcher := llmtest.NewScript(
		llmtest.Call("write_file", `{"file_path":"/notes.md","content":"LangGraph is a library"}`),
		llmtest.Say("Notes are in /notes.md"))
	model := llmtest.NewScript(
		llmtest.Call("write_todos", `{"todos":[{"content":"research","status":"in_progress"},{"content":"write","status":"pending"}]}`),
		llmtest.Call("researcher", `{"task":"what is langgraph"}`),
		llmtest.Call("ls", `{}`),
		llmtest.Call("read_file", `{"file_path":"/notes.md"}`),
		llmtest.Call("edit_file", `{"file_path":"/notes.md","old_string":"a library","new_string":"an agent runtime"}`),
		llmtest.Call("write_todos", `{"todos":[{"content":"research","status":"completed"},{"content":"write","status":"completed"}]}`),
		llmtest.Say("Report done"))
	a := must(deep.New("expert", model, deep.Options{
		System:    "You are an expert researcher.",
		SubAgents: []deep.SubAgent{{Name: "researcher", Description: "Researches one topic.", System: "You research.", Model: researcher}},
		Agent:     agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}},
	}))
	snap := must(a.Thread("1").Invoke(context.Background(), agent.Messages.Put(llm.User("what is langgraph?"))))
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	fmt.Println(middleware.Todos.Get(snap), must(deep.State().Read(context.Background(), snap, "/notes.md")))
	for _, t := range model.Requests()[0].Tools {
		fmt.Println(t.Name)
	}
	fmt.Println("researcher sees", researcher.Requests()[0].Messages[1])
	// Output:
	// user: what is langgraph?
	// assistant: write_todos({"todos":[{"content":"research","status":"in_progress"},{"content":"write","status":"pending"}]})
	// tool: The list is now:
	// - [in_progress] research
	// - [pending] write
	// assistant: researcher({"task":"what is langgraph"})
	// tool: Notes are in /notes.md
	// assistant: ls({})
	// tool: /notes.md (22 bytes)
	// assistant: read_file({"file_path":"/notes.md"})
	// tool: 1	LangGraph is a library
	// assistant: edit_file({"file_path":"/notes.md","old_string":"a library","new_string":"an agent runtime"})
	// tool: Edited /notes.md: 1 replaced.
	// assistant: write_todos({"todos":[{"content":"research","status":"completed"},{"content":"write","status":"completed"}]})
	// tool: The list is now:
	// - [completed] research
	// - [completed] write
	// assistant: Report done
	// [{research completed} {write completed}] LangGraph is an agent runtime
	// write_todos
	// ls
	// read_file
	// write_file
	// edit_file
	// glob
	// grep
	// researcher
	// researcher sees user: what is langgraph
}

// An ordinary agent gets files in its state and in a folder.
func ExampleFileTools() {
	dir := must(os.MkdirTemp("", ""))
	defer func() { _ = os.RemoveAll(dir) }()
	root := must(os.OpenRoot(dir))
	files := deep.Mount(deep.State(), map[string]deep.Files{"/project": deep.Dir(root)})
	model := llmtest.NewScript(
		llmtest.Calls(
			llm.ToolCall{ID: "1", Name: "write_file", Arguments: []byte(`{"file_path":"/project/a.txt","content":"one\ntwo\n"}`)},
			llm.ToolCall{ID: "2", Name: "write_file", Arguments: []byte(`{"file_path":"/b.txt","content":"three\n"}`)}),
		llmtest.Call("grep", `{"pattern":"t.o|three"}`),
		llmtest.Say("ok"))
	a := must(agent.New("editor", model, nil, agent.Options{Use: []agent.Middleware{deep.FileTools(files)}}))
	snap := must(a.Invoke(context.Background(), agent.Messages.Put(llm.User("write"))))
	for _, m := range agent.Messages.All(snap) {
		if m.Role == llm.RoleTool {
			fmt.Println(m.Text())
		}
	}
	fmt.Printf("%q\n", must(root.ReadFile("a.txt")))
	// Output:
	// Wrote /project/a.txt, 8 bytes.
	// Wrote /b.txt, 6 bytes.
	// /b.txt:1: three
	// /project/a.txt:2: two
	// "one\ntwo\n"
}

// The caller puts a file into the state of an agent and reads it after the run.
func ExampleState() {
	ctx, files := context.Background(), deep.State()
	model := llmtest.NewScript(llmtest.Call("edit_file", `{"file_path":"/a.md","old_string":"tee","new_string":"tea"}`), llmtest.Say("ok"))
	a := must(agent.New("editor", model, nil, agent.Options{Use: []agent.Middleware{deep.FileTools(files)}}))
	input := must(files.Write(ctx, nil, "/a.md", "green tee"))
	snap := must(a.Invoke(ctx, append(input, agent.Messages.Put(llm.User("correct it")))...))
	fmt.Println(must(files.Read(ctx, snap, "/a.md")))
	// Output: green tea
}

// A long result is moved to a file, and the model gets the beginning.
func ExampleMoveResults() {
	report := tools.New("report", "Reports.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("a line of the report\n", 5000), nil
	})
	model := llmtest.NewScript(llmtest.Call("report", `{}`), llmtest.Call("glob", `{"pattern":"results/*"}`), llmtest.Say("ok"))
	files := deep.State()
	a := must(agent.New("reader", model, must(tools.NewSet(report)), agent.Options{
		Use:   []agent.Middleware{deep.FileTools(files), deep.MoveResults(files, deep.Results{})},
		Tools: tools.Options{MaxText: 1 << 20},
	}))
	snap := must(a.Invoke(context.Background(), agent.Messages.Put(llm.User("report"))))
	for _, m := range agent.Messages.All(snap) {
		if m.Role == llm.RoleTool {
			line, _, _ := strings.Cut(m.Text(), "\n")
			fmt.Println(line)
		}
	}
	// Output:
	// The result has 105000 bytes and is in the file /results/480ab14e90bcdf7f.txt. Read or search it there. It begins:
	// /results/480ab14e90bcdf7f.txt
}

// The model reads instructions when it needs them.
func ExampleSkills() {
	dir := must(os.MkdirTemp("", ""))
	defer func() { _ = os.RemoveAll(dir) }()
	root := must(os.OpenRoot(dir))
	if err := errors.Join(root.Mkdir("poem", 0o755), root.WriteFile("poem/SKILL.md", []byte("---\nname: poem\ndescription: How to write a poem.\n---\nRhyme."), 0o644)); err != nil {
		panic(err)
	}
	files := deep.Mount(deep.State(), map[string]deep.Files{"/skills": deep.Dir(root)})
	model := llmtest.NewScript(llmtest.Say("ok"))
	a := must(agent.New("poet", model, nil, agent.Options{Use: []agent.Middleware{deep.Skills(files, "/skills")}}))
	must(a.Invoke(context.Background(), agent.Messages.Put(llm.User("a poem"))))
	fmt.Println(model.Requests()[0].Messages[0].Text())
	// Output:
	// You have these skills. Before you do work that a skill describes, read its file with read_file and follow it:
	// - poem: How to write a poem. (/skills/poem/SKILL.md)
}
