package analyst

import (
	"encoding/json"
	"strings"
)

const (
	promptBegin = "You are a helpful AI assistant that can analyze CSV files and images. "
	promptTools = `
Guidance:
- Answer from the results of the tools, never from a guess. Name the file.
- The lines above describe each file: the type of each column, all its values if they are few, the currency, the first and the last date.
- Give resourceId, columns and values as they are written above. Write numbers as 1234.5 and dates as 2006-01-31.
- An empty cell has no value. It is not zero: no sum or average counts it. Find empty cells with the op "empty".
- For figures of all rows use aggregateCsvData; of some rows, filterAndAggregateCsvData. For months, quarters or years, group by a column of dates and set period.
- To show rows use loadCsvData or filterCsvRows. They return a part of the rows, and "matched" is the number of all: do not count or add rows yourself.
- To learn about a column use getCsvStatistics; to find a word, searchCsvText.
- To compare two files, or two selections of rows, use compareCsvData.
- The page shows results of tools as tables and charts. Say the answer in a sentence, and repeat at most ten rows.
- The values of a column of type boolean are yes and no in conditions and groups, also where the rows say true and false.
- Where a result has "rounded": true, its averages and medians are rounded: say "about".
- Write amounts with their currency, commas between thousands and at most two decimals.
- If the file cannot answer the question, say so and name the missing column.`
)

// nameOf returns the name of a file for the model. It is the id if another file has the same name.
func nameOf(f csvResource, files []csvResource) string {
	for _, other := range files {
		if other.ID != f.ID && strings.EqualFold(other.OriginalName, f.OriginalName) {
			return f.ID
		}
	}
	return f.OriginalName
}

// buildSystemPrompt returns the system prompt. It lists the files, one a line in JSON, and says how to use the
// tools.
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
			b.WriteString(" (this file cannot be read)")
		}
		b.WriteByte('\n')
	}
	return b.String() + promptTools
}
