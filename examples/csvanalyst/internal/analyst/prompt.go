package analyst

import (
	"encoding/json"
	"strings"
)

const (
	promptBegin = "You are a helpful AI assistant that can analyze CSV files and images. "
	promptTools = `
Guidance:
- Answer from what the tools return, and never from a guess. Name the file that you looked at.
- Give resourceId and columns as they are written above.
- For a figure over all rows use aggregateCsvData; over some rows, filterAndAggregateCsvData.
- To see rows use loadCsvData or filterCsvRows, which return a part of the rows: do not count these.
- To learn what a column holds use getCsvStatistics, and to find where a word is searchCsvText.
- For two files, or two groups of rows, use compareCsvData.`
)

// nameOf is what the model calls a file: its name, or its id if another file has the name, too.
func nameOf(f csvResource, files []csvResource) string {
	for _, other := range files {
		if other.ID != f.ID && strings.EqualFold(other.OriginalName, f.OriginalName) {
			return f.ID
		}
	}
	return f.OriginalName
}

// buildSystemPrompt tells the model which files there are, one a line in JSON, and
// how to use the tools.
func buildSystemPrompt(files []csvResource) string {
	var b strings.Builder
	b.WriteString(promptBegin)
	if len(files) == 0 {
		b.WriteString("There is no CSV file in this session yet: ask the user to upload one.\n")
		return b.String() + promptTools
	}
	b.WriteString("These CSV files are in this session:\n")
	for _, f := range files {
		line, err := json.Marshal(struct {
			ID       string   `json:"resourceId"`
			Name     string   `json:"name"`
			RowCount *int64   `json:"rowCount,omitempty"`
			Columns  any      `json:"columns,omitempty"`
			Notes    []string `json:"notes,omitempty"`
		}{nameOf(f, files), f.OriginalName, f.RowCount, f.Details, f.Notes})
		if err != nil {
			continue // strings and numbers always make JSON
		}
		b.Write(line)
		if f.RowCount == nil {
			b.WriteString(" (this file can not be read)")
		}
		b.WriteByte('\n')
	}
	return b.String() + promptTools
}
