package protocolgraphs

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	request = state.LastWins[string]("request")
	answers = state.Append[json.RawMessage]("answers")
	result  = state.LastWins[string]("result")
	asking  = graph.NewInterrupt[json.RawMessage, json.RawMessage]("ask")
)

// compact returns an answer as text: a string as it is, and any other value as JSON.
func compact(answer json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return text, nil
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return "", err
	}
	data, err := json.Marshal(v) // the keys of maps are sorted
	return string(data), err
}

func approveGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("approve", request, answers, result)
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		answer, err := asking.Wait(ctx, encoded(map[string]any{"question": "approve " + request.Get(s) + "?", "options": []string{"yes", "no"}}))
		if err != nil {
			return nil, err
		}
		return state.Update{answers.Put(answer)}, nil
	})
	b.Node("finish", func(_ context.Context, s state.View) (state.Update, error) {
		list := answers.Get(s)
		text, err := compact(list[len(list)-1])
		return state.Update{result.Put(request.Get(s) + ": " + text)}, err
	})
	b.Edge(graph.Start, "ask")
	b.Edge("ask", "finish")
	b.Edge("finish", graph.End)
	return b.Compile(o)
}

func approve2Graph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("approve2", request, answers, result)
	for _, side := range []string{"left", "right"} {
		b.Node(side, func(ctx context.Context, s state.View) (state.Update, error) {
			answer, err := asking.Wait(ctx, encoded(map[string]any{"side": side, "request": request.Get(s)}))
			if err != nil {
				return nil, err
			}
			text, err := compact(answer)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(side + "=" + text)
			return state.Update{answers.Put(data)}, err
		})
		b.Edge(graph.Start, side)
	}
	b.Node("both", func(_ context.Context, s state.View) (state.Update, error) {
		var texts []string
		for _, a := range answers.Get(s) {
			text, err := compact(a)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		return state.Update{result.Put(strings.Join(texts, ","))}, nil
	})
	b.Join("both", "left", "right")
	b.Edge("both", graph.End)
	return b.Compile(o)
}
