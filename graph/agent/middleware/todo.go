package middleware

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A Todo is one task of a to-do list.
type Todo struct {
	Content string     `json:"content" jsonschema:"the task"`
	Status  TodoStatus `json:"status" enum:"pending,in_progress,completed"`
}

// A TodoStatus is the status of a [Todo].
type TodoStatus string

// The statuses of a task.
const (
	Pending    TodoStatus = "pending"
	InProgress TodoStatus = "in_progress"
	Completed  TodoStatus = "completed"
)

// Todos is the to-do list of an agent with [TodoList]. A sub-agent shares the list of its caller
// if both have it; put Todos into SubAgent.Private to give it a list of its own.
var Todos = state.LastWins[[]Todo]("agent_todos")

// TodosTool is the name of the tool that writes the to-do list.
const TodosTool = "write_todos"

const todoPrompt = `You have the tool write_todos for a to-do list. Use it for work with three steps or more: write the list before you begin, mark a task as in_progress before you work on it and as completed as soon as it is done, and change the list when the plan changes. Do not use it for work of one or two steps.`

type todosIn struct {
	Todos []Todo `json:"todos" jsonschema:"the whole list; it replaces the list before"`
}

// TodoList lets the model plan long work in a to-do list. The list is stored in the channel
// [Todos]. The model sees it in the results of the tool and in the system prompt.
func TodoList() agent.Middleware {
	write := tools.New(TodosTool, "Writes the to-do list of the current work. The list replaces the list before.", func(_ context.Context, in todosIn) (tools.Result, error) {
		return tools.Result{Text: "The list is now:\n" + formatTodos(in.Todos), Update: state.Update{Todos.Put(in.Todos)}}, nil
	})
	return agent.Middleware{
		Name: "to-do list", System: todoPrompt, Tools: []tools.Tool{write}, Channels: []state.Handle{Todos},
		Prompt: func(_ context.Context, r agent.Run) (string, error) {
			list := Todos.Get(r.State)
			if len(list) == 0 {
				return "", nil
			}
			return "The to-do list:\n" + formatTodos(list), nil
		},
	}
}

// formatTodos returns a list with one task a line. A task may have text of a document, so its
// line breaks are escaped and cannot begin another part of the prompt.
func formatTodos(list []Todo) string {
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "- [%s] %s\n", t.Status, tools.VisibleLine(t.Content))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
