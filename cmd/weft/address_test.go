package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestADatabaseIsNamedByKeysAndValuesOrAnySpellingOfTheScheme(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	fill(t, s)
	s.Close()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(url, "://")
	require.True(t, ok)
	for _, db := range []string{
		"PostgreSQL://" + rest,
		fmt.Sprintf("host=%s port=%d user=%s dbname=%s password='%s' sslmode=disable", config.Host, config.Port, config.User, config.Database, config.Password),
	} {
		code, out, errs := newTerminal(t, nil).call("threads", "list", "-db", db, "-schema", schema)
		assert.Equal(t, exitDone, code, errs)
		assert.Contains(t, out, "order-1")
	}
}

// The errors of weft studio do not contain the password in the address that -memory names.
func TestTheAddressOfAMemoryStaysSecret(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	for _, memory := range []string{"postgress://u:tok3n@127.0.0.1:1/d", "Postgres://u:tok3n@127.0.0.1:1/d?connect_timeout=1", "host=127.0.0.1 port=1 password=tok3n"} {
		code, out, errs := newTerminal(t, nil).call("studio", "-db", file, "-memory", memory, "-listen", "127.0.0.1:0")
		assert.NotEqual(t, exitDone, code, memory)
		assert.NotContains(t, out+errs, "tok3n", memory)
		assert.NotContains(t, errs, "SQLite file of the memory", memory)
	}
}
