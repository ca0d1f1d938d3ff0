package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
)

func openAnthropic(t *testing.T, url string, client *http.Client) llms.Model {
	t.Helper()
	m, err := anthropic.New(anthropic.WithToken("key-of-the-test"), anthropic.WithModel("claude-sonnet-4-5"), anthropic.WithBaseURL(url), anthropic.WithHTTPClient(client))
	require.NoError(t, err)
	return m
}

// blocks returns the content of a reply of the Messages API.
func blocks(s said) []object {
	var out []object
	if s.reasoning != "" {
		out = append(out, object{"type": "thinking", "thinking": s.reasoning, "signature": "SIGNED"})
	}
	if text := s.text(); text != "" {
		out = append(out, object{"type": "text", "text": text})
	}
	for _, c := range s.calls {
		out = append(out, object{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.arguments)})
	}
	return out
}

func anthropicStop(s said) string {
	return map[string]string{"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "filter": "refusal"}[s.stop]
}

func anthropicReply(s said) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "content": blocks(s), "stop_reason": anthropicStop(s),
		"usage": object{"input_tokens": s.in - s.cached, "output_tokens": s.out, "cache_read_input_tokens": s.cached},
	}
}

func sayAnthropic(s said) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if streams(r) {
			sse(anthropicEvents(s)...)(w, r)
			return
		}
		jsonBody(toJSON(anthropicReply(s)))(w, r)
	}
}

func anthropicEvents(s said) []string {
	events := []string{toJSON(object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "content": []any{},
		"usage": object{"input_tokens": s.in - s.cached, "output_tokens": 1, "cache_read_input_tokens": s.cached},
	}}), `{"type":"ping"}`}
	index := 0
	block := func(start object, deltas ...object) {
		events = append(events, toJSON(object{"type": "content_block_start", "index": index, "content_block": start}))
		for _, d := range deltas {
			events = append(events, toJSON(object{"type": "content_block_delta", "index": index, "delta": d}))
		}
		events = append(events, toJSON(object{"type": "content_block_stop", "index": index}))
		index++
	}
	if s.reasoning != "" {
		block(object{"type": "thinking", "thinking": ""},
			object{"type": "thinking_delta", "thinking": s.reasoning}, object{"type": "signature_delta", "signature": "SIGNED"})
	}
	if len(s.texts) > 0 {
		var deltas []object
		for _, text := range s.texts {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range s.calls {
		half := len(c.arguments) / 2
		block(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.arguments[:half]}, object{"type": "input_json_delta", "partial_json": c.arguments[half:]})
	}
	return append(events,
		toJSON(object{"type": "message_delta", "delta": object{"stop_reason": anthropicStop(s)}, "usage": object{"output_tokens": s.out}}),
		`{"type":"message_stop"}`)
}

func readAnthropic(a asked) sent {
	s := sent{System: str(a.body["system"])}
	for _, m := range list(a.body["messages"]) {
		tn := turn{Role: str(m["role"])}
		for _, block := range list(m["content"]) {
			var part string
			switch block["type"] {
			case "text":
				part = str(block["text"])
			case "image":
				source := block["source"].(object)
				part = fmt.Sprintf("image:data:%s;base64,%s", source["media_type"], source["data"])
			case "tool_use":
				part = fmt.Sprintf("call:%s:%s%s", block["id"], block["name"], toJSON(block["input"]))
			case "tool_result":
				part = fmt.Sprintf("result:%s:%s", block["tool_use_id"], block["content"])
				if block["is_error"] == true {
					part += "!"
				}
			default:
				part = toJSON(block)
			}
			// Join adjacent messages of one role, as the API does.
			if n := len(s.Turns); n > 0 && s.Turns[n-1].Role == tn.Role && len(tn.Parts) == 0 {
				s.Turns[n-1].Parts = append(s.Turns[n-1].Parts, part)
				continue
			}
			tn.Parts = append(tn.Parts, part)
		}
		if len(tn.Parts) > 0 {
			s.Turns = append(s.Turns, tn)
		}
	}
	for _, tool := range list(a.body["tools"]) {
		s.Tools = append(s.Tools, str(tool["name"]))
	}
	if c := a.body["tool_choice"]; c != nil {
		s.Choice = toJSON(c)
	}
	return s
}
