package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/csvanalyst/internal/api"
	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm/llmtest"
)

// said is a message as clients of the server see it.
type said struct {
	ID, Type string
	Content  any
	Calls    []struct{ ID, Name string } `json:"tool_calls"`
	CallID   string                      `json:"tool_call_id"`
}

// line returns the message as one line: its type, and its text or the names of its calls.
func (m said) line() string {
	text, _ := m.Content.(string)
	for _, c := range m.Calls {
		text += " " + c.Name
	}
	return m.Type + ": " + strings.TrimSpace(text)
}

func (a *app) into(v any, r reply, status int) {
	a.t.Helper()
	require.Equal(a.t, status, r.status, r.body)
	require.NoError(a.t, json.Unmarshal([]byte(r.body), v), r.body)
}

// thread makes a thread of the server with a file, as the chat page does.
func (a *app) thread(name, content string) (id string, file api.Resource) {
	a.t.Helper()
	var thread struct {
		ID string `json:"thread_id"`
	}
	a.into(&thread, a.json("POST", "/threads", "{}"), http.StatusOK)
	a.into(&file, a.uploadTo("/api/files?thread="+thread.ID, name, content), http.StatusCreated)
	return thread.ID, file
}

// input is the body of a run with a message.
func input(content any, more string) string {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // texts and blocks can be encoded
	}
	return `{"assistant_id":"csvanalyst","input":{"messages":[{"role":"user","content":` + string(data) + `}]}` + more + `}`
}

// lines runs a thread with a question, and returns its messages as lines.
func (a *app) lines(thread, question string) []string {
	a.t.Helper()
	var state struct{ Messages []said }
	a.into(&state, a.json("POST", "/threads/"+thread+"/runs/wait", input(question, "")), http.StatusOK)
	out := []string{}
	for _, m := range state.Messages {
		out = append(out, m.line())
	}
	return out
}

// A thread of the page is a session. Its files and messages are in the tables, until the thread is deleted.
func TestThreadOfThePageIsASession(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id, file := a.thread("sales.csv", sales)
	assert.Equal(t, "sales.csv: 5 rows, 5 columns: id, city, product, amount, day", file.Name+": "+file.Note)
	lines := a.lines(id, "What is the total amount by city?")
	require.Len(t, lines, 4)
	assert.Equal(t, "ai: aggregateCsvData", lines[1])
	assert.True(t, strings.HasPrefix(lines[2], `tool: {"columns":["city","sum amount"],"rows":[["Athens",50],`), lines[2])
	assert.True(t, strings.HasPrefix(lines[3], "ai: The total amount by city, in sales.csv:\n- Athens: 50"), lines[3])
	lines = a.lines(id, "How many rows are there?")
	assert.Equal(t, "ai: There are 5 rows in sales.csv.", lines[len(lines)-1])

	var stored []struct{ Role, Content string }
	a.into(&stored, a.do("GET", "/api/sessions/"+id+"/messages", ""), http.StatusOK)
	require.Len(t, stored, 4)
	assert.Equal(t, "user What is the total amount by city?", stored[0].Role+" "+stored[0].Content)
	var sessions []api.Session
	a.into(&sessions, a.do("GET", "/api/sessions", ""), http.StatusOK)
	require.Len(t, sessions, 1)
	assert.Equal(t, []string{id, "What is the total amount by city?"}, []string{sessions[0].ID, sessions[0].Title})
	for path, body := range map[string]string{"/messages": `{"message":"x"}`, "/resume": ""} {
		r := a.json("POST", "/api/sessions/"+id+path, body)
		assert.Equal(t, http.StatusConflict, r.status, r.body)
		assert.Contains(t, r.body, "use /threads/"+id)
	}

	a.token = "bob"
	for path, r := range map[string]reply{
		"upload":  a.uploadTo("/api/files?thread="+id, "x.csv", sales),
		"removal": a.do("DELETE", "/api/files?thread="+id+"&id="+file.ID, ""),
		"session": a.do("GET", "/api/sessions/"+id, ""),
		"run":     a.json("POST", "/threads/"+id+"/runs/wait", input("x", "")),
		"thread":  a.do("DELETE", "/threads/"+id, ""),
	} {
		assert.Equal(t, http.StatusNotFound, r.status, path)
	}
	a.token = ""
	a.wantFiles(2)
	r := a.do("DELETE", "/threads/"+id, "")
	require.Equal(t, http.StatusNoContent, r.status, r.body)
	a.wantFiles(0)
	assert.Equal(t, http.StatusNotFound, a.do("GET", "/api/sessions/"+id, "").status)
}

func TestFileOfAThreadIsRemoved(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id, file := a.thread("sales.csv", sales)
	other, _ := a.thread("other.csv", sales)
	assert.Equal(t, http.StatusNotFound, a.do("DELETE", "/api/files?thread="+other+"&id="+file.ID, "").status)
	assert.Equal(t, http.StatusNoContent, a.do("DELETE", "/api/files?thread="+id+"&id="+file.ID, "").status)
	assert.Equal(t, http.StatusNotFound, a.do("DELETE", "/api/files?thread="+id+"&id="+file.ID, "").status)
	a.wantFiles(2)
	r := a.uploadTo("/api/files?thread="+id, "a.csv", "PK\x03\x04")
	assert.Equal(t, http.StatusUnprocessableEntity, r.status)
	assert.Contains(t, r.body, "This file cannot be used: ")
	assert.Equal(t, http.StatusNotFound, a.uploadTo("/api/files?thread=none", "a.csv", sales).status)
}

