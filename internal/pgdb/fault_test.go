package pgdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/unavailable"
)

func TestFaultsDecideWhetherAStatementIsSentAgain(t *testing.T) {
	t.Parallel()
	code := func(c string) error { return &pgconn.PgError{Code: c} }
	pooler := func(text string) error { return &pgconn.PgError{Severity: "FATAL", Code: "08P01", Message: text} }
	for _, c := range []struct {
		err         error
		want        pgdb.Fault
		any, unsent bool
	}{
		{context.Canceled, pgdb.Permanent, false, false},
		{context.DeadlineExceeded, pgdb.Permanent, false, false},
		{errors.New("a mistake"), pgdb.Permanent, false, false},
		{code("23505"), pgdb.Permanent, false, false},
		{code("40001"), pgdb.Undone, true, true},
		{code("40P01"), pgdb.Undone, true, true},
		{code("55P03"), pgdb.Undone, true, true},
		{code("57P03"), pgdb.Refused, true, true},
		{code("53300"), pgdb.Refused, true, true},
		{code("57P01"), pgdb.Lost, true, false},
		{code("57P02"), pgdb.Lost, true, false},
		{pooler("server login has been failing, cached error: connect failed (server_login_retry)"), pgdb.Refused, true, true},
		{pooler("pgbouncer cannot connect to server"), pgdb.Refused, true, true},
		{pooler("query_wait_timeout"), pgdb.Refused, true, true},
		{pooler("no more connections allowed (max_client_conn)"), pgdb.Refused, true, true},
		{pooler("server conn crashed?"), pgdb.Lost, true, false},
		{&pgconn.PgError{Severity: "ERROR", Code: "08P01", Message: "invalid message format"}, pgdb.Permanent, false, false},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, pgdb.Lost, true, false},
		{io.EOF, pgdb.Lost, true, false},
		{io.ErrUnexpectedEOF, pgdb.Lost, true, false},
		{net.ErrClosed, pgdb.Lost, true, false},
		{pgconn.ErrConnClosed, pgdb.Lost, true, false},
	} {
		got := pgdb.FaultOf(fmt.Errorf("store: %w", c.err))
		assert.Equal(t, c.want, got, "%v", c.err)
		assert.Equal(t, c.any, pgdb.AnyFault(got), "%v", c.err)
		assert.Equal(t, c.unsent, pgdb.Unsent(got), "%v", c.err)
	}
}

func TestADatabaseWithoutRoomOrForReadersOnlyIsUnavailable(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{"25006": pgdb.ErrReadOnly, "53100": pgdb.ErrFull, "53200": pgdb.ErrFull, "53400": pgdb.ErrFull, "23505": nil} {
		refusal := &pgconn.PgError{Code: code}
		err := pgdb.Unavailable(fmt.Errorf("insert: %w", refusal))
		require.ErrorIs(t, err, refusal, code)
		assert.Equal(t, want != nil, unavailable.Is(err), code)
		if want != nil {
			assert.ErrorIs(t, err, want, code)
		}
	}
}
