package pgmemory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// Messages in the form that messages_to_dict writes, in two versions of LangChain for
// Python.
const (
	human  = `{"type":"human","data":{"content":"Is it warm in Athens? ☀️","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":null,"example":false}}`
	caller = `{"type":"ai","data":{"content":"","additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"weather","arguments":"{\"city\": \"Athens\"}"},"type":"function"}]},` +
		`"response_metadata":{"finish_reason":"tool_calls"},"type":"ai","name":null,"id":"run-1","example":false,"tool_calls":[{"name":"weather","args":{"city":"Athens"},"id":"c1","type":"tool_call"}],"invalid_tool_calls":[],"usage_metadata":null}}`
	result = `{"type":"tool","data":{"content":"31","additional_kwargs":{},"response_metadata":{},"type":"tool","name":"weather","id":null,"tool_call_id":"c1","artifact":null,"status":"success"}}`
	reply  = `{"type":"ai","data":{"content":[{"type":"text","text":"Yes, "},{"type":"text","text":"31 degrees."}],"additional_kwargs":{},"response_metadata":{"model_name":"m","score":1.50},"type":"ai","name":null,"id":"run-2","example":false,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":{"input_tokens":12,"output_tokens":5,"total_tokens":17}}}`
)

func list(entries ...string) string { return "[" + strings.Join(entries, ",") + "]" }

// sameJSON compares JSON values. Numbers are equal if their values are.
func sameJSON(got, want string) bool {
	wrapped := append(append([]byte(`{"v":`), got...), '}')
	return got != "" && driver.Condition{Path: []string{"v"}, Op: driver.Equal, Value: json.RawMessage(want)}.Match(wrapped)
}

func history(t *testing.T, db *pgmemory.DB) *memory.Conversations {
	t.Helper()
	m, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	h := m.Conversations()
	return h
}

// one runs a statement, and returns its only row.
func one(t *testing.T, pool *pgxpool.Pool, who, sql string, args ...any) string {
	t.Helper()
	got, err := request[string](pool, who, sql, args...)
	require.NoError(t, err, sql)
	require.Len(t, got, 1, sql)
	return got[0]
}

const (
	readSession   = `SELECT messages::text FROM public.agent_conversations WHERE session_id = $1`
	insertSession = `INSERT INTO public.agent_conversations (session_id, messages, user_id, updated_at) VALUES ($1, $2::jsonb, $3, now()) RETURNING session_id`
)

