package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

type chat struct {
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// server starts a server that has the chat API of OpenAI, and returns its URL. The server
// streams the results of reply as deltas.
func server(t *testing.T, reply func(chat) []string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c chat
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&c), "the request is not JSON")
		w.Header().Set("Content-Type", "text/event-stream")
		for _, delta := range reply(c) {
			if _, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta); err != nil {
				return
			}
		}
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func say(texts ...string) []string {
	var deltas []string
	for _, text := range texts {
		deltas = append(deltas, fmt.Sprintf(`{"content":%q}`, text))
	}
	return deltas
}

func call(index int, name, arguments string) string {
	return fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}]}`, index, index, name, arguments)
}

// passEverything is a reply function that answers every trial correctly.
func passEverything(c chat) []string {
	last := c.Messages[len(c.Messages)-1]
	asked := c.Messages[0].Content + c.Messages[min(1, len(c.Messages)-1)].Content
	switch {
	case len(c.Tools) > 0 && c.Tools[0].Function.Name != "stock":
		return []string{call(0, c.Tools[0].Function.Name, `{"name":"Lisbon","country":"Portugal","coastal":true}`)}
	case last.Role == "tool":
		return say("There are 4,817 blue ", "and 2,963 green widgets.")
	case strings.Contains(asked, "green"):
		return []string{call(0, "stock", `{"colour":"blue"}`), call(1, "stock", `{"colour":"green"}`)}
	case strings.Contains(asked, "blue"):
		return []string{call(0, "stock", `{"colour":"blue"}`)}
	case strings.Contains(asked, "Count"):
		return say("one, two, three, four, five, ", "six, seven, eight, nine, ten")
	}
	return say("Paris")
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestRunReportsFaultsOfTheModel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply func(chat) []string
		code  int
		want  []string
	}{
		{"a model that passes", passEverything, 0, []string{"live: 5 of 5 trials passed"}},
		{"a model that guesses", func(chat) []string { return say("I think that it is 42.") }, 1, []string{
			"FAIL  plain answer", "the answer does not contain Paris", "FAIL  tool", "the model never asked the tool for blue",
			"FAIL  structured", "live: 0 of 5 trials passed",
		}},
		{"a model with invalid calls", func(c chat) []string {
			if len(c.Tools) > 0 && len(c.Messages) == 2 {
				return []string{call(0, "stock", `{"colour":`)}
			}
			return passEverything(c)
		}, 1, []string{"arguments that are not JSON"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			code := run(t.Context(), environment(map[string]string{"OPENAI_BASE_URL": server(t, test.reply), "LLM_MODEL": "m"}), &out)
			assert.Equal(t, test.code, code, "exit status")
			for _, want := range test.want {
				assert.Contains(t, out.String(), want)
			}
		})
	}
}

func TestRunWithoutAModelNamesTheVariable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	assert.Equal(t, 2, run(t.Context(), environment(nil), &out), "exit status")
	assert.Contains(t, out.String(), "LLM_PROVIDER")
}

func TestRunReportsAnUnreachableServer(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	code := run(t.Context(), environment(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "m"}), &out)
	assert.Equal(t, 1, code, "exit status")
	assert.Equal(t, 5, strings.Count(out.String(), "connection failed"), out.String())
	assert.NotContains(t, out.String(), "never asked")
}
