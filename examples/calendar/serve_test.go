package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
)

// site is a server of the program, and a client of it.
type site struct {
	t   *testing.T
	url string
}

// serveFolder serves the data in a folder. The function that it returns ends the server.
func serveFolder(t *testing.T, dir, database string) (*site, func()) {
	t.Helper()
	s := &session{options: options{
		dir: filepath.Join(dir, "calendar-data"), calendar: filepath.Join(dir, "mine.ics"), serve: "127.0.0.1:0", offline: true, database: database,
	}, out: io.Discard}
	require.NoError(t, s.open(t.Context()))
	srv, err := s.server(t.Context())
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	return &site{t, web.URL}, func() {
		web.Close()
		assert.NoError(t, srv.Close(context.WithoutCancel(t.Context())))
		for i := range s.close {
			assert.NoError(t, s.close[len(s.close)-1-i]())
		}
	}
}

// ask makes a request, and returns the status and the body of the answer.
func (s *site) ask(method, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, string(data)
}

// told has the parts of a thread's state that the tests read.
type told struct {
	Values struct {
		Final    string `json:"final_response"`
		Messages []struct {
			Type      string
			Content   any
			ToolCalls []struct{ Name string } `json:"tool_calls"`
		} `json:"conversation_history"`
	}
	Tasks []struct {
		Interrupts []struct {
			ID    string
			Value struct{ Title string }
		}
	}
}

// run makes a run of a thread, waits for it, and returns the state of the thread.
func (s *site) run(thread, payload string) told {
	s.t.Helper()
	status, body := s.ask(http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"calendar","if_not_exists":"create",`+payload+`}`)
	require.Equal(s.t, http.StatusOK, status, body)
	return s.state(thread)
}

func (s *site) state(thread string) (state told) {
	s.t.Helper()
	status, body := s.ask(http.MethodGet, "/threads/"+thread+"/state", "")
	require.Equal(s.t, http.StatusOK, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &state))
	return state
}

func says(text string) string {
	return `"input":{"conversation_history":[{"type":"human","content":"` + text + `"}]}`
}

func answers(id, text string) string { return `"command":{"resume":{"` + id + `":"` + text + `"}}` }

// Over HTTP, a message starts a turn. Another server has the open question, and accepts only an answer with the
// question's id.
func TestServed(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"SQLite": "", "PostgreSQL": pgtest.Database(t, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			const thread = "11111111-1111-4111-8111-111111111111"
			s, stop := serveFolder(t, f.dir, address)
			assert.Equal(t, "I've added the task 'rest'.", s.run(thread, says("add a task to rest")).Values.Final)
			asked := s.run(thread, says("delete my meeting with John"))
			require.Len(t, asked.Tasks, 1)
			require.Len(t, asked.Tasks[0].Interrupts, 1)
			question := asked.Tasks[0].Interrupts[0]
			assert.Regexp(t, `^This will delete the calendar event: 'Meeting with John' on .*\. Confirm\?$`, question.Value.Title)
			stop()

			s, stop = serveFolder(t, f.dir, address)
			defer stop()
			assert.Equal(t, asked.Tasks, s.state(thread).Tasks, "the question is asked by another server")
			_, body := s.ask(http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"calendar",`+answers("another", "yes")+`}`)
			assert.Contains(t, body, "the answer does not fit the question")
			titles, _ := f.left()
			assert.Equal(t, "Dentist, Meeting with John", titles)
			ended := s.run(thread, answers(question.ID, "yes"))
			assert.Regexp(t, "^I've deleted your meeting with John", ended.Values.Final)
			assert.Empty(t, ended.Tasks)
			titles, _ = f.left()
			assert.Equal(t, "Dentist", titles)
			last := ended.Values.Messages[len(ended.Values.Messages)-3:]
			assert.Equal(t, []string{"ai", "tool", "ai"}, []string{last[0].Type, last[1].Type, last[2].Type})
			assert.Equal(t, "invoke_tool", last[0].ToolCalls[0].Name, "the page shows what ran as a call")
			assert.Equal(t, ended.Values.Final, last[2].Content)

			assert.Len(t, s.run(thread, says("cancel the dentist")).Tasks, 1)
			assert.Equal(t, "Cancelled: I have not done it.", s.run(thread, says("no")).Values.Final, "a message is an answer, too")
		})
	}
}

// The first page is the chat.
func TestPages(t *testing.T) {
	t.Parallel()
	s, stop := serveFolder(t, newFolder(t).dir, "")
	defer stop()
	for path, want := range map[string]string{"/": "<title>Calendar</title>", "/studio/": "Weft Studio"} {
		status, body := s.ask(http.MethodGet, path, "")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, body, want)
	}
}