// A run on the server streams the tool result and the words of the answer.
func TestStreamOfAConversation(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id, _ := a.thread("sales.csv", sales)
	r := a.json("POST", "/threads/"+id+"/runs/stream", input("how many rows in Athens?", `,"stream_mode":["messages-tuple","values"]`))
	var order []string
	text, last := "", ""
	for event := range strings.SplitSeq(r.body, "\n\n") {
		_, data, _ := strings.Cut(event, "data: ")
		var parts []json.RawMessage
		if !strings.Contains(event, "event: messages") || json.Unmarshal([]byte(data), &parts) != nil {
			continue
		}
		var m said
		require.NoError(t, json.Unmarshal(parts[0], &m))
		if len(order) == 0 || order[len(order)-1] != m.Type {
			order = append(order, m.Type)
		}
		if m.Type == "AIMessageChunk" {
			piece, _ := m.Content.(string)
			if m.ID != last {
				text, last = "", m.ID
			}
			text += piece
		}
	}
	assert.Equal(t, "AIMessageChunk tool AIMessageChunk", strings.Join(order, " "))
	assert.Equal(t, "There are 2 rows in sales.csv where city is Athens.", text)
	assert.Contains(t, r.body, last, "the answer in the state has the id of its pieces")
}

// The images of a message and of earlier messages reach the model. The server refuses an invalid image.
func TestImagesOfAConversation(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"))
	a := start(t, t.TempDir(), model)
	id, _ := a.thread("sales.csv", sales)
	image := func(data []byte) []any {
		return []any{map[string]any{"type": "text", "text": "what is it?"}, map[string]any{"type": "image_url", "image_url": map[string]string{"url": dataURL(data)}}}
	}
	var state struct{ Messages []said }
	a.into(&state, a.json("POST", "/threads/"+id+"/runs/wait", input(image(pixel(t)), "")), http.StatusOK)
	assert.Equal(t, []string{"human: ", "ai: one", "human: And now?", "ai: two"}, a.lines(id, "And now?"))
	told := model.Requests()[1].Messages
	require.Len(t, told, 4) // the prompt, the question with the image, the answer, the question
	assert.True(t, bytes.Equal(pixel(t), told[1].Parts[1].Data), "the image of the first question")
	assert.Equal(t, "And now?", told[3].Text())
	r := a.json("POST", "/threads/"+id+"/runs/wait", input(image([]byte("no image")), ""))
	assert.Contains(t, r.body, "only PNG, JPEG, GIF and WebP images can be used")
}

func TestCredentialsOfAnotherKind(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	for header, want := range map[string]int{
		"": 200, "Bearer x": 200, "bearer x": 200, "Token x": 401, "Basic eDp5": 401, "Bearer": 401, "Bearer ": 401, "x": 401,
	} {
		var headers []string
		if header != "" {
			headers = append(headers, "Authorization: "+header)
		}
		assert.Equal(t, want, a.do("GET", "/api/sessions", "", headers...).status, header)
		assert.Equal(t, want, a.json("POST", "/threads/search", "{}", headers...).status, header)
	}
	assert.Equal(t, http.StatusForbidden, a.do("GET", "/api/sessions", "", "Origin: https://evil.example").status)
}

// A program that is killed in the middle of a run of the server finishes the run when it is started again.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(t *testing.T) []string{
		"sqlite":   func(*testing.T) []string { return nil },
		"postgres": func(t *testing.T) []string { return []string{"-schema=" + pgtest.Schema(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, flags := t.TempDir(), more(t)
			first, kill := child(t, folder, "1m", flags...)
			id, _ := first.thread("sales.csv", sales)
			body := input("total amount in Athens", `,"stream_mode":["messages-tuple"],"on_disconnect":"continue"`)
			r, err := http.NewRequestWithContext(t.Context(), "POST", first.url+"/threads/"+id+"/runs/stream", strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			res, err := first.client.Do(r)
			require.NoError(t, err)
			// Kill the program after the tool result, while it streams the answer.
			results := 0
			for lines := bufio.NewScanner(res.Body); results < 1 && lines.Scan(); {
				if strings.Contains(lines.Text(), `"type":"tool"`) {
					results++
				}
			}
			kill()
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			require.Equal(t, 1, results)

			second, _ := child(t, folder, "0s", flags...)
			var all []struct {
				ID string `json:"run_id"`
			}
			second.into(&all, second.do("GET", "/threads/"+id+"/runs", ""), http.StatusOK)
			require.Len(t, all, 1)
			var state struct{ Messages []said }
			second.into(&state, second.do("GET", "/threads/"+id+"/runs/"+all[0].ID+"/join", ""), http.StatusOK)
			require.Len(t, state.Messages, 4, "the question, a call with its result, and the answer")
			assert.Equal(t, "ai: The total amount is 50, in sales.csv where city is Athens.", state.Messages[3].line())
			stored := second.do("GET", "/api/sessions/"+id+"/messages", "").body
			assert.Equal(t, 2, strings.Count(stored, `"role"`), stored)
			lines := second.lines(id, "how many rows?")
			assert.Equal(t, "ai: There are 5 rows in sales.csv.", lines[len(lines)-1])
		})
	}
}
