package pgmemory_test

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

// Any message in JSON is returned unchanged, and jsonb can store its plain form. Any value is
// returned unchanged, and conditions can select it.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{
		`"a\u0000b \\u0000 \\\u0000"`, `{"\u0000":1,"a\u0000":{"\u0000":[]}}`, `"\ud800 \udc00 \ud83d\ude42 \\ud800"`, `[1e400000,-1E-99999,1e999,0e99999,1e+0001]`,
		`123456789012345678901234567890.5e-30`, `{"a":1,"a":2}`, `[[[[]]]]`, `null`, `"\uD83D"`, `1E+4000`, `0.` + zeros(20000) + `1`,
	} {
		f.Add(seed)
	}
	p := directPlace(f)
	db, pool := p.open(f), p.pool(f)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) || len(text) > 1<<16 {
			return
		}
		ctx := context.Background()
		scope := driver.Scope{User: uuid.New()}
		row := driver.MessageRow{ID: "m", Role: llm.RoleUser, Data: []byte(`{"type":"human","data":` + text + `}`)}
		_, err := db.Conversations().Apply(ctx, scope, driver.SessionChange{Session: "s", Rows: []driver.MessageRow{row}})
		require.NoError(t, err)
		for r, err := range db.Conversations().Messages(ctx, driver.MessageRange{Scope: scope, Session: "s"}) {
			require.NoError(t, err)
			assert.Equal(t, string(row.Data), string(r.Data))
		}
		var plain string
		err = pool.QueryRow(ctx, p.sql(`SELECT coalesce(m.plain, m.data::jsonb)::text FROM weft.mem_message m JOIN weft.mem_session s ON s.key = m.session
			WHERE s.user_id = $1`), scope.User).Scan(&plain)
		require.NoError(t, err, text)
		assert.True(t, json.Valid([]byte(plain)), text)
		write := driver.ValueWrite{Address: driver.Address{Namespace: []string{"n"}, Key: "k"}, Value: []byte(`{"v":` + text + `}`)}
		_, err = db.Values().Apply(ctx, scope, []driver.ValueWrite{write})
		require.NoError(t, err)
		n := 0
		q := driver.ValueSelection{ValueQuery: driver.ValueQuery{Where: []driver.Condition{{Path: []string{"v"}, Op: driver.Exists}}}}
		for item, err := range db.Values().Find(ctx, scope, q) {
			n++
			require.NoError(t, err)
			assert.Equal(t, string(write.Value), string(item.Value))
		}
		assert.Equal(t, 1, n, text)
	})
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}
