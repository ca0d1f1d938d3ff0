package howto_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// A mail server has no idempotency key. So the tool stores a claim before it sends, and sends only if the claim is new.
func Example_atMostOnce() {
	db := must(sql.Open("sqlite", "file:mails?mode=memory&cache=shared"))
	defer func() { _ = db.Close() }()
	must(db.Exec(`CREATE TABLE mails (key TEXT PRIMARY KEY, sent BOOLEAN NOT NULL DEFAULT FALSE)`))

	type mail struct {
		To string `json:"to"`
	}
	deliver := func(to string) error { // it delivers the mail, and the connection breaks before the reply
		fmt.Println("delivered to", to)
		return errors.New("connection reset")
	}
	send := tools.New("send_mail", "Sends a mail.", func(ctx context.Context, in mail) (string, error) {
		call, _ := tools.CallFrom(ctx)
		key := graph.IdempotencyKey(ctx) + " " + call.ID // the same whenever this call runs again
		claimed, err := db.ExecContext(ctx, `INSERT INTO mails (key) VALUES (?) ON CONFLICT (key) DO NOTHING`, key)
		if err != nil {
			return "", err
		}
		if isNew, err := claimed.RowsAffected(); err != nil || isNew == 0 {
			var sent bool
			if err := errors.Join(err, db.QueryRowContext(ctx, `SELECT sent FROM mails WHERE key = ?`, key).Scan(&sent)); err != nil {
				return "", err
			}
			if sent {
				return "The mail is sent.", nil
			}
			return "It is not known whether the mail was sent. It was not sent again: ask a person to check.", nil
		}
		if err := deliver(in.To); err != nil {
			return "", err
		}
		_, err = db.ExecContext(ctx, `UPDATE mails SET sent = TRUE WHERE key = ?`, key)
		return "The mail is sent.", err
	})

	model := llmtest.NewScript(llmtest.Call("send_mail", `{"to":"ann@example.com"}`), llmtest.Say("Please check the mail."))
	desk := must(agent.New("desk", model, must(tools.NewSet(send)), agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
		Tools: tools.Options{OnError: tools.ReturnErrors}, // an error fails the run, and a later run resumes it
	}))
	ctx, ticket := context.Background(), desk.Thread("ticket-7")
	_, err := ticket.Invoke(ctx, agent.Messages.Put(llm.User("Tell Ann.")))
	fmt.Println("failed:", err != nil)
	snap := must(ticket.Invoke(ctx)) // also after a crash, in another process
	for _, m := range agent.Messages.All(snap) {
		if m.Role == llm.RoleTool {
			fmt.Println(m.Text())
		}
	}
	// Output:
	// delivered to ann@example.com
	// failed: true
	// It is not known whether the mail was sent. It was not sent again: ask a person to check.
}
