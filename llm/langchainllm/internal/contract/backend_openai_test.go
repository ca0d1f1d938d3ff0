package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

func openOpenAI(t *testing.T, url string, client *http.Client) llms.Model {
	t.Helper()
	m, err := openai.New(openai.WithToken("key-of-the-test"), openai.WithModel("gpt-4o"), openai.WithBaseURL(url), openai.WithHTTPClient(client))
	require.NoError(t, err)
	return m
}

func sayOpenAI(s said) http.HandlerFunc {
	stop := map[string]string{"end": "stop", "calls": "tool_calls", "length": "length", "filter": "content_filter"}[s.stop]
	usage := object{
		"prompt_tokens": s.in, "completion_tokens": s.out, "total_tokens": s.in + s.out,
		"prompt_tokens_details": object{"cached_tokens": s.cached},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if streams(r) {
			sse(openAIEvents(s, stop, usage)...)(w, r)
			return
		}
		message := object{"role": "assistant", "content": s.text()}
		if s.reasoning != "" {
			message["reasoning_content"] = s.reasoning
		}
		for _, c := range s.calls {
			list, _ := message["tool_calls"].([]object)
			message["tool_calls"] = append(list, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments}})
		}
		jsonBody(toJSON(object{"choices": []object{{"index": 0, "message": message, "finish_reason": stop}}, "usage": usage}))(w, r)
	}
}

func openAIEvents(s said, stop string, usage object) []string {
	delta := func(d object) string { return toJSON(object{"choices": []object{{"index": 0, "delta": d}}}) }
	piece := func(i int, d object) string {
		d["index"] = i
		return delta(object{"tool_calls": []object{d}})
	}
	events := []string{delta(object{"role": "assistant", "content": ""})}
	if s.reasoning != "" {
		events = append(events, delta(object{"reasoning_content": s.reasoning}))
	}
	for _, text := range s.texts {
		events = append(events, delta(object{"content": text}))
	}
	var later []string
	for i, c := range s.calls {
		half := len(c.arguments) / 2
		events = append(events, piece(i, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": ""}}))
		first, second := piece(i, object{"function": object{"arguments": c.arguments[:half]}}), piece(i, object{"function": object{"arguments": c.arguments[half:]}})
		if s.interleaved {
			events = append(events, first)
			later = append(later, second)
			continue
		}
		events = append(events, first, second)
	}
	events = append(events, later...)
	return append(events,
		toJSON(object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": stop}}}),
		toJSON(object{"choices": []object{}, "usage": usage}), "[DONE]")
}

func readOpenAI(a asked) sent {
	var s sent
	for _, m := range list(a.body["messages"]) {
		tn := turn{Role: str(m["role"])}
		texts := list(m["content"])
		if text, ok := m["content"].(string); ok && text != "" {
			texts = []object{{"type": "text", "text": text}}
		}
		for _, part := range texts {
			switch part["type"] {
			case "text":
				tn.Parts = append(tn.Parts, str(part["text"]))
			case "image_url":
				tn.Parts = append(tn.Parts, "image:"+str(part["image_url"].(object)["url"]))
			default:
				tn.Parts = append(tn.Parts, "UNKNOWN "+toJSON(part))
			}
		}
		for _, c := range list(m["tool_calls"]) {
			f := c["function"].(object)
			tn.Parts = append(tn.Parts, fmt.Sprintf("call:%s:%s%s", c["id"], f["name"], f["arguments"]))
		}
		switch tn.Role {
		case "system":
			s.System += strings.Join(tn.Parts, "|")
			continue
		case "tool":
			tn.Parts = []string{fmt.Sprintf("result:%s:%s", m["tool_call_id"], strings.Join(tn.Parts, "|"))}
		}
		s.Turns = append(s.Turns, tn)
	}
	for _, tool := range list(a.body["tools"]) {
		s.Tools = append(s.Tools, str(tool["function"].(object)["name"]))
	}
	if c := a.body["tool_choice"]; c != nil {
		s.Choice = toJSON(c)
	}
	return s
}