func TestConversationsBySQL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, _ := publicPlace(t)
	db, pool := p.served(t), p.pool(t)
	ann, err := pgmemory.Bind(db, binding(annID))
	require.NoError(t, err)
	hers, service := history(t, ann), history(t, db)
	scope := driver.Scope{User: annID}

	t.Run("what Python wrote is read, appended to and read back", func(t *testing.T) {
		python := list(human, caller, result, reply)
		one(t, pool, annID, insertSession, "s1", python, annID)
		before, err := hers.Load(ctx, scope, "s1")
		require.NoError(t, err)
		require.Len(t, before, 4)
		require.Equal(t, llm.RoleUser, before[0].Role)
		require.Equal(t, "weather", before[1].ToolCalls[0].Name)
		require.Equal(t, "c1", before[2].ToolCallID)
		require.Equal(t, "Yes, 31 degrees.", before[3].Text())
		require.NotNil(t, before[3].Usage)
		require.Equal(t, "run-2", before[3].ID)
		turn := []llm.Message{llm.User("And in Oslo?"), llm.Assistant("No.")}
		_, err = hers.Append(ctx, scope, memory.Turn{Session: "s1", Messages: turn})
		require.NoError(t, err)
		after, err := hers.Load(ctx, scope, "s1")
		require.NoError(t, err)
		ours, err := llm.ToLangChain(memory.PlainMessages(after[4:]))
		require.NoError(t, err)
		want := python[:len(python)-1] + "," + string(ours[1:])
		for _, who := range []string{annID, ""} {
			assert.True(t, sameJSON(one(t, pool, who, readSession, "s1"), want))
		}
		assert.True(t, sameJSON(one(t, pool, annID, `SELECT public.get_conversation(session_id => 's1')::text`), want))
		found, err := hers.Search(ctx, memory.Question{Reach: scope.Only(), Text: "what about athens"})
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.EqualValues(t, 1, found[0].Item.Position)
	})

	t.Run("one more is one row more", func(t *testing.T) {
		keys := func() string {
			return ask[string](t, p, `SELECT string_agg(m.key || ' ' || m.id, ',' ORDER BY m.position) FROM weft.mem_message m JOIN weft.mem_session s ON s.key = m.session WHERE s.id = 's2'`)
		}
		one(t, pool, annID, insertSession, "s2", list(human, caller, result), annID)
		first := keys()
		stored := one(t, pool, annID, readSession, "s2")
		more := stored[:len(stored)-1] + "," + reply + "]"
		one(t, pool, annID, `UPDATE public.agent_conversations SET messages = $2::jsonb, updated_at = now() WHERE session_id = $1 RETURNING session_id`, "s2", more)
		got := keys()
		require.True(t, strings.HasPrefix(got, first+","))
		assert.Equal(t, 3, strings.Count(got, ","))
		first = keys()
		one(t, pool, annID, insertSession, "s2", list(human, caller, reply), annID) // as an upsert
		got = keys()
		require.Equal(t, 2, strings.Count(got, ","))
		assert.True(t, strings.HasPrefix(first, got[:strings.LastIndexByte(got, ',')]))
		assert.True(t, sameJSON(one(t, pool, annID, readSession, "s2"), list(human, caller, reply)))
		one(t, pool, annID, insertSession, "s2", list(human, human, reply, reply), nil)
		loaded, err := hers.Load(ctx, scope, "s2")
		require.NoError(t, err)
		require.Len(t, loaded, 4)
		assert.Equal(t, "run-2", loaded[2].ID)
		assert.NotEqual(t, loaded[2].ID, loaded[3].ID)
	})

	t.Run("a program here and one in Python agree on what a message says", func(t *testing.T) {
		for i, entry := range []string{human, result, reply, caller} {
			id := fmt.Sprint("same ", i)
			_, err := hers.FromLangChain(ctx, scope, id, []byte(list(caller, entry)))
			require.NoError(t, err)
			one(t, pool, annID, insertSession, id+" by SQL", list(caller, entry), annID)
			row := func(id string) (r driver.MessageRow) {
				for r, err = range ann.Conversations().Messages(ctx, driver.MessageRange{Scope: scope, Session: id, From: 2}) {
					assert.NoError(t, err, "messages")
				}
				return r
			}
			here, there := row(id), row(id+" by SQL")
			require.Equal(t, there.Role, here.Role)
			require.Equal(t, there.Text, here.Text)
			require.False(t, here.Text != "" && here.Key != there.Key)
			assert.True(t, sameJSON(string(here.Data), string(there.Data)))
		}
	})

	t.Run("words are told apart as they are here", func(t *testing.T) {
		entries := make([]string, 1200)
		for i := range entries {
			entries[i] = fmt.Sprintf(`{"type":"human","data":{"content":"Flights number %d, leaving"}}`, i)
		}
		const user = "33333333-3333-4333-8333-333333333333"
		one(t, pool, "", insertSession, "many", list(entries...), user)
		for range 2 {
			found, err := service.Search(ctx, memory.Question{Reach: driver.Scope{User: user}.Only(), Text: "which flight is leaving, number 700?"})
			require.NoError(t, err)
			require.NotEmpty(t, found)
			require.Contains(t, found[0].Item.Text(), "700")
			require.GreaterOrEqual(t, found[0].Score.Keyword, 0.5)
		}
		assert.Equal(t, 0, ask[int](t, p, `SELECT count(*) FROM weft.mem_message m JOIN weft.mem_session s ON s.key = m.session WHERE m.rough AND s.id = 'many'`))
	})

	t.Run("functions with named arguments", func(t *testing.T) {
		const load = `SELECT public.get_conversation(session_id => $1, user_id => $2)::text`
		assert.Equal(t, "[]", one(t, pool, "", load, "none", annID))
		const save = `SELECT public.save_conversation(session_id => $1, messages => $2::jsonb, user_id => $3)::text`
		one(t, pool, "", save, "s3", list(human), "") // a session without a user
		shared, err := service.Load(ctx, driver.Scope{}, "s3")
		require.NoError(t, err)
		assert.Len(t, shared, 1)
		one(t, pool, "", save, "s3", list(human, reply), annID)
		one(t, pool, "", save, "s3", list(reply), bobID) // two users can have sessions with the same id
		for user, want := range map[string]int{"": 1, annID: 2, bobID: 1} {
			got, err := service.Load(ctx, driver.Scope{User: user}, "s3")
			require.NoError(t, err)
			assert.Len(t, got, want)
			assert.Equal(t, fmt.Sprint(want), one(t, pool, "", `SELECT jsonb_array_length(public.get_conversation('s3', $1))::text`, user))
		}
		one(t, pool, "", `DELETE FROM public.agent_conversations WHERE session_id = 's3' AND user_id = $1 RETURNING session_id`, bobID)
		// The service assigns a session without a user to a user.
		one(t, pool, "", save, "s5", list(human, reply), "")
		one(t, pool, "", `UPDATE public.agent_conversations SET user_id = $1 WHERE session_id = 's5' AND user_id IS NULL RETURNING session_id`, annID)
		got, err := hers.Load(ctx, scope, "s5")
		require.NoError(t, err)
		assert.Len(t, got, 2)
	})

	t.Run("what is no message is refused, and others' are out of reach", func(t *testing.T) {
		before := one(t, pool, annID, readSession, "s1")
		for name, c := range map[string]struct{ who, sql, messages, want string }{
			"no array":         {annID, insertSession, `{}`, "22023"},
			"no type":          {annID, insertSession, list(human, `{"data":{"content":""}}`), "22023"},
			"null":             {annID, `UPDATE public.agent_conversations SET messages = NULLIF($2, 'null')::jsonb WHERE session_id = $1 AND $3::text IS NOT NULL RETURNING session_id`, "null", "23502"},
			"null saved":       {annID, `SELECT public.save_conversation($1, NULLIF($2, 'null')::jsonb, $3)::text`, "null", "23502"},
			"a removal":        {annID, insertSession, `[{"type":"remove","data":{"id":"run-1","content":""}}]`, "22023"},
			"no content":       {annID, insertSession, `[{"type":"ai","data":{"content":1}}]`, "22023"},
			"a lone result":    {annID, insertSession, `[{"type":"tool","data":{"content":""}}]`, "22023"},
			"in ann's name":    {bobID, insertSession, list(human), "42501"},
			"another's change": {bobID, `UPDATE public.agent_conversations SET messages = $2::jsonb WHERE session_id = $1 AND $3::text IS NOT NULL RETURNING session_id`, list(human), ""},
			"another's end":    {bobID, `DELETE FROM public.agent_conversations WHERE session_id = $1 AND $2::jsonb IS NOT NULL AND $3::text IS NOT NULL RETURNING session_id`, list(human), ""},
			"another's id":     {annID, `UPDATE public.agent_conversations SET session_id = $1 || 'x' WHERE session_id = $1 AND $2::jsonb IS NOT NULL AND $3::text IS NOT NULL`, list(human), "0A000"},
		} {
			got, err := request[string](pool, c.who, c.sql, "s1", c.messages, annID)
			require.Equal(t, c.want, sqlState(err), name)
			assert.Empty(t, got, name)
		}
		got, err := request[string](pool, bobID, `SELECT session_id FROM public.agent_conversations`)
		require.NoError(t, err)
		assert.Empty(t, got)
		assert.Equal(t, before, one(t, pool, annID, readSession, "s1"))
		one(t, pool, annID, `DELETE FROM public.agent_conversations WHERE session_id = 's2' RETURNING session_id`)
		deleted, err := hers.Load(ctx, scope, "s2")
		require.NoError(t, err)
		assert.Empty(t, deleted)
	})

	t.Run("a type that nobody here knows is kept, and neither shown nor found", func(t *testing.T) {
		alien := `{"type":"alien","data":{"content":"zebras"}}`
		one(t, pool, "", insertSession, "s9", list(human, alien), annID)
		var back any
		err := json.Unmarshal([]byte(one(t, pool, annID, readSession, "s9")), &back)
		require.NoError(t, err)
		assert.Contains(t, fmt.Sprint(back), "zebras")
		one(t, pool, annID, insertSession, "s9", list(human, alien, human), annID) // as a Python program writes after reading it
		got, err := hers.Load(ctx, scope, "s9")
		require.NoError(t, err)
		assert.Len(t, got, 2)
		read, err := hers.ToLangChain(ctx, scope, "s9")
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(read), "alien"), "%s", read)
	})

	t.Run("what jsonb can not hold is left out of what others read", func(t *testing.T) {
		entry := `{"type":"human","data":{"content":"a\u0000b \\u0000 \ud83d\ude42 \ud800","id":"m1","n":1e200000}}`
		_, err := hers.FromLangChain(ctx, scope, "s4", []byte(list(entry)))
		require.NoError(t, err)
		same, err := hers.ToLangChain(ctx, scope, "s4")
		require.NoError(t, err)
		assert.Equal(t, list(entry), string(same))
		got := one(t, pool, annID, `SELECT messages #>> '{0,data,content}' FROM public.agent_conversations WHERE session_id = 's4'`)
		assert.Equal(t, "ab \\u0000 🙂 \ufffd", got)
	})
}

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
