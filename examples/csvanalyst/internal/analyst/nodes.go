package analyst

import (
	"context"

	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/state"
)

// loadCsvMetadata lists the CSV files of the session with their columns.
func (a *analyst) loadCsvMetadata(ctx context.Context, s state.View) (state.Update, error) {
	all, err := a.records.Resources(ctx, sessionID.Get(s))
	if err != nil {
		return nil, err
	}
	list := []csvResource{}
	for _, r := range all {
		if !files.IsCSV(r) {
			continue
		}
		m := csvResource{ID: r.ID, OriginalName: r.OriginalName, StoredPath: r.StoredPath, SizeBytes: r.SizeBytes}
		if schema, err := a.files.Schema(ctx, r); err == nil { // a file without a schema is listed without columns
			m.Columns, m.RowCount, m.Details, m.Notes = schema.Names(), new(schema.RowCount), schema.Columns, schema.Notes
		}
		list = append(list, m)
	}
	return state.Update{csvMetadata.Put(&list)}, nil
}

// saveMessage stores the question and the answer, unless they are stored already.
func (a *analyst) saveMessage(ctx context.Context, s state.View) (state.Update, error) {
	session, all := sessionID.Get(s), messages.Get(s)
	for _, m := range all[max(0, len(all)-2):] {
		row := records.Message{SessionID: session, Role: string(m.Role), Content: m.Content, Images: m.Images}
		if _, err := a.records.SaveMessage(ctx, row); err != nil {
			return nil, err
		}
	}
	return nil, a.records.Touch(ctx, session)
}
