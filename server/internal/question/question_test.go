package question_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/internal/question"
	"github.com/weft-go/weft/tools"
)

const approval = `{"tool":"send","description":"Sends.","arguments":{"text":"a` + "\u202e" + `b"},"hash":"h1"}`

func TestTextIsForPeople(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, want string }{
		"a text":                  {`"Really?"`, "Really?"},
		"a field question":        {`{"question": "Really?", "message": "no"}`, "Really?"},
		"a field message":         {`{"question": "", "message": "Sure?"}`, "Sure?"},
		"other fields":            {`{"side": "left"}`, `{"side": "left"}`},
		"an approval":             {approval, "send: Sends.\narguments: {\"text\":\"a\\u202eb\"}"},
		"an approval with a text": {`{"question":"A large sum.",` + approval[1:], "A large sum.\nsend: Sends.\narguments: {\"text\":\"a\\u202eb\"}"},
		"an approval with a title": {
			`{"annotations":{"title":"Send it"},` + approval[1:], "Send it\nsend: Sends.\narguments: {\"text\":\"a\\u202eb\"}",
		},
		"a text that turns":  {`"pay ` + "\u202e" + `100"`, `pay \u202e100`},
		"a field that turns": {`{"question":"pay ` + "\u202e" + `100"}`, `pay \u202e100`},
		"JSON that turns":    {`{"pay":"` + "\u202e" + `100"}`, `{"pay":"\u202e100"}`},
		"several lines":      {`"one\ntwo"`, "one\ntwo"},
	} {
		assert.Equal(t, c.want, question.Text(json.RawMessage(c.value)), name)
	}
}

func TestApprovesFindsAnApprovalInside(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		approval: true, `{"risk":"high","call":` + approval + `}`: true, `{"calls":[` + approval + `]}`: true,
		`"approve?"`: false, `{"tool":"send"}`: false, `{"question":"send?","options":["yes"]}`: false, `null`: false, `[1,{"hash":"h"}]`: false,
	} {
		assert.Equal(t, want, question.Approves(json.RawMessage(value)), value)
	}
}

func TestWithoutHashesKeepsTheRest(t *testing.T) {
	t.Parallel()
	const call, shown = `{"tool":"send","hash":"h1","schema":{"const":"h1"},"arguments":{"hash":"mine"}}`, `{"tool":"send","arguments":{"hash":"mine"}}`
	for value, want := range map[string]string{
		call:                                    shown,
		`{"risk":"high","call":` + call + `}`:   `{"risk":"high","call":` + shown + `}`,
		`{"calls":[1,` + call + `,"a"]}`:        `{"calls":[1,` + shown + `,"a"]}`,
		`[[` + call + `]]`:                      `[[` + shown + `]]`,
		`{"hash":"h","schema":{"type":"text"}}`: `{"hash":"h","schema":{"type":"text"}}`,
		`"send?"`:                               `"send?"`,
		`null`:                                  `null`,
	} {
		assert.JSONEq(t, want, string(question.WithoutHashes(json.RawMessage(value))), value)
	}
}

func TestDecideKnowsTwoWords(t *testing.T) {
	t.Parallel()
	q := question.Approval(json.RawMessage(approval))
	require.NotNil(t, q)
	for word, want := range map[string]*tools.Decision{
		"approve": {Verdict: tools.Approved, Hash: "h1"}, " Approve\n": {Verdict: tools.Approved, Hash: "h1"},
		"REJECT": {Verdict: tools.Rejected, Hash: "h1", Reason: "no"}, "yes": nil, "edit": nil, "": nil,
	} {
		d, ok := question.Decide(q, word, "no")
		assert.Equal(t, want != nil, ok, word)
		if want != nil {
			assert.Equal(t, *want, d, word)
		}
	}
}

func TestAnswerOfATextIsItsValueOrTheText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"true": `true`, `{"a":12345678901234567890}`: `{"a":12345678901234567890}`, "[1]": `[1]`, "yes": `"yes"`, "7": `"7"`, "null": `"null"`, `"3"`: `"\"3\""`, "": `""`,
	} {
		data, err := json.Marshal(question.Answer(text))
		require.NoError(t, err)
		assert.Equal(t, want, string(data), text)
	}
}
