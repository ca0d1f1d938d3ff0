package eval_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/eval"
	"github.com/weft-go/weft/llm/llmtest"
)

const questions = `{"name":"France","input":"What is the capital of France?","want":"Paris"}
{"name":"Spain","input":"What is the capital of Spain?","want":"Madrid"}
`

func Example() {
	cases, err := eval.Read(strings.NewReader(questions))
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript(llmtest.Say("Paris"), llmtest.Say("Barcelona"))
	ask := func(ctx context.Context, c eval.Case) (eval.Answer, error) {
		reply, err := llm.Generate(ctx, model, llm.Request{Messages: []llm.Message{llm.User(c.Text())}})
		return eval.Conversation([]llm.Message{reply}), err
	}
	report, err := eval.Run(context.Background(), cases, ask, []eval.Scorer{eval.Exact()}, eval.Options{Concurrency: 1})
	if err != nil {
		panic(err)
	}
	for _, s := range report.Summaries() {
		fmt.Println(s.Scorer, s.Score.Mean, s.Cases)
	}
	for _, r := range report.Results {
		fmt.Printf("%s: %+v\n", r.Case, r.Scores["exact"])
	}
	// Output:
	// exact 0.5 2
	// France: {Value:1 Reason:}
	// Spain: {Value:0 Reason:got "Barcelona", want "Madrid"}
}

func ExampleTrajectory() {
	call := llm.ToolCall{ID: "1", Name: "search", Arguments: []byte(`{"query":"tea"}`)}
	answer := eval.Conversation([]llm.Message{llm.User("Find tea"), llm.Assistant("", call), llm.ToolResult(call, "Assam"), llm.Assistant("There is Assam.")})
	c := eval.Case{Name: "tea", Calls: []eval.Call{{Name: "search"}, {Name: "read"}}}
	score, err := eval.Trajectory(eval.InOrder).Score(context.Background(), c, answer)
	fmt.Println(score.Value, score.Reason, err)
	// Output: 0.5 made search, without read <nil>
}

func ExampleJudge() {
	model := llmtest.NewScript(llmtest.Say(`{"reason":"The answer has no source.","grade":2}`))
	judge := eval.Judge(model, "The answer names its source.")
	score, err := judge.Score(context.Background(), eval.Case{Name: "tea", Input: []byte(`"Where does the tea come from?"`)}, eval.Answer{Text: "India."})
	fmt.Println(score.Value, score.Reason, err)
	// Output: 0.2 The answer has no source. <nil>
}

func ExampleNewScorer() {
	short := eval.NewScorer("short", func(_ context.Context, _ eval.Case, a eval.Answer) (eval.Score, error) {
		if n := len(strings.Fields(a.Text)); n > 20 {
			return eval.Score{Reason: fmt.Sprintf("%d words, and 20 are enough", n)}, nil
		}
		return eval.Score{Value: 1}, nil
	})
	score, err := short.Score(context.Background(), eval.Case{}, eval.Answer{Text: "India."})
	fmt.Println(score.Value, err)
	// Output: 1 <nil>
}

func ExampleCompare() {
	report := func(values ...float64) *eval.Report {
		r := &eval.Report{Scorers: []string{"exact"}}
		for i, v := range values {
			r.Results = append(r.Results, eval.Result{Case: fmt.Sprint("case ", i), Repeat: 1, Scores: map[string]eval.Score{"exact": {Value: v}}})
		}
		return r
	}
	list, err := eval.Compare(report(0, 0, 1, 0, 0, 1), report(1, 1, 1, 1, 0, 1))
	if err != nil {
		panic(err)
	}
	if err := eval.WriteComparison(os.Stdout, list); err != nil {
		panic(err)
	}
	// Output:
	// scorer  before  after  difference  95 % interval    better  worse  same  unpaired
	// exact   0.333   0.833  +0.500      -0.075 to 1.000  3       0      3     0
	// exact: the difference is not significant
}
